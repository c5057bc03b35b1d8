/** Programs of ours with a few tokens changed run, or fail in words. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { compile, Interpreter, type Program } from "../../src/serq/mod.ts";
import { changed, HORIZON, runIfAccepted } from "./properties.ts";

/** `npm run campaign:serq` does more. */
const RUNS = 1500;

test("accepted programs run, or fail in words", () => {
  let count = 0;
  fc.assert(
    fc.property(changed, (text) => {
      if (runIfAccepted(text) !== "refused") count += 1;
    }),
    { numRuns: RUNS },
  );
  // A generator whose programs are all refused proves nothing.
  expect(count).toBeGreaterThan(RUNS / 4);
}, 120_000);

const one = (items: string, arrive: string, server: string): Program =>
  compile(`fn main() { ${items} workload { arrive ${arrive}; } server { ${server} } }`, {
    horizon: HORIZON,
  });

test("what once hung or gave NaN", () => {
  const instant = new Interpreter(
    one("stage s : ps(inf);", "batch(3)", "run s (cost(s, 2)); observe at = now;"),
  );
  instant.run();
  expect([...instant.machine.observations[0]!.values.values()]).toEqual([0, 0, 0]);
  const closed = one("stage s : fifo;", "closed(2)", "run s (cost(s, 0));");
  expect(() => new Interpreter(closed).run()).toThrow("does not settle");
  const phases = one("stage s : fifo;", "batch(1)", "run s (cost(s, ~erlang(inf, 3)));");
  expect(() => new Interpreter(phases).run()).toThrow("more than 10000000 phases");
}, 60_000);
