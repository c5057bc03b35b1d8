/**
 * The WebGPU executor: a plan's weights and the state of all slots resident on one device. A step is
 * one upload, one encoder, one submit and one readback (more only when a batch exceeds the scratch
 * memory). A row's new state becomes its state when the stamps of the whole batch were checked.
 */
import { assert } from "../base/assert.ts";
import { type Clock, realClock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import type { Plan } from "../model/plan.ts";
import type { OpenDevice } from "./device.ts";
import type {
  BatchRow,
  Executor,
  ExecutorInfo,
  RowResult,
  RowState,
  StepPhases,
} from "./executor.ts";
import { candidates, type KernelChoice } from "./choice.ts";
import { Collector } from "./collector.ts";
import { COPIES, type Layout, layOut, type WorkingMemory } from "./layout.ts";
import { valuesIn } from "./outputs.ts";
import { packParameters } from "./parameters.ts";
import type { Program } from "./program.ts";
import { type Loaded, ProgramSet } from "./programs.ts";
import type { ReadbackMode } from "./readback.ts";
import { StateAccess } from "./state_access.ts";
import { choicesOf, DENSE, pick, tune, type Tuning, untuned } from "./tuner.ts";
import { shareOn, standIn } from "./density.ts";
import { Upload } from "./upload.ts";

export interface EngineOptions {
  readonly slots: number;
  readonly frame: number;
  readonly readback: ReadbackMode;
  /** Numerics tag until the model was verified against the twin. */
  readonly numerics: string;
  readonly memory?: WorkingMemory;
  /** What is forced of the kernels, for tests and benches; the rest is as the device suits. */
  readonly kernels?: Partial<KernelChoice>;
  /** Measures what suits this device and model, in about half a second; never together with `kernels`. */
  readonly tune?: boolean;
  /** Forces a full garbage collection; left out where what steps leave is freed without. */
  readonly collect?: () => void;
  readonly clock?: Clock;
}

export class GpuExecutor implements Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  readonly lost: Promise<{ reason: string }>;
  readonly #device: GPUDevice;
  readonly #layout: Layout;
  readonly #programs: ProgramSet;
  readonly #choices: readonly KernelChoice[];
  #tuning: Tuning;
  readonly #upload: Upload;
  readonly #states: StateAccess;
  readonly #collector: Collector | null;
  /** By slot: which copy of its row is committed. */
  readonly #copies: Uint8Array;
  #info: ExecutorInfo;
  #generation = 0;
  #fault: string | null = null;
  #phases: StepPhases = { uploadMs: 0, computeMs: 0, readbackMs: 0 };

  private constructor(plan: Plan, open: OpenDevice, options: EngineOptions) {
    const { device, name, software } = open;
    this.plan = plan;
    this.slots = options.slots;
    this.frame = options.frame;
    this.#device = device;
    this.#layout = layOut(plan, options);
    this.#copies = new Uint8Array(options.slots);
    this.#programs = new ProgramSet(device, this.#layout, options.readback);
    this.#choices = this.#possible(open, options.kernels);
    this.#tuning = untuned(this.#choices[0]!);
    const { state, rings } = this.#programs.resident;
    this.#upload = new Upload(this.#layout);
    this.#states = new StateAccess({
      device,
      layout: this.#layout,
      state,
      rings,
      copies: this.#copies,
      readback: options.readback,
      onSubmit: () => this.#collector?.submitted(),
      throwFault: () => this.#throwFault(),
    });
    const { collect, clock = realClock } = options;
    this.#collector = collect === undefined ? null : new Collector(collect, clock);
    this.#info = {
      kind: "webgpu",
      device: name,
      software,
      numerics: options.numerics,
      stateBytes: state.size + (this.#layout.ringWords > 0 ? rings.size : 0),
    };
    this.lost = device.lost.then(({ message }) => ({ reason: message }));
    device.addEventListener?.("uncapturederror", (event) => {
      this.#fault = (event as GPUUncapturedErrorEvent).error.message;
    });
  }

  /** Allocates, compiles, and checks sizes against the device; throws before any slot is served. */
  static async create(plan: Plan, open: OpenDevice, options: EngineOptions): Promise<GpuExecutor> {
    checkFits(plan, open, options);
    const executor = new GpuExecutor(plan, open, options);
    const { clock = realClock } = options;
    const begin = clock.now();
    await executor.#programs.load(executor.#choices[0]!);
    if (options.tune) await executor.#tune(open, clock, clock.now() - begin);
    return executor;
  }

  get info(): ExecutorInfo {
    return this.#info;
  }

  get phases(): StepPhases {
    return this.#phases;
  }

  /** Called once this model's kernels were seen to agree with the twin on this device. */
  declareNumerics(numerics: string): void {
    this.#info = { ...this.#info, numerics };
  }

  /** The kernels in use: one choice, or several where what runs depends on the batch. */
  get kernels(): readonly KernelChoice[] {
    return choicesOf(this.#tuning);
  }

  /** Each sets one way to run whatever the batch; the last lets the batch decide again. */
  waysToRun(): (() => void)[] {
    const tuning = this.#tuning;
    const ways = this.kernels.map((choice) => () => {
      this.#tuning = untuned(choice);
    });
    const all = () => {
      this.#tuning = tuning;
    };
    return ways.length === 1 ? ways : [...ways, all];
  }

  async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    this.#collector?.begin();
    try {
      const names = new Set(batch.flatMap((row) => row.record ?? []));
      const record = [...names].sort();
      const results: RowResult[] = [];
      this.#phases = { uploadMs: 0, computeMs: 0, readbackMs: 0 };
      for (let at = 0; at < batch.length; at += this.#layout.rowsMax) {
        const rows = batch.slice(at, at + this.#layout.rowsMax);
        results.push(...await this.#run(rows, record));
      }
      for (const { slot } of batch) this.#copies[slot] = (this.#copies[slot]! + 1) % COPIES;
      return results;
    } finally {
      this.#collector?.end();
    }
  }

  readStates(slots: readonly number[]): Promise<RowState[]> {
    return this.#states.read(slots);
  }

  // deno-lint-ignore require-await -- refusals reject, as the interface says
  async writeState(slot: number, state: RowState): Promise<void> {
    this.#states.write(slot, state);
  }

  async close(): Promise<void> {
    this.#collector?.close();
    this.#states.destroy();
    this.#programs.destroy();
    this.#device.destroy();
    await this.#device.lost;
  }

  async #run(
    rows: readonly BatchRow[],
    record: readonly string[],
    forced?: KernelChoice,
  ): Promise<RowResult[]> {
    const begin = realClock.now();
    const generation = this.#generation = (this.#generation + 1) >>> 0;
    const words = this.#upload.pack(rows, this.#copies, generation);
    const isDense = () => shareOn(this.#layout, this.#upload.words, rows.length) >= DENSE;
    const choice = forced ?? pick(this.#tuning, rows.length, isDense);
    const loaded = await this.#programs.load(choice, record);
    const { program, readback, output } = loaded;
    this.#device.queue.writeBuffer(this.#programs.resident.upload, 0, this.#upload.words, 0, words);
    const uploaded = realClock.now();
    const encoder = this.#device.createCommandEncoder();
    this.#encode(encoder, loaded, rows);
    const bytes = rows.length * program.outputWords * 4;
    encoder.copyBufferToBuffer(output, 0, readback.next(), 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    this.#collector?.submitted();
    const read = await readback.read(bytes);
    this.#throwFault();
    const results = rows.map((row, index) => {
      const at = index * program.outputWords;
      const stamped = read[at] === generation && read[at + 1] === row.steps &&
        read[at + 2] === row.slot;
      if (!stamped) {
        throw new GanglionError("device_lost", "The device returned data of another step");
      }
      return resultOf(program, row, read, at);
    });
    const { uploadMs, computeMs, readbackMs } = this.#phases;
    this.#phases = {
      uploadMs: uploadMs + uploaded - begin,
      computeMs: computeMs + readback.mappedAtMs - uploaded,
      readbackMs: readbackMs + realClock.now() - readback.mappedAtMs,
    };
    return results;
  }

  /** Throws what the device has reported, once. */
  #throwFault(): void {
    if (this.#fault === null) return;
    const fault = this.#fault;
    this.#fault = null;
    throw new GanglionError("device_lost", `The device reported an error: ${fault}`);
  }

  /** The choices that this plan and device have, the best guess first; what is forced stands. */
  #possible(open: OpenDevice, forced: Partial<KernelChoice> = {}): KernelChoice[] {
    const all = candidates(open).map((choice) => ({ ...choice, ...forced }));
    const possible = all.filter((choice) =>
      choice.path === "layers" || this.#programs.fuses(choice)
    );
    if (possible.length > 0) return possible;
    if (forced.path === "fused") {
      throw new GanglionError("model_unsupported", "This plan has no fused kernel");
    }
    return [{ ...all[0]!, path: "layers" }];
  }

  async #tune({ name }: OpenDevice, clock: Clock, compiledInMs: number): Promise<void> {
    const { plan, slots, frame } = this;
    this.#tuning = await tune(`${name}\n${plan.digest}\n${slots}\n${frame}`, {
      clock,
      compiledInMs,
      slots: Math.min(slots, this.#layout.rowsMax),
      candidates: this.#choices,
      compile: async (choice) => void await this.#programs.load(choice),
      run: async (choice, rows, density) => {
        await this.#run(standIn(plan, frame, rows, density), [], choice);
      },
    });
    this.#programs.keepOnly(this.kernels);
    await Promise.all(this.kernels.map((choice) => this.#programs.load(choice)));
  }

  #encode(encoder: GPUCommandEncoder, { program, group }: Loaded, rows: readonly BatchRow[]): void {
    const { passes } = program;
    const steps = rows.reduce((most, row) => Math.max(most, row.steps), 0);
    const pass = encoder.beginComputePass();
    for (let begin = 0; begin < steps; begin += passes.tile) {
      const end = Math.min(begin + passes.tile, steps);
      const tileOffset = passes.tileOffset(begin / passes.tile);
      const run = (dispatches: Program["emits"], offset: number, count: number) => {
        pass.setBindGroup(0, group, [offset]);
        for (const { kernel, pipeline } of dispatches) {
          pass.setPipeline(pipeline);
          pass.dispatchWorkgroups(kernel.groups, kernel.perStep ? count : 1, rows.length);
        }
      };
      for (const { block, dispatches } of program.blocks) {
        if (block.kind === "feedforward") run(dispatches, tileOffset, end - begin);
        else for (let t = begin; t < end; t++) run(dispatches, passes.stepOffset(t), 1);
      }
      run(program.emits, tileOffset, end - begin);
    }
    pass.end();
  }
}

/** A row's result, of what was read from word `at` on. */
function resultOf(
  { output, probes }: Program,
  { steps, record }: BatchRow,
  read: Uint32Array<ArrayBuffer>,
  at: number,
): RowResult {
  const recorded = probes.filter(({ name }) => record?.includes(name));
  return {
    output: valuesIn(read, at, output, steps),
    probes: Object.fromEntries(
      recorded.map(({ name, array }) => [name, valuesIn(read, at, array, steps)]),
    ),
  };
}

/** Refuses sizes that the device cannot hold, with the number that would fit. */
function checkFits(plan: Plan, { limits }: OpenDevice, options: EngineOptions): void {
  const { slots } = options;
  const layout = layOut(plan, options);
  const rowBytes = 4 * Math.max(COPIES * layout.stateWords, layout.ringWords, 1);
  const fitting = Math.floor(limits.storageBytesMax / rowBytes);
  if (fitting < slots) {
    throw new GanglionError(
      "device_unavailable",
      `The state of ${slots} slots does not fit on this device: at most ${fitting} slots do`,
      { slots_max: fitting },
    );
  }
  const { weights, coefs } = packParameters(plan);
  const parameterBytes = Math.max(weights.byteLength, coefs.byteLength);
  if (parameterBytes > limits.storageBytesMax) {
    throw new GanglionError(
      "device_unavailable",
      `The model's weights take ${parameterBytes} bytes, this device binds at most ` +
        `${limits.storageBytesMax}`,
    );
  }
  assert(layout.rowsMax >= 1, "one row always fits");
}
