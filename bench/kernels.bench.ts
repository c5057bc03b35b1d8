/**
 * Question: which choice of kernels runs a model fastest on this adapter, and does the tuner find it?
 * Every choice that the tuner may make, forced, interleaved; all give the same bits. Frames of 10 steps.
 * `--model`, `--slots` and `--density` run a part.
 */
import { choiceName, kernelCandidates } from "../src/engine/mod.ts";
import { runtime } from "../src/runtime/mod.ts";
import { batchOf, FRAME, gridOf, openEngine, REPEATS } from "./grid.ts";
import { MODELS, Random } from "./models.ts";
import { interleave, keep, round, runtimeName } from "./support.ts";

const grid = gridOf([1, 64]);
const rows: Record<string, unknown>[] = [];
let adapter = "";

for (const name of grid.models) {
  const plan = await MODELS[name]!();
  for (const slots of grid.slots) {
    const tuned = await openEngine(plan, slots);
    const { device, software } = tuned.info;
    adapter = device;
    const engines = new Map([["tuned", tuned]]);
    for (const choice of kernelCandidates({ name: device, software })) {
      try {
        engines.set(choiceName(choice), await openEngine(plan, slots, choice));
      } catch (error) {
        // A plan without a fused kernel refuses that choice; the others run.
        console.log(`${name}, ${slots} slots, without ${choiceName(choice)}: ${error}`);
      }
    }
    for (const density of grid.densities) {
      const batch = batchOf(plan, slots, density, new Random(5));
      const measured = await interleave(
        [...engines].map(([name, engine]) => ({
          name,
          run: async () => void await engine.step(batch),
        })),
        REPEATS,
      );
      for (const { name: kernels, median, p10, p90 } of measured) {
        rows.push({
          model: name,
          slots,
          density,
          kernels,
          "ms a step": round(median),
          "p10–p90": `${round(p10)}–${round(p90)}`,
          "÷ tuned": round(measured[0]!.median / median, 2),
        });
      }
    }
    for (const engine of engines.values()) await engine.close();
  }
}
await keep(`kernels.${runtime.name}`, {
  bench: "kernels",
  setting: { frame: FRAME, repeats: REPEATS, runtime: runtimeName, adapter },
  rows,
}, { kept: grid.isWhole && grid.models.length > 1 });
