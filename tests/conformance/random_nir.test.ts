/** Random NIR files: 40 on every executor and driver, a thousand on the host executors. */
import { expect, test } from "bun:test";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import type { Make } from "../contract/cases.ts";
import { knownTypes } from "../../src/model/nir_fields.ts";
import { onEveryExecutor } from "../support/every_executor.ts";
import { type Outcome, trySeed } from "./random_nir.ts";

const COUNT = 1_000;
/** Seeds of the gate's own; campaigns begin elsewhere. */
const FIRST = 1_000;
const LIMIT_MS = 120_000;

onEveryExecutor("random", { deno: [{ readback: "eager" }] });

const cpu: Make = (plan, size) =>
  Promise.resolve({ executor: new CpuExecutor(plan, size), faults: [] });

test(`${COUNT} random NIR files: CPU executor, reference and float64 walk agree`, async () => {
  const outcomes: Outcome[] = [];
  const failures: string[] = [];
  for (let seed = FIRST; seed < FIRST + COUNT; seed++) {
    try {
      outcomes.push(await trySeed(seed, cpu));
    } catch (error) {
      failures.push(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  expect(failures).toEqual([]);
  // The draws are worth something: every type, cycles, spikes, and most steps compared.
  const seen = new Set(outcomes.flatMap(({ types }) => types));
  expect([...knownTypes(), "NIRGraph"].filter((type) => !seen.has(type))).toEqual([]);
  const ran = outcomes.filter(({ verdict }) => verdict === "ran");
  expect(ran.length).toBeGreaterThan(0.75 * COUNT);
  expect(ran.length).toBeLessThan(COUNT);
  expect(ran.filter(({ late }) => late > 0).length).toBeGreaterThan(0.3 * COUNT);
  expect(ran.filter(({ spikes }) => spikes > 0).length).toBeGreaterThan(0.4 * COUNT);
  const [steps, compared] = [sum(ran, "steps"), sum(ran, "compared")];
  expect(compared).toBeGreaterThan(0.9 * steps);
}, LIMIT_MS);

function sum(outcomes: readonly Outcome[], field: "steps" | "compared"): number {
  return outcomes.reduce((total, outcome) => total + outcome[field], 0);
}
