/** A damaged program is told where and what, or still is a program; nothing else ever happens. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compileForReading, print, SerqError } from "../../src/serq/mod.ts";
import { CASES, EXAMPLES } from "./corpus.ts";
import { program } from "./trees.ts";

/** `SERQ_MUTATIONS=100000 bun test tests/serq/fuzz_mutations.test.ts` is the campaign. */
const MUTATIONS = Number(process.env.SERQ_MUTATIONS ?? 2000);

const TEXTS = [...CASES.map(({ source }) => source), ...EXAMPLES.map(({ text }) => text)];
const PIECES = [
  ...'{ } ( ) [ ] ; , . : = ~ ? + - * / ^ < > ! & | " @ # é 0 1 9 e _ \n \t'.split(" "),
  ...'hold run set cost( kv llm inf now [0] .x 1e9 1.2.3 /* // "'.split(" "),
  ..."0/0 max j in 3 (j) tool transfer from to at admission (".split("  "),
];

interface Edit {
  readonly place: number;
  readonly drop: number;
  readonly insert: string;
}

const edit: fc.Arbitrary<Edit> = fc.record({
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  drop: fc.oneof(fc.nat(3), fc.nat(40)),
  insert: fc.oneof(
    fc.constant(""),
    fc.constantFrom(...PIECES),
    fc.string({ maxLength: 4 }),
  ),
});

function apply(text: string, edits: readonly Edit[]): string {
  return edits.reduce((before, { place, drop, insert }) => {
    const start = Math.floor(place * before.length);
    return before.slice(0, start) + insert + before.slice(start + drop);
  }, text);
}

/** Throws unless the text compiles or is refused with a place in it. */
function compileOrRefuse(text: string): void {
  try {
    compileForReading(text);
  } catch (error) {
    if (!(error instanceof SerqError)) throw error;
    expect(error.at).not.toBeNull();
    const { start, end, source } = error.at!;
    expect(start).toBeGreaterThanOrEqual(0);
    expect(end).toBeGreaterThanOrEqual(start);
    expect(end).toBeLessThanOrEqual(source.text.length);
    expect(error.render()).toContain(error.message);
  }
}

test("damaged programs", () => {
  const mutated = fc.tuple(
    fc.constantFrom(...TEXTS),
    fc.array(edit, { minLength: 1, maxLength: 3 }),
  );
  fc.assert(
    fc.property(mutated, ([text, edits]) => compileOrRefuse(apply(text, edits))),
    { numRuns: MUTATIONS },
  );
}, 600_000);

test("programs that are right in grammar only", () => {
  fc.assert(
    fc.property(program, (tree) => compileOrRefuse(print(tree))),
    { numRuns: MUTATIONS / 4 },
  );
}, 600_000);

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
