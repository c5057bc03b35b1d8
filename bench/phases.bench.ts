/**
 * Question: how much of a step is the host's, which overlapping it with the device could hide? The parts
 * of a step of frames of 10 steps, inputs as f32 and as bits. `--model`, `--slots` and `--density` run a
 * part.
 */
import { packBits } from "../src/base/numeric.ts";
import type { BatchRow, StepPhases } from "../src/engine/executor.ts";
import { runtime } from "../src/runtime/mod.ts";
import { batchOf, FRAME, gridOf, openEngine } from "./grid.ts";
import { MODELS, Random } from "./models.ts";
import { interleave, keep, quantile, round, runtimeName } from "./support.ts";

const REPEATS = 40;

const grid = gridOf([64]);
const rows: Record<string, unknown>[] = [];
let adapter = "";

function asBits(batch: readonly BatchRow[]): BatchRow[] {
  return batch.map((row) => ({ ...row, input: packBits(row.input as Float32Array, row.steps) }));
}

/** The step over the longer of its two sides, as if the host's work cost the device nothing. */
function gain({ uploadMs, computeMs, readbackMs }: StepPhases): number {
  const host = uploadMs + readbackMs;
  return (host + computeMs) / Math.max(host, computeMs);
}

for (const model of grid.models) {
  const plan = await MODELS[model]!();
  for (const slots of grid.slots) {
    const engine = await openEngine(plan, slots);
    adapter = engine.info.device;
    for (const density of grid.densities) {
      const values = batchOf(plan, slots, density, new Random(5));
      const contenders = Object.entries({ f32: values, bits: asBits(values) }).map(
        ([name, batch]) => {
          const phases: StepPhases[] = [];
          const run = async () => {
            await engine.step(batch);
            phases.push(engine.phases);
          };
          return { name, run, phases };
        },
      );
      const measured = await interleave(contenders, REPEATS);
      for (const [i, { name: input, median, p10, p90 }] of measured.entries()) {
        const { phases } = contenders[i]!;
        const middle = (of: (phases: StepPhases) => number) => round(quantile(phases.map(of), 0.5));
        rows.push({
          model,
          slots,
          density,
          input,
          "ms a step": round(median),
          "p10–p90": `${round(p10)}–${round(p90)}`,
          "upload ms": middle(({ uploadMs }) => uploadMs),
          "compute ms": middle(({ computeMs }) => computeMs),
          "readback ms": middle(({ readbackMs }) => readbackMs),
          "gain at most": middle(gain),
        });
      }
    }
    await engine.close();
  }
}
await keep(`phases.${runtime.name}`, {
  bench: "phases",
  setting: { frame: FRAME, repeats: REPEATS, runtime: runtimeName, adapter },
  rows,
}, { kept: grid.isWhole && grid.models.length > 1 });
