/**
 * Which executor runs a model (DESIGN §8). `auto` takes a WebGPU adapter whose golden frame agrees,
 * hardware before software, else the CPU; `webgpu` and `cpu` insist. What was decided and why goes to
 * `say`, one line each.
 */
import { type Clock, realClock } from "./base/clock.ts";
import { GanglionError } from "./base/errors.ts";
import { CpuExecutor, type HelperOpening } from "./cpu/mod.ts";
import { type Executor, GpuExecutor, openDevice } from "./engine/mod.ts";
import { goldenFrame } from "./golden_frame.ts";
import { LAYERS } from "./layers/mod.ts";
import type { Plan, PlanNode } from "./model/plan.ts";
import type { ThreadSettings } from "./executor_thread.ts";
import { collection, findGpu, readbackVerdict, runtime, startThread } from "./runtime/mod.ts";
import { type FromThread, RemoteExecutor, type ToThread } from "./thread/mod.ts";

export type DeviceChoice = "auto" | "webgpu" | "cpu";

export interface ChooseOptions {
  readonly slots: number;
  readonly frame: number;
  readonly device?: DeviceChoice;
  /** Threads of the CPU executor, 1 where not given. */
  readonly cpuThreads?: number;
  /** Also compares a software adapter with the CPU executor on this model, which takes a moment. */
  readonly measure?: boolean;
  readonly say?: (line: string) => void;
  readonly clock?: Clock;
}

/** A measurement stops after the first step that ends later than this. */
const MEASURE_MS = 60;
const MEASURE_ROWS_MAX = 8;

export async function chooseExecutor(plan: Plan, options: ChooseOptions): Promise<Executor> {
  const { device = "auto", say = () => {} } = options;
  if (device === "cpu") return openCpu(plan, options);
  try {
    const executor = await openWebGpu(plan, options);
    if (executor.info.software && options.measure) {
      say(await compareWithCpu(executor, options.clock ?? realClock));
    }
    return executor;
  } catch (error) {
    if (device === "webgpu") throw error;
    const reason = error instanceof Error ? error.message : String(error);
    say(`${plan.name} runs on the CPU executor: ${reason}`);
    return openCpu(plan, options);
  }
}

/** Where a layer is defined by the caller, other threads do not know it. */
function definedHere(plan: Plan): PlanNode | undefined {
  return plan.nodes.find(({ op }) => op.op === "pointwise" && !(op.layer in LAYERS));
}

function openCpu(plan: Plan, { slots, frame, cpuThreads = 1 }: ChooseOptions): CpuExecutor {
  const threads = definedHere(plan) === undefined ? cpuThreads : 1;
  const program = new URL("./cpu_thread.ts", import.meta.url);
  const helpers = Array.from(
    { length: threads - 1 },
    () => startThread<HelperOpening, never>(program),
  );
  return new CpuExecutor(plan, { slots, frame, helpers });
}

/**
 * The same in a thread of its own, so that the caller's event loop never waits for a step. A layer that
 * the caller defined is code of this thread, so a plan with one stays here.
 */
export function chooseInThread(plan: Plan, options: ChooseOptions): Promise<Executor> {
  const { slots, frame, device = "auto", cpuThreads = 1, measure = false, say } = options;
  const own = definedHere(plan);
  if (own !== undefined) {
    say?.(
      `${plan.name} runs in the server's own thread, where the layer of "${own.name}" is defined`,
    );
    return chooseExecutor(plan, options);
  }
  const thread = startThread<ToThread, FromThread>(
    new URL("./executor_thread.ts", import.meta.url),
  );
  const settings: ThreadSettings = { slots, frame, device, cpuThreads, measure };
  return RemoteExecutor.open(plan, thread, {
    slots,
    frame,
    settings,
    ...(say === undefined ? {} : { say }),
  });
}

async function openWebGpu(plan: Plan, { slots, frame }: ChooseOptions): Promise<GpuExecutor> {
  const search = await findGpu();
  if (search.gpu === null) {
    throw new GanglionError("device_unavailable", `There is no WebGPU: ${search.reason}`);
  }
  const open = await openDevice(search.gpu);
  const { name, version } = runtime;
  const readback = await readbackVerdict({ runtime: name, version, adapter: open.name });
  const numerics = `${open.name}/${name} ${version}`;
  const collect = collection();
  const executor = await GpuExecutor.create(plan, open, {
    slots,
    frame,
    readback,
    numerics,
    tune: true,
    ...(collect && { collect }),
  });
  const verdict = await goldenFrame(executor, executor.waysToRun());
  if (verdict === "wrong") {
    await executor.close();
    throw new GanglionError(
      "device_unavailable",
      `The adapter "${open.name}" computes this model wrongly (its golden frame disagrees)`,
    );
  }
  if (verdict === "exact") executor.declareNumerics("exact-1");
  return executor;
}

async function compareWithCpu(gpu: Executor, clock: Clock): Promise<string> {
  const cpu = new CpuExecutor(gpu.plan, gpu);
  const onGpu = await stepMs(gpu, clock);
  const onCpu = await stepMs(cpu, clock);
  await cpu.close();
  return softwareLine(gpu.plan.name, gpu.info.device, onGpu, onCpu);
}

/** What is said of a software adapter; milliseconds a step on it and on the CPU executor. */
export function softwareLine(name: string, device: string, onGpu: number, onCpu: number): string {
  const advice = onCpu < onGpu ? "; --device cpu is faster for this model" : "";
  return `${name} runs on WebGPU, a software adapter (${device}): ${onGpu.toFixed(1)} ms a step; ` +
    `the CPU executor takes ${onCpu.toFixed(1)} ms${advice}`;
}

/** Milliseconds of a step of at most 8 full frames with every tenth input on. The first warms up. */
async function stepMs(executor: Executor, clock: Clock): Promise<number> {
  const { plan, slots, frame } = executor;
  const input = new Float32Array(frame * plan.sampleSize);
  for (let i = 0; i < input.length; i += 10) input[i] = 1;
  const batch = Array.from(
    { length: Math.min(slots, MEASURE_ROWS_MAX) },
    (_, slot) => ({ slot, steps: frame, fresh: true, input }),
  );
  await executor.step(batch);
  const begin = clock.now();
  let steps = 0;
  do {
    await executor.step(batch);
    steps++;
  } while (clock.now() - begin < MEASURE_MS);
  return (clock.now() - begin) / steps;
}
