/**
 * What the checker accepts runs: to its horizon or to an error of the run, with time that never goes
 * back and nothing leaked at any event. The programs are ours with a few tokens changed.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { compile, Interpreter, type Program, RunError, SerqError } from "../../src/serq/mod.ts";
import { CASES, EXAMPLES } from "./corpus.ts";

/** `SERQ_RUNS=20000 bun test tests/serq/fuzz_runs.test.ts` is the campaign. */
const RUNS = Number(process.env.SERQ_RUNS ?? 1500);
const EVENTS_MAX = 3000;
const HORIZON = 25;

const list = new URL("../oracles/serq_front_end.txt", import.meta.url);
const TEXTS = [
  ...CASES.filter(({ kind }) => kind === "run").map(({ source }) => source),
  ...EXAMPLES.map(({ text }) => text),
  ...readFileSync(list, "utf8").split("\n").filter((line) => line.includes("workload")),
].filter((text) => accepted(text) !== null);

const TOKEN =
  /\s+|\/\/[^\n]*|"[^"]*"|[\p{L}_][\p{L}\p{N}_]*|[\d.][\d._]*(?:e[+-]?\d+)?|[<>=!]=|&&|\|\||./gsu;

/** Numbers replaced by others or by what moves, now and then a name by another of the program. */
const changed = fc.record({
  text: fc.constantFrom(...TEXTS),
  places: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(9)), { minLength: 1, maxLength: 4 }),
  number: fc.constantFrom("0", "1", "2", "3", "7", "0.5", "inf", "serial", "now", "turn_no"),
}).map(({ text, places, number }) => {
  const tokens = text.match(TOKEN)!;
  const [names, numbers] = [/^[\p{L}_]/u, /^\d/].map((kind) =>
    tokens.flatMap((token, i) => kind.test(token) ? [i] : [])
  ) as [number[], number[]];
  for (const [place, other, choice] of places) {
    if (choice > 0) tokens[numbers[place % numbers.length]!] = number;
    else tokens[names[place % names.length]!] = tokens[names[other % names.length]!]!;
  }
  return tokens.join("");
});

function accepted(text: string): Program | null {
  try {
    return compile(text, { horizon: HORIZON });
  } catch (error) {
    if (error instanceof SerqError) return null;
    throw error;
  }
}

function runChecked(program: Program): void {
  const corpus = [[{ new: 3, out: 2, think: 1, forced: 0 }, {
    new: 5,
    out: 1,
    think: 0,
    forced: 0,
  }]];
  try {
    const interpreter = new Interpreter(program, { integrity: true, corpus });
    let before = 0;
    for (let count = 0; count < EVENTS_MAX && interpreter.step(); count += 1) {
      expect(interpreter.machine.now).toBeGreaterThanOrEqual(before);
      before = interpreter.machine.now;
    }
    interpreter.finish();
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
  }
}

test("accepted programs run, or fail in words", () => {
  let count = 0;
  fc.assert(
    fc.property(changed, (text) => {
      const program = accepted(text);
      if (program === null) return;
      count += 1;
      runChecked(program);
    }),
    { numRuns: RUNS },
  );
  // A generator whose programs are all refused proves nothing.
  expect(count).toBeGreaterThan(RUNS / 4);
}, 900_000);

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
