/**
 * Random programs in IR form against the original's run of the same IR (tests/oracles/
 * serq_random_ir.py): every time and value to the last bit, and the same run errors. Integrity is
 * checked at every event. SERQ_RANDOM_IR names another, larger file for a campaign.
 */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Interpreter } from "../../../src/serq/interpreter.ts";
import type { Observation } from "../../../src/serq/interpreter_state.ts";
import type { Program } from "../../../src/serq/ir.ts";
import { reportOf } from "../../../src/serq/report.ts";
import { RunError } from "../../../src/serq/run_errors.ts";

interface Case {
  readonly seed: number;
  readonly ir: Program;
  readonly report?: unknown;
  /** Times and values of every observation that has some. */
  readonly values?: Readonly<Record<string, [number[], number[]]>>;
  /** The same of what the client of each turn saw. */
  readonly client?: Case["values"];
  readonly error?: string;
}

/** Programs on which the two differ, and why (docs/serq_differences.md). */
const OTHERWISE: Readonly<Record<number, string>> = {
  5075: "`work` of a delay stage sums its jobs in another order: the last bit",
};

const FILE = process.env["SERQ_RANDOM_IR"] ??
  new URL("../../fixtures/serq/random_ir.json.gz", import.meta.url);
const CASES = JSON.parse(gunzipSync(readFileSync(FILE)).toString()) as readonly Case[];

function valuesOf(observations: readonly Observation[]): NonNullable<Case["values"]> {
  const values = observations.filter((o) => o.values.length > 0).map((o) =>
    [o.name, [[...o.times!.values()], [...o.values.values()]]] as const
  );
  return Object.fromEntries(values) as Record<string, [number[], number[]]>;
}

function run(ir: Program): Omit<Case, "seed" | "ir"> {
  try {
    const interpreter = new Interpreter(ir, { dump: true, integrity: true });
    interpreter.run();
    const { observations, client } = interpreter.machine;
    return {
      report: JSON.parse(JSON.stringify(reportOf(interpreter))),
      values: valuesOf(observations),
      client: valuesOf(Object.values(client)),
    };
  } catch (error) {
    if (!(error instanceof RunError)) throw error;
    return { error: error.message };
  }
}

test("there are enough random programs", () => {
  expect(CASES.length).toBeGreaterThanOrEqual(150);
});

test("random programs equal the original's, bit for bit", () => {
  for (const { seed, ir, report, values, client, error } of CASES) {
    if (seed in OTHERWISE) continue;
    const found = run(ir);
    if (error === undefined) expect({ seed, ...found }).toEqual({ seed, report, values, client });
    // The words are ours; what is wrong, and when, is the original's.
    else expect([seed, found.error?.slice(0, 24)]).toEqual([seed, error.slice(0, 24)]);
  }
}, 60_000);
