/** What steps of an executor cost without a server: the same frames, from one row to all slots. */
import type { BatchRow, Executor } from "../engine/executor.ts";
import { costOf, sizesUpTo, type StepCost } from "./fit.ts";
import { frameOf, type MeasureOptions } from "./served.ts";

const PASSES = 5;
const STEPS_MIN = 3;
const STEPS_MAX = 2000;

/** Steps of full frames, the sizes in turns so that other load on the machine hits them alike. */
export async function measureExecutor(
  executor: Executor,
  { pace, seconds, density, onProgress }: MeasureOptions,
): Promise<StepCost[]> {
  const { plan, slots, frame } = executor;
  const sizes = sizesUpTo(slots);
  const batch: BatchRow[] = Array.from({ length: slots }, (_, slot) => ({
    slot,
    steps: frame,
    fresh: false,
    input: frameOf({ frame, sampleSize: plan.sampleSize }, density, pace.random),
  }));
  const found = sizes.map((): number[] => []);
  const turnMs = 1000 * seconds / (sizes.length * PASSES);
  for (let pass = -1; pass < PASSES; pass++) {
    for (const [i, rows] of sizes.entries()) {
      const until = pace.now() + (pass < 0 ? 0 : turnMs); // the pass before the first warms up
      for (let step = 0; step < STEPS_MIN || (pace.now() < until && step < STEPS_MAX); step++) {
        const begin = pace.now();
        await executor.step(batch.slice(0, rows));
        if (pass >= 0) found[i]!.push((pace.now() - begin) / 1000);
      }
      if (pass >= 0) onProgress?.((pass * sizes.length + i + 1) / (PASSES * sizes.length));
    }
  }
  return sizes.map((rows, i) => costOf(rows, found[i]!));
}
