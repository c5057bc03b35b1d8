/**
 * The programs of tests/fixtures/serq against the original, end to end: the text through our front
 * end and interpreter, the fixtures through the original's alone (tests/oracles/serq_programs.py).
 * Every number must be equal to the last bit, for random programs with 20 seeds each.
 */
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { compile } from "../../../src/serq/compile.ts";
import { Interpreter } from "../../../src/serq/interpreter.ts";
import { reportOf } from "../../../src/serq/report.ts";

interface Values {
  readonly values: readonly number[];
  readonly times: readonly number[];
  readonly sessions: readonly number[];
}

interface Expected {
  readonly settings: { readonly horizon: number; readonly warmup: number };
  readonly report?: unknown;
  readonly values?: Readonly<Record<string, Values>>;
  readonly seeds?: Readonly<Record<string, unknown>>;
}

const FOLDER = new URL("../../fixtures/serq/", import.meta.url);
const EXPECTED = JSON.parse(readFileSync(new URL("expected.json", FOLDER), "utf8")) as Readonly<
  Record<string, Expected>
>;

function run(text: string, settings: Expected["settings"], seed: number): Interpreter {
  const program = compile(text, { ...settings, seed });
  const interpreter = new Interpreter(program, { dump: true, integrity: true });
  interpreter.run();
  return interpreter;
}

/** The report as JSON, without the words that only explain. */
function bare(interpreter: Interpreter): unknown {
  return JSON.parse(
    JSON.stringify(reportOf(interpreter), (key, value) => (key === "note" ? undefined : value)),
  );
}

describe("programs against the original", () => {
  test("there are at least 60, each with its fixture", () => {
    const names = readdirSync(new URL("programs", FOLDER)).map((name) => name.replace(".sq", ""));
    expect(names.length).toBeGreaterThanOrEqual(60);
    expect(names.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });
  for (const [name, { settings, report, values, seeds }] of Object.entries(EXPECTED)) {
    test(name, () => {
      const text = readFileSync(new URL(`programs/${name}.sq`, FOLDER), "utf8");
      for (const [seed, wanted] of Object.entries(seeds ?? { 1: report })) {
        const interpreter = run(text, settings, Number(seed));
        expect(bare(interpreter)).toEqual(wanted);
        for (const [key, each] of Object.entries(values ?? {})) {
          const found = interpreter.machine.observations.find((o) => o.name === key)!;
          expect([...found.values.values()]).toEqual([...each.values]);
          expect([...found.times!.values()]).toEqual([...each.times]);
          expect([...found.sessions!.values()]).toEqual([...each.sessions]);
        }
      }
    });
  }
});
