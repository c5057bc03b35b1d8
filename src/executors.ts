/**
 * Which executor runs a plan, and the proof that it may: a WebGPU device is used only after this model
 * ran golden frames on it and agreed with the reference. Without a suitable device the CPU executor
 * serves, and says so.
 */
import { realClock } from "./base/clock.ts";
import { GanglionError } from "./base/errors.ts";
import { CpuExecutor } from "./cpu/mod.ts";
import { GpuExecutor, openDevice, type ReadbackMode } from "./engine/mod.ts";
import type { BatchRow, Executor } from "./engine/executor.ts";
import type { Plan } from "./model/plan.ts";
import { ReferenceExecutor } from "./reference/mod.ts";

export type DeviceChoice = "auto" | "webgpu" | "cpu" | "reference";

/** What the runtime offers; see src/runtime. */
export interface GpuSource {
  /** The runtime's WebGPU, or null. */
  gpu(): Promise<GPU | null>;
  /** How readback may be done here; probed once per runtime version. */
  readback(): Promise<ReadbackMode>;
  /** `deno 2.9.6`, for the numerics tag. */
  readonly runtime: string;
}

export interface ExecutorOptions {
  readonly slots: number;
  readonly frame: number;
  readonly device: DeviceChoice;
  readonly source: GpuSource;
  /** One line for people: what was chosen and why. */
  readonly log?: (line: string) => void;
}

/**
 * Builds an executor. `auto` falls back to the CPU with a line of why; `webgpu` throws
 * `device_unavailable` instead.
 */
export async function createExecutor(plan: Plan, options: ExecutorOptions): Promise<Executor> {
  const { slots, frame, device, log = () => undefined } = options;
  if (device === "reference") return new ReferenceExecutor(plan, { slots, frame });
  if (device === "cpu") return new CpuExecutor(plan, { slots, frame });
  try {
    return await createGpuExecutor(plan, options);
  } catch (error) {
    if (device === "webgpu") throw error;
    const reason = error instanceof Error ? error.message : String(error);
    log(`No WebGPU device serves "${plan.name}" (${reason}). The CPU executor serves instead.`);
    return new CpuExecutor(plan, { slots, frame });
  }
}

async function createGpuExecutor(plan: Plan, options: ExecutorOptions): Promise<Executor> {
  const { slots, frame, source, log = () => undefined } = options;
  const open = await openDevice(await source.gpu());
  const tag = `${open.name}/${source.runtime}`;
  const executor = await GpuExecutor.create(plan, open, {
    slots,
    frame,
    readback: await source.readback(),
    numerics: tag,
  });
  const { values, equal } = await goldenFrames(executor);
  if (equal === values) {
    executor.declareNumerics("exact-1");
  } else if (equal >= 0.9 * values) {
    log(
      `"${plan.name}" on ${open.name}: ${values - equal} of ${values} golden values differ from ` +
        `the reference; results carry the numerics tag "${tag}".`,
    );
  } else {
    await executor.close();
    throw new GanglionError(
      "device_unavailable",
      `${open.name} computes this model wrongly: ${values - equal} of ${values} golden values differ`,
    );
  }
  if (open.software && options.device === "auto") await adviseOnSoftware(executor, options);
  return executor;
}

/** Multiply-adds of one dense step that the reference should not exceed in all golden frames. */
const GOLDEN_WORK_MAX = 2e8;
/** Steps that cross every internal boundary of the engine's tiles. */
const GOLDEN_STEPS = 35;

/**
 * Runs golden frames on `executor` and on the reference and counts the values that are equal as bits:
 * all ones, random spikes, random real values, in two consecutive frames of uneven length.
 */
export async function goldenFrames(
  executor: Executor,
): Promise<{ values: number; equal: number }> {
  const { plan, slots, frame } = executor;
  const affordable = Math.floor(GOLDEN_WORK_MAX / workOf(plan) / 4);
  const steps = Math.max(1, Math.min(frame, GOLDEN_STEPS, affordable));
  const reference = new ReferenceExecutor(plan, { slots: Math.min(slots, 3), frame });
  const random = lcg(1);
  const inputs: ((length: number) => Float32Array)[] = [
    (length) => new Float32Array(length).fill(1),
    (length) => Float32Array.from({ length }, () => random() < 0.2 ? 1 : 0),
    (length) => Float32Array.from({ length }, () => Math.fround(random() * 4 - 2)),
  ];
  let values = 0;
  let equal = 0;
  for (const [round, count] of [steps, Math.max(1, Math.floor(steps / 2))].entries()) {
    const batch: BatchRow[] = inputs.slice(0, slots).map((make, slot) => ({
      slot,
      steps: count,
      fresh: round === 0,
      input: make(count * plan.sampleSize),
    }));
    const [ours, theirs] = await Promise.all([executor.step(batch), reference.step(batch)]);
    ours.forEach(({ output }, row) => {
      const a = new Uint32Array(output.buffer, output.byteOffset, output.length);
      const wanted = theirs[row]!.output;
      const b = new Uint32Array(wanted.buffer, wanted.byteOffset, wanted.length);
      values += a.length;
      for (let i = 0; i < a.length; i++) if (a[i] === b[i]) equal++;
    });
  }
  return { values, equal };
}

/** On a software adapter: measures this model on both and says when the CPU executor is the faster one. */
async function adviseOnSoftware(
  executor: Executor,
  { slots, frame, log = () => undefined }: ExecutorOptions,
): Promise<void> {
  const { plan, info } = executor;
  const cpu = new CpuExecutor(plan, { slots, frame });
  const random = lcg(2);
  const rows = Math.min(slots, 8);
  const steps = Math.min(frame, 10);
  const batch: BatchRow[] = Array.from({ length: rows }, (_, slot) => ({
    slot,
    steps,
    fresh: true,
    input: Float32Array.from({ length: steps * plan.sampleSize }, () => random() < 0.05 ? 1 : 0),
  }));
  const times: Record<"gpu" | "cpu", number[]> = { gpu: [], cpu: [] };
  for (let round = 0; round < 5; round++) {
    for (const [name, each] of [["gpu", executor], ["cpu", cpu]] as const) {
      const begin = realClock.now();
      await each.step(batch);
      times[name].push(realClock.now() - begin);
    }
  }
  const median = (list: number[]) => list.sort((a, b) => a - b)[Math.floor(list.length / 2)]!;
  const ratio = median(times.gpu) / median(times.cpu);
  const verdict = ratio > 1.1
    ? `--device cpu measured ${ratio.toFixed(1)} times faster for this model`
    : `it measured ${(1 / ratio).toFixed(1)} times the speed of --device cpu for this model`;
  log(`${info.device} is a software adapter; ${verdict} (${rows} sessions, 5 % of inputs active).`);
}

/** Multiply-adds of one step, as if nothing were skipped. */
function workOf(plan: Plan): number {
  let work = 1;
  for (const { op, size } of plan.nodes) {
    if (op.op === "dense") work += op.weights.length;
    else if (op.op === "conv") {
      work += size * (op.inChannels / op.groups) * op.kernel[0] * op.kernel[1];
    } else work += size;
  }
  return work;
}

/** A small seeded generator; golden frames must be the same everywhere. */
function lcg(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
