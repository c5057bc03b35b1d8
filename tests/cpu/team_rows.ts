/** Random batches on a CPU executor with helper threads, beside one without. Runs on both runtimes. */
import assert from "node:assert/strict";
import { CpuExecutor, type HelperOpening, type HelperThread } from "../../src/cpu/mod.ts";
import type { BatchRow, RowResult } from "../../src/engine/executor.ts";
import { startThread } from "../../src/runtime/mod.ts";
import { type Plan, probesOf } from "../../src/model/plan.ts";
import { assertSameBits, PLANS } from "../contract/cases.ts";
import { Random } from "../support/plans.ts";

const SLOTS = 12;
const FRAME = 9;
/** None of them grows without bound: what a NaN's bits are, nothing says. */
const NAMES = ["mlp-lif-0", "conv", "recurrent", "taps", "plastic-decaying"];
const HELPER = new URL("../../src/cpu_thread.ts", import.meta.url);

export const helper = (program = HELPER): HelperThread =>
  startThread<HelperOpening, never>(program);

export function randomBatch(random: Random, plan: Plan, fresh: boolean): BatchRow[] {
  const rows: BatchRow[] = [];
  for (let slot = 0; slot < SLOTS; slot++) {
    if (!fresh && random.next() < 0.2) continue;
    const steps = random.int(1, FRAME);
    const length = steps * plan.sampleSize;
    const input = random.next() < 0.7 ? random.spikes(length) : random.floats(length);
    rows.push({ slot, steps, fresh, input });
  }
  return rows;
}

export function assertSameResults(given: RowResult[], wanted: RowResult[], what: string): void {
  assert.equal(given.length, wanted.length, what);
  given.forEach(({ output, probes }, i) => {
    assert(output.every(Number.isFinite), `${what}, row ${i} is finite`);
    assertSameBits(output, wanted[i]!.output, `${what}, row ${i}`);
    for (const name in wanted[i]!.probes) {
      assertSameBits(probes[name]!, wanted[i]!.probes[name]!, `${what}, row ${i}, ${name}`);
    }
  });
}

/** Throws where a bit differs. */
export async function compareTeam(steps: number): Promise<void> {
  for (const [k, name] of NAMES.entries()) {
    const plan = PLANS.find((each) => each.name === name)!;
    const size = { slots: SLOTS, frame: FRAME };
    const alone = new CpuExecutor(plan, size);
    const team = new CpuExecutor(plan, { ...size, helpers: [helper(), helper()] });
    try {
      const random = new Random(k);
      for (let step = 0; step < steps; step++) {
        const batch = randomBatch(random, plan, step === 0);
        if (step === 3) batch[0] = { ...batch[0]!, record: [probesOf(plan).at(-1)!.name] };
        const [given, wanted] = await Promise.all([team.step(batch), alone.step(batch)]);
        assertSameResults(given, wanted, `${plan.name}, step ${step}`);
        // Lets the helpers arrive.
        if (step % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const slots = Array.from({ length: SLOTS }, (_, slot) => slot);
      assert.deepEqual(await team.readStates(slots), await alone.readStates(slots), plan.name);
    } finally {
      await team.close();
    }
  }
}
