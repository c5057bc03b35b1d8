/**
 * Question: how many frames a second does each executor run, over slots and density, beside the twin and
 * beside plain event-driven and plain dense JS loops? 700-256-128-20 (LIF, LIF, LI), frames of 10 steps.
 * `cpu 2` is the CPU executor with a second thread. Moves with: kernel and readback work of the engine.
 * Physical limit here: 2 cores; a frame is about 0.1 M additions at 5 %.
 */
import { CpuExecutor } from "../src/cpu/mod.ts";
import { GpuExecutor, openDevice } from "../src/engine/mod.ts";
import type { BatchRow } from "../src/engine/executor.ts";
import { StreamServer } from "../src/mod.ts";
import { ReferenceExecutor } from "../src/reference/mod.ts";
import { findGpu, readbackVerdict, runtime } from "../src/runtime/mod.ts";
import { mlp, Random, spikes } from "./models.ts";
import { PlainNetwork } from "./plain_js.ts";
import { type Contender, interleave, keep, round, runtimeName } from "./support.ts";

const FRAME = 10;
const DENSITIES = [0.05, 0.01, 0.2];
const SLOTS = [1, 8, 64, 256];
const REPEATS = 15;

const plan = mlp([700, 256, 128, 20]);
const random = new Random(3);
const rows: Record<string, unknown>[] = [];
let adapter = "none";

for (const density of DENSITIES) for (const slots of SLOTS) await measure(density, slots);

async function measure(density: number, slots: number): Promise<void> {
  const frames = Array.from(
    { length: slots },
    () => spikes(random, FRAME * plan.sampleSize, density),
  );
  const batch: BatchRow[] = frames.map((input, slot) => ({
    slot,
    steps: FRAME,
    fresh: false,
    input,
  }));
  const open = await openDevice((await findGpu()).gpu);
  adapter = open.name;
  const gpu = await GpuExecutor.create(plan, open, {
    slots,
    frame: FRAME,
    readback: await readbackVerdict({
      runtime: runtime.name,
      version: runtime.version,
      adapter: open.name,
    }),
    numerics: "bench",
  });
  const size = { slots, frame: FRAME };
  const cpu = new CpuExecutor(plan, size);
  const team = await StreamServer.create(plan, {
    ...size,
    sampleShape: plan.sampleShape,
    device: "cpu",
    cpuThreads: 2,
  });
  const reference = new ReferenceExecutor(plan, size);
  const plain = new PlainNetwork(plan, slots);
  // Few slots take several turns, so that every contender's code is warm. The time of a twin's and of a
  // dense row is the same for each; one is enough.
  const turns = Math.ceil(32 / slots);
  const first = batch.slice(0, 1);
  const contenders: readonly (Contender & { readonly frames: number })[] = [
    ...Object.entries({ webgpu: gpu, cpu, "cpu 2": team.executor }).map(([name, executor]) => ({
      name,
      frames: turns * slots,
      run: async () => {
        for (let turn = 0; turn < turns; turn++) await executor.step(batch);
      },
    })),
    { name: "twin", frames: 1, run: async () => void await reference.step(first) },
    { name: "dense js", frames: 1, run: () => void plain.denseFrame(0, frames[0]!, FRAME) },
    {
      name: "plain js",
      frames: turns * slots,
      run: () => {
        for (let turn = 0; turn < turns; turn++) {
          frames.forEach((input, slot) => plain.frame(slot, input, FRAME));
        }
      },
    },
  ];
  const measured = await interleave(contenders, REPEATS);
  const rates = measured.map(({ median, p10, p90 }, i) =>
    [median, p10, p90].map((ms) => contenders[i]!.frames / ms * 1000) as [number, number, number]
  );
  const base = rates.at(-1)!;
  measured.forEach(({ name }, i) => {
    const [median, best, worst] = rates[i]!;
    rows.push({
      density,
      slots,
      executor: name,
      "frames/s": round(median),
      "p10–p90": `${round(worst)}–${round(best)}`,
      "÷ plain js": round(median / base[0], 2),
      "best ÷ best": round(best / base[1], 2),
    });
  });
  await Promise.all([gpu.close(), team.close()]);
}
await keep(`engine.${runtime.name}`, {
  bench: "engine",
  setting: {
    model: plan.name,
    frame: FRAME,
    repeats: REPEATS,
    runtime: runtimeName,
    adapter,
  },
  rows,
});
