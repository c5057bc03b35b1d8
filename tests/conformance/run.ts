/** Helpers of the conformance cases: run a plan's whole stream on an executor, compare with an oracle. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Plan } from "../../src/model/mod.ts";
import { SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import type { Make } from "../contract/cases.ts";

export interface ConformanceCase {
  readonly name: string;
  readonly run: (make: Make) => Promise<void>;
}

/** A file beside the repository that not every checkout has; null without it. */
export function shared(path: string): string | null {
  const file = fileURLToPath(new URL(`../../../shared/${path}`, import.meta.url));
  return existsSync(file) ? file : null;
}

export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")) as T;
}

export type Nested = number | readonly Nested[];

export function flat(values: Nested): number[] {
  return typeof values === "number" ? [values] : values.flatMap(flat);
}

export interface Ran {
  readonly output: Float32Array;
  readonly probes: Readonly<Record<string, Float32Array>>;
}

/** One session's whole stream, in frames of 7. */
export async function runStream(
  make: Make,
  plan: Plan,
  input: ArrayLike<number>,
  record: readonly string[] = [],
): Promise<Ran> {
  const { executor } = await make(plan, { slots: 2, frame: 7 });
  try {
    const scheduler = new SlotScheduler(executor, { partialFrames: true });
    scheduler.open(); // the stream runs in the second slot
    const session = scheduler.open();
    const all = Float32Array.from(input);
    const width = 7 * plan.sampleSize;
    const futures = [];
    for (let at = 0; at < all.length; at += width) {
      futures.push(scheduler.submit(session, all.subarray(at, at + width), { record }));
    }
    await scheduler.run();
    const parts = await Promise.all(futures.map((future) => future.result()));
    const join = (arrays: readonly Float32Array[]) =>
      Float32Array.from(arrays.flatMap((array) => [...array]));
    return {
      output: join(parts.map(({ data }) => data)),
      probes: Object.fromEntries(
        record.map((name) => [name, join(parts.map(({ probes }) => probes[name]!))]),
      ),
    };
  } finally {
    await executor.close();
  }
}

/**
 * Tolerance of f32 results against float64 oracles (docs/numerics.md): relative to the value, plus 1e-7
 * of the largest one, since a sum that cancels keeps the rounding of its terms.
 */
export const RELATIVE = 1e-6;
export const ABSOLUTE = 1e-7;

export function assertClose(
  given: ArrayLike<number>,
  wanted: ArrayLike<number>,
  what: string,
  relative = RELATIVE,
): void {
  assert.equal(given.length, wanted.length, `${what}: length`);
  const largest = Array.from(wanted).reduce((most, x) => Math.max(most, Math.abs(x)), 1);
  for (let i = 0; i < given.length; i++) {
    const [a, b] = [given[i]!, wanted[i]!];
    if (!(Math.abs(a - b) <= relative * Math.abs(b) + ABSOLUTE * largest)) {
      assert.fail(`${what}: value ${i} is ${a}, wanted ${b}`);
    }
  }
}

export function assertEqual(
  given: ArrayLike<number>,
  wanted: ArrayLike<number>,
  what: string,
): void {
  assert.deepEqual(Array.from(given), Array.from(wanted), what);
}
