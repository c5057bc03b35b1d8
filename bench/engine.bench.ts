/**
 * Question: how many frames a second does each executor run, over models, slots and densities, beside
 * plain loops in JavaScript (bench/plain_js.ts) and the twin? And what does one active row of 64 cost
 * beside a server of one slot? Frames of 10 steps. Moves with: kernels, packing, readback. The physical
 * limit stands beside each model in bench/README.md. `--model`, `--slots` and `--density` run a part.
 */
import process from "node:process";
import { CpuExecutor } from "../src/cpu/mod.ts";
import type { BatchRow } from "../src/engine/executor.ts";
import { choiceName } from "../src/engine/mod.ts";
import type { Plan } from "../src/model/mod.ts";
import { StreamServer } from "../src/mod.ts";
import { ReferenceExecutor } from "../src/reference/mod.ts";
import { runtime } from "../src/runtime/mod.ts";
import { batchOf, FRAME, gridOf, openEngine, REPEATS } from "./grid.ts";
import { MODELS, Random } from "./models.ts";
import { PlainNetwork } from "./plain_js.ts";
import { type Contender, interleave, keep, round, runtimeName } from "./support.ts";

/** Milliseconds that the repeats of one contender in one cell may take; sets how many rows it runs. */
const CONTENDER_MS = 1500;
/** The twin does not get faster with repeats. */
const TWIN_REPEATS = 3;

const grid = gridOf([1, 8, 64, 256, 1024]);

interface Row extends Record<string, unknown> {
  readonly executor: string;
  readonly "÷ plain events": number;
}

/** Runs `rows` rows a time, the next ones each time: what depends on no neighbour needs no whole batch. */
function slices(
  batch: readonly BatchRow[],
  rows: number,
  run: (rows: readonly BatchRow[]) => Promise<unknown> | void,
): () => Promise<void> {
  let at = 0;
  return async () => {
    const part = batch.slice(at, at + rows);
    at = (at + rows) % batch.length;
    await run(part);
  };
}

/** The rows that fit into the time of one repeat, a divisor of the batch; measured on one row. */
async function rowsFor(
  batch: readonly BatchRow[],
  run: (rows: readonly BatchRow[]) => Promise<unknown> | void,
): Promise<number> {
  const one = batch.slice(0, 1);
  await run(one);
  const begin = performance.now();
  await run(one);
  const most = CONTENDER_MS / REPEATS / (performance.now() - begin);
  let count = 1;
  while (count * 2 <= most && count < batch.length) count *= 2;
  return count;
}

async function measureCell(
  plan: Plan,
  gpu: Awaited<ReturnType<typeof openEngine>>,
  density: number,
): Promise<Row[]> {
  const { slots } = gpu;
  const batch = batchOf(plan, slots, density, new Random(3));
  const event = new PlainNetwork(plan, slots);
  const dense = new PlainNetwork(plan, slots, "dense");
  const cpu = new CpuExecutor(plan, { slots, frame: FRAME });
  const { sampleShape } = plan;
  const team = await StreamServer.create(plan, {
    slots,
    frame: FRAME,
    sampleShape,
    device: "cpu",
    cpuThreads: 2,
  });
  const twin = new ReferenceExecutor(plan, { slots: 1, frame: FRAME });
  const plain = (network: PlainNetwork) => (part: readonly BatchRow[]) => {
    for (const { slot, input } of part) network.frame(slot, input as Float32Array, FRAME);
  };
  const host = {
    "cpu executor": (part: readonly BatchRow[]) => cpu.step(part),
    "cpu executor, 2 threads": (part: readonly BatchRow[]) => team.executor.step(part),
    "plain js, events": plain(event),
    "plain js, dense": plain(dense),
  };
  const sizes: Record<string, number> = { webgpu: slots };
  const contenders: Contender[] = [
    { name: "webgpu", run: async () => void await gpu.step(batch) },
  ];
  for (const [who, run] of Object.entries(host)) {
    sizes[who] = await rowsFor(batch, run);
    contenders.push({ name: who, run: slices(batch, sizes[who], run) });
  }
  const measured = await interleave(contenders, REPEATS);
  const [oracle] = await interleave([
    { name: "twin", run: async () => void await twin.step(batch.slice(0, 1)) },
  ], TWIN_REPEATS);
  const base = measured.find((each) => each.name === "plain js, events")!;
  const perMs = sizes["plain js, events"]! / base.median;
  await Promise.all([cpu.close(), team.close()]);
  return [...measured, oracle!].map(({ name: executor, median, p10, p90 }) => {
    const frames = sizes[executor] ?? 1;
    return {
      slots,
      density,
      executor,
      "frames/s": round((frames / median) * 1000),
      "p10–p90": `${round((frames / p90) * 1000)}–${round((frames / p10) * 1000)}`,
      "÷ plain events": round(frames / median / perMs),
    };
  });
}

/** One active row of 64 slots beside the same row on an engine of one slot. */
async function measureActive(plan: Plan): Promise<Record<string, unknown>> {
  const [many, one] = [await openEngine(plan, 64), await openEngine(plan, 1)];
  const [row] = batchOf(plan, 1, 0.05, new Random(4));
  const [ofMany, ofOne] = await interleave([
    { name: "1 of 64", run: async () => void await many.step([{ ...row!, slot: 37 }]) },
    { name: "1 of 1", run: async () => void await one.step([row!]) },
  ], 10 * REPEATS);
  await many.close();
  await one.close();
  return {
    "1 of 64 ms": round(ofMany!.median),
    "1 of 1 ms": round(ofOne!.median),
    ratio: round(ofMany!.median / ofOne!.median),
    "p10–p90 of 64": `${round(ofMany!.p10)}–${round(ofMany!.p90)}`,
  };
}

for (const name of grid.models) {
  const plan = await MODELS[name]!();
  const chosen: Record<string, string> = {};
  const rows: Row[] = [];
  let adapter = "none";
  for (const slots of grid.slots) {
    const gpu = await openEngine(plan, slots);
    adapter = gpu.info.device;
    chosen[slots] = gpu.kernels.map(choiceName).join(", ");
    for (const density of grid.densities) rows.push(...await measureCell(plan, gpu, density));
    await gpu.close();
    console.log(`${name}, ${slots} slots: ${chosen[slots]}`);
  }
  const means = geometricMeans(rows);
  console.log("geometric mean of ÷ plain events:", means);
  await keep(`engine.${runtime.name}.${name}`, {
    bench: "engine",
    setting: {
      model: name,
      frame: FRAME,
      repeats: REPEATS,
      runtime: runtimeName,
      adapter,
      kernels: chosen,
      "geometric mean ÷ plain events": means,
      "one active row of 64": await measureActive(plan),
    },
    rows,
  }, { kept: grid.isWhole });
}
process.exit(0);

/** Of the ratio to plain events, by executor. */
function geometricMeans(rows: readonly Row[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(rows, ({ executor }) => executor)].map(
    ([executor, own]) => {
      const logs = own.map((row) => Math.log(row["÷ plain events"]));
      return [executor, round(Math.exp(logs.reduce((a, b) => a + b) / logs.length))];
    },
  ));
}
