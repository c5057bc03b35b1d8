/** Damaged programs, and such as are right in grammar only: refused with a place, or compiled. */
import { test } from "bun:test";
import fc from "fast-check";
import { print } from "../../src/serq/mod.ts";
import { compileOrRefuse, damaged } from "./properties.ts";
import { program } from "./trees.ts";

/** `npm run campaign:serq` does more. */
const MUTATIONS = 2000;

test("damaged programs", () => {
  fc.assert(fc.property(damaged, (text) => void compileOrRefuse(text)), { numRuns: MUTATIONS });
}, 60_000);

test("programs that are right in grammar only", () => {
  fc.assert(
    fc.property(program, (tree) => void compileOrRefuse(print(tree))),
    { numRuns: MUTATIONS / 4 },
  );
}, 60_000);

test("deep nesting and endless texts end in an error", () => {
  compileOrRefuse(`fn main() { let x = ${"(".repeat(100_000)}`);
  compileOrRefuse(`fn main() { let x = ${"-".repeat(100_000)}1; }`);
  compileOrRefuse(`fn main() { ${"server { loop { ".repeat(5000)}`);
  compileOrRefuse(`fn main() { let x = ${"1 + ".repeat(60_000)}1; }`);
  compileOrRefuse(`fn main() { let x = ${"1 + ".repeat(40_000)}1; }`);
  compileOrRefuse(`fn main() { let x = sum j in 4096 (sum k in 1 (j * k)); }`);
  compileOrRefuse(`fn main() { gauge x = sum j in 4096 (j); }`);
  compileOrRefuse(`fn main() { ${"let x = 1; ".repeat(30_000)}}`);
});
