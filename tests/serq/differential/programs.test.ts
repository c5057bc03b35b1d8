/**
 * The programs of tests/fixtures/serq against the original, end to end: the text through our front
 * end and interpreter, the fixtures through the original's alone (tests/oracles/serq_programs.py).
 * Every number must be equal to the last bit, for random programs with 20 seeds each.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "../../../src/serq/compile.ts";
import { Interpreter } from "../../../src/serq/interpreter.ts";
import type { Observation } from "../../../src/serq/interpreter_state.ts";
import { reportOf } from "../../../src/serq/report.ts";
import { RunError } from "../../../src/serq/run_errors.ts";
import { readTrace } from "../../../src/serq/trace.ts";

interface Values {
  readonly values: readonly number[];
  readonly times: readonly number[];
  readonly sessions: readonly number[];
}

interface Expected {
  readonly settings: { readonly horizon: number; readonly warmup: number };
  readonly report?: unknown;
  readonly values?: Readonly<Record<string, Values>>;
  /** What the client of each turn saw: `ttft`, `tpot`, `response`. */
  readonly client?: Readonly<Record<string, Values>>;
  /** The run ends with it. */
  readonly error?: string;
  readonly seeds?: Readonly<Record<string, unknown>>;
}

const FOLDER = new URL("../../fixtures/serq/", import.meta.url);
const PROGRAMS = fileURLToPath(new URL("programs/", FOLDER));
const EXPECTED = JSON.parse(readFileSync(new URL("expected.json", FOLDER), "utf8")) as Readonly<
  Record<string, Expected>
>;

function run(name: string, settings: Expected["settings"], seed: number): Interpreter {
  const text = readFileSync(name, "utf8");
  const program = compile(text, { ...settings, name, seed, library });
  const { trace = null } = program;
  const corpus = trace === null ? [] : readTrace(readFileSync(`${PROGRAMS}${trace}`, "utf8"));
  const interpreter = new Interpreter(program, { dump: true, integrity: true, corpus });
  interpreter.run();
  return interpreter;
}

function library(path: string, from: string): { text: string; name: string } | null {
  const name = join(dirname(from), path);
  return existsSync(name) ? { text: readFileSync(name, "utf8"), name } : null;
}

/** Who waits where; the words around it are each one's own. */
function ringOf(error: string): string[] {
  const [first = ""] = error.split(". A leg waits");
  const [, waits = ""] =
    /^the run ends with sessions that wait for each other: (.*)$/.exec(first) ?? [];
  return waits.split("; ").filter((text) => !text.startsWith("a lease")).toSorted();
}

function checkValues(expected: Expected["values"], find: (name: string) => Observation): void {
  for (const [key, each] of Object.entries(expected ?? {})) {
    const found = find(key);
    expect([...found.values.values()]).toEqual([...each.values]);
    expect([...found.times!.values()]).toEqual([...each.times]);
    expect([...found.sessions!.values()]).toEqual([...each.sessions]);
  }
}

/** The report as JSON, without the words that only explain. */
function bare(interpreter: Interpreter): unknown {
  return JSON.parse(
    JSON.stringify(reportOf(interpreter), (key, value) => (key === "note" ? undefined : value)),
  );
}

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof RunError) return error.message;
    throw error;
  }
  return "";
}

describe("programs against the original", () => {
  test("there are at least 60, each with its fixture", () => {
    const files = readdirSync(PROGRAMS).filter((name) => name.endsWith(".sq"));
    const names = files.map((name) => name.replace(".sq", ""));
    expect(names.length).toBeGreaterThanOrEqual(60);
    expect(names.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
  });
  for (const [name, expected] of Object.entries(EXPECTED)) {
    const { settings, report, values, client, seeds, error } = expected;
    test(name, () => {
      const file = `${PROGRAMS}${name}.sq`;
      if (error !== undefined) {
        const waits = ringOf(error);
        expect(waits.length).toBeGreaterThan(1);
        expect(ringOf(refusal(() => run(file, settings, 1)))).toEqual(waits);
        return;
      }
      for (const [seed, wanted] of Object.entries(seeds ?? { 1: report })) {
        const interpreter = run(file, settings, Number(seed));
        expect(bare(interpreter)).toEqual(wanted);
        const { machine } = interpreter;
        checkValues(values, (key) => machine.observations.find((o) => o.name === key)!);
        checkValues(client, (key) => machine.client[key as keyof typeof machine.client]);
      }
    });
  }
});
