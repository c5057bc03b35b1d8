/**
 * The WebGPU executor: a plan's weights and the state of all slots resident on one device. A step is
 * one upload, one encoder, one submit and one readback (more only when a batch exceeds the scratch
 * memory). A row's new state becomes its state when the stamps of the whole batch were checked.
 */
import { assert } from "../base/assert.ts";
import { realClock } from "../base/clock.ts";
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
import { type FusedKernel, writeFused } from "./fused.ts";
import { KernelWriter, OUTPUT_BEGIN } from "./kernels.ts";
import { COPIES, type Layout, layOut, type WorkingMemory } from "./layout.ts";
import { packParameters } from "./parameters.ts";
import { buildFused, buildProgram, PassTable, PipelineCache, type Program } from "./program.ts";
import { Readback, type ReadbackMode } from "./readback.ts";
import { StateAccess } from "./state_access.ts";
import { Upload, uploadWords } from "./upload.ts";

export interface EngineOptions {
  readonly slots: number;
  readonly frame: number;
  readonly readback: ReadbackMode;
  /** Numerics tag until the model was verified against the twin. */
  readonly numerics: string;
  readonly memory?: WorkingMemory;
  /** `fused` and `layers` insist, for tests and benches; by default fused where the plan allows it. */
  readonly kernels?: "auto" | "fused" | "layers";
  /** Invocations a workgroup of the fused kernel; by default 8 on a software adapter, else 64. */
  readonly lanes?: number;
}

/** Programs with recorded values kept at most; the oldest is dropped. */
const PROGRAMS_MAX = 8;

/** A program with the buffers of its step in flight. */
interface Loaded {
  readonly program: Program;
  readonly output: GPUBuffer;
  readonly group: GPUBindGroup;
  readonly readback: Readback;
  readonly passes: GPUBuffer;
}

interface Resident {
  readonly weights: GPUBuffer;
  readonly coefs: GPUBuffer;
  readonly state: GPUBuffer;
  readonly rings: GPUBuffer;
  readonly upload: GPUBuffer;
  readonly scratch: GPUBuffer;
}

export class GpuExecutor implements Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  readonly lost: Promise<{ reason: string }>;
  readonly #device: GPUDevice;
  readonly #layout: Layout;
  readonly #bindings: GPUBindGroupLayout;
  readonly #buffers: Resident;
  readonly #writer: KernelWriter;
  readonly #cache: PipelineCache;
  readonly #fused: FusedKernel | null;
  readonly #upload: Upload;
  readonly #state: StateAccess;
  readonly #mode: ReadbackMode;
  readonly #programs = new Map<string, Loaded>();
  /** By slot: which copy of its row is committed. */
  readonly #copies: Uint8Array;
  #info: ExecutorInfo;
  #generation = 0;
  #fault: string | null = null;
  #phases: StepPhases = { uploadMs: 0, computeMs: 0, readbackMs: 0 };

  private constructor(plan: Plan, { device, name, software }: OpenDevice, options: EngineOptions) {
    this.plan = plan;
    this.slots = options.slots;
    this.frame = options.frame;
    this.#device = device;
    this.#mode = options.readback;
    this.#layout = layOut(plan, options);
    this.#copies = new Uint8Array(options.slots);
    const parameters = packParameters(plan);
    this.#bindings = bindGroupLayout(device);
    const layout = device.createPipelineLayout({ bindGroupLayouts: [this.#bindings] });
    this.#cache = new PipelineCache(device, layout);
    this.#writer = new KernelWriter(this.#layout, parameters);
    this.#fused = options.kernels === "layers"
      ? null
      : writeFused(this.#layout, parameters, options.lanes ?? (software ? 8 : 64));
    if (options.kernels === "fused" && this.#fused === null) {
      throw new GanglionError("model_unsupported", "This plan has no fused kernel");
    }
    this.#buffers = createBuffers(device, this.#layout, parameters.weights, parameters.coefs);
    this.#upload = new Upload(this.#layout);
    this.#state = new StateAccess(device, this.#layout, this.#buffers.state, this.#buffers.rings);
    this.#info = {
      kind: "webgpu",
      device: name,
      software,
      numerics: options.numerics,
      stateBytes: this.#buffers.state.size +
        (this.#layout.ringWords > 0 ? this.#buffers.rings.size : 0),
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
    await executor.#load([]);
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

  async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const names = new Set(batch.flatMap((row) => row.record ?? []));
    const loaded = await this.#load([...names].sort());
    const results: RowResult[] = [];
    this.#phases = { uploadMs: 0, computeMs: 0, readbackMs: 0 };
    for (let at = 0; at < batch.length; at += this.#layout.rowsMax) {
      const rows = batch.slice(at, at + this.#layout.rowsMax);
      results.push(...await this.#run(loaded, rows));
    }
    for (const { slot } of batch) this.#copies[slot] = (this.#copies[slot]! + 1) % COPIES;
    return results;
  }

  readState(slot: number): Promise<RowState> {
    return this.#state.read(slot, this.#copies[slot]!);
  }

  // deno-lint-ignore require-await -- refusals reject, as the interface says
  async writeState(slot: number, state: RowState): Promise<void> {
    this.#state.write(slot, this.#copies[slot]!, state);
  }

  async close(): Promise<void> {
    for (const { readback, output, passes } of this.#programs.values()) {
      readback.destroy();
      output.destroy();
      passes.destroy();
    }
    this.#programs.clear();
    for (const buffer of Object.values(this.#buffers) as GPUBuffer[]) buffer.destroy();
    this.#device.destroy();
    await this.#device.lost;
  }

  async #run(loaded: Loaded, rows: readonly BatchRow[]): Promise<RowResult[]> {
    const { program, readback, output } = loaded;
    const begin = realClock.now();
    const generation = this.#generation = (this.#generation + 1) >>> 0;
    const words = this.#upload.pack(rows, this.#copies, generation);
    this.#device.queue.writeBuffer(this.#buffers.upload, 0, this.#upload.words, 0, words);
    const uploaded = realClock.now();
    const encoder = this.#device.createCommandEncoder();
    this.#encode(encoder, loaded, rows);
    const bytes = rows.length * program.outputWords * 4;
    encoder.copyBufferToBuffer(output, 0, readback.next(), 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    const read = await readback.read(bytes);
    if (this.#fault !== null) {
      const fault = this.#fault;
      this.#fault = null;
      throw new GanglionError("device_lost", `The device reported an error: ${fault}`);
    }
    const results = rows.map((row, index) => {
      const at = index * program.outputWords;
      const stamped = read[at] === generation && read[at + 1] === row.steps &&
        read[at + 2] === row.slot;
      if (!stamped) {
        throw new GanglionError("device_lost", "The device returned data of another step");
      }
      return this.#result(program, row, read, at);
    });
    const { uploadMs, computeMs, readbackMs } = this.#phases;
    this.#phases = {
      uploadMs: uploadMs + uploaded - begin,
      computeMs: computeMs + readback.mappedAtMs - uploaded,
      readbackMs: readbackMs + realClock.now() - readback.mappedAtMs,
    };
    return results;
  }

  #result(program: Program, row: BatchRow, read: Uint32Array, at: number): RowResult {
    const values = new Float32Array(read.buffer);
    const { outputSize } = this.plan;
    const begin = at + OUTPUT_BEGIN;
    const probes: Record<string, Float32Array> = {};
    for (const { name, offset, size } of program.probes) {
      if (row.record?.includes(name)) {
        probes[name] = values.slice(at + offset, at + offset + row.steps * size);
      }
    }
    return { output: values.slice(begin, begin + row.steps * outputSize), probes };
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

  async #load(record: readonly string[]): Promise<Loaded> {
    const key = record.join("\n");
    const held = this.#programs.get(key);
    if (held !== undefined) return held;
    const device = this.#device;
    const program = record.length === 0 && this.#fused !== null
      ? await buildFused(this.#layout, this.#fused, this.#cache)
      : await buildProgram(this.#layout, this.#writer, this.#cache, record);
    const bytes = program.outputWords * 4 * this.#layout.rowsMax;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const output = device.createBuffer({ label: "output", size: bytes, usage });
    const passes = device.createBuffer({
      label: "passes",
      size: program.passes.words.byteLength,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    device.queue.writeBuffer(passes, 0, program.passes.words.slice());
    const { weights, coefs, state, rings, upload, scratch } = this.#buffers;
    const group = device.createBindGroup({
      layout: this.#bindings,
      entries: [
        ...[weights, coefs, state, rings, upload, scratch, output].map((buffer, binding) => ({
          binding,
          resource: { buffer },
        })),
        { binding: 7, resource: { buffer: passes, size: PassTable.bindingBytes } },
      ],
    });
    const readback = await Readback.create({ device, mode: this.#mode, bytes });
    const loaded: Loaded = { program, output, group, readback, passes };
    this.#programs.set(key, loaded);
    this.#dropOldPrograms();
    return loaded;
  }

  /** Keeps the program that records nothing and the newest few of the others. */
  #dropOldPrograms(): void {
    const recording = [...this.#programs.keys()].filter((key) => key !== "");
    for (const key of recording.slice(0, Math.max(0, recording.length - PROGRAMS_MAX))) {
      const { readback, output, passes } = this.#programs.get(key)!;
      this.#programs.delete(key);
      readback.destroy();
      output.destroy();
      passes.destroy();
    }
  }
}

function bindGroupLayout(device: GPUDevice): GPUBindGroupLayout {
  const visibility = GPUShaderStage.COMPUTE;
  const types: GPUBufferBindingType[] = [
    "read-only-storage", // weights
    "read-only-storage", // coefs
    "storage", // state
    "storage", // rings
    "read-only-storage", // upload
    "storage", // scratch
    "storage", // output
  ];
  return device.createBindGroupLayout({
    entries: [
      ...types.map((type, binding) => ({ binding, visibility, buffer: { type } })),
      { binding: 7, visibility, buffer: { type: "uniform", hasDynamicOffset: true } },
    ],
  });
}

function createBuffers(
  device: GPUDevice,
  layout: Layout,
  weights: Float32Array,
  coefs: Float32Array,
): Resident {
  const create = (label: string, words: number, usage = 0) =>
    device.createBuffer({
      label,
      size: Math.max(16, words * 4),
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | usage,
    });
  const filled = (label: string, values: Float32Array) => {
    const buffer = create(label, values.length);
    device.queue.writeBuffer(buffer, 0, values.slice());
    return buffer;
  };
  const { slots, stateWords, ringWords, rowsMax, scratchWords } = layout;
  return {
    weights: filled("weights", weights),
    coefs: filled("coefs", coefs),
    state: create("state", slots * COPIES * stateWords, GPUBufferUsage.COPY_SRC),
    rings: create("rings", slots * ringWords, GPUBufferUsage.COPY_SRC),
    upload: create("upload", uploadWords(layout)),
    scratch: create("scratch", rowsMax * scratchWords),
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
