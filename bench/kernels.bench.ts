/**
 * Question: which kernels run a model fastest on this adapter: one dispatch a layer, or fused frames of
 * 8, 16, 32 or 64 lanes? 700-256-128-20, frames of 10 steps, interleaved. All give the same bits.
 */
import type { BatchRow } from "../src/engine/executor.ts";
import { GpuExecutor, openDevice } from "../src/engine/mod.ts";
import { findGpu, readbackVerdict, runtime } from "../src/runtime/mod.ts";
import { mlp, Random, spikes } from "./models.ts";
import { interleave, keep, round, runtimeName } from "./support.ts";

const FRAME = 10;
const REPEATS = 15;
const plan = mlp([700, 256, 128, 20]);
const rows: Record<string, unknown>[] = [];
let adapter = "";

const VARIANTS = [
  { name: "layers", kernels: "layers" },
  ...[8, 16, 32, 64].map((lanes) => ({ name: `fused ${lanes}`, kernels: "fused", lanes } as const)),
] as const;

for (const slots of [1, 8, 64]) {
  for (const density of [0.01, 0.05, 0.2]) {
    const random = new Random(5);
    const batch: BatchRow[] = Array.from({ length: slots }, (_, slot) => ({
      slot,
      steps: FRAME,
      fresh: false,
      input: spikes(random, FRAME * plan.sampleSize, density),
    }));
    const executors = await Promise.all(VARIANTS.map(async ({ name, ...options }) => {
      const open = await openDevice((await findGpu()).gpu);
      adapter = open.name;
      const { name: host, version } = runtime;
      const readback = await readbackVerdict({ runtime: host, version, adapter });
      const size = { slots, frame: FRAME, readback, numerics: "bench" };
      return { name, executor: await GpuExecutor.create(plan, open, { ...size, ...options }) };
    }));
    const measured = await interleave(
      executors.map(({ name, executor }) => ({
        name,
        run: async () => void await executor.step(batch),
      })),
      REPEATS,
    );
    const base = measured[0]!.median;
    rows.push({
      slots,
      density,
      "layers ms": round(base),
      ...Object.fromEntries(
        measured.slice(1).map(({ name, median }) => [`${name} ×`, round(base / median, 2)]),
      ),
    });
    for (const { executor } of executors) await executor.close();
  }
}
await keep(`kernels.${runtime.name}`, {
  bench: "kernels",
  setting: { model: plan.name, frame: FRAME, repeats: REPEATS, runtime: runtimeName, adapter },
  rows,
});
