/**
 * Question: how many frames a second does each executor run, over slots, beside the twin and beside a
 * plain event-driven JS loop? 700-256-128-20 (LIF, LIF, LI), frames of 10 steps, 5 % of inputs active.
 * Moves with: kernel and readback work of the engine. Physical limit here: 2 cores; a frame is about
 * 0.1 M additions at this density.
 */
import { CpuExecutor } from "../src/cpu/mod.ts";
import { GpuExecutor, openDevice } from "../src/engine/mod.ts";
import type { BatchRow } from "../src/engine/executor.ts";
import { ReferenceExecutor } from "../src/reference/mod.ts";
import { findGpu, readbackVerdict, runtime } from "../src/runtime/mod.ts";
import { mlp, Random, spikes } from "./models.ts";
import { PlainNetwork } from "./plain_js.ts";
import { type Contender, interleave, keep, round, runtimeName } from "./support.ts";

const FRAME = 10;
const DENSITY = 0.05;
const REPEATS = 15;

const plan = mlp([700, 256, 128, 20]);
const random = new Random(3);
const rows: Record<string, unknown>[] = [];
let adapter = "none";

for (const slots of [1, 8, 64, 256]) {
  const frames = Array.from(
    { length: slots },
    () => spikes(random, FRAME * plan.sampleSize, DENSITY),
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
  const cpu = new CpuExecutor(plan, { slots, frame: FRAME });
  const reference = new ReferenceExecutor(plan, { slots, frame: FRAME });
  const plain = new PlainNetwork(plan, slots);
  const twinRows = batch.slice(0, 1); // the twin's time is linear in rows; one is enough
  const contenders: Contender[] = [
    { name: "webgpu", run: async () => void await gpu.step(batch) },
    { name: "cpu", run: async () => void await cpu.step(batch) },
    { name: "twin", run: async () => void await reference.step(twinRows) },
    {
      name: "plain js",
      run: () => {
        frames.forEach((input, slot) => plain.frame(slot, input, FRAME));
      },
    },
  ];
  const measured = await interleave(contenders, REPEATS);
  const plainMs = measured.find(({ name }) => name === "plain js")!.median;
  for (const { name, median, p10, p90 } of measured) {
    const frames = name === "twin" ? 1 : slots;
    rows.push({
      slots,
      executor: name,
      "frames/s": round((frames / median) * 1000),
      "p10–p90": `${round((frames / p90) * 1000)}–${round((frames / p10) * 1000)}`,
      "÷ plain js": round((frames / median) / (slots / plainMs), 2),
    });
  }
  await gpu.close();
}
await keep(`engine.${runtime.name}`, {
  bench: "engine",
  setting: {
    model: plan.name,
    frame: FRAME,
    density: DENSITY,
    repeats: REPEATS,
    runtime: runtimeName,
    adapter,
  },
  rows,
});
