/**
 * The programs of one executor: compiled for a choice of kernels and a set of recorded values, each with
 * what a step in flight needs. Weights lie in a buffer, and in a texture too once a program reads them
 * there.
 */
import { GanglionError } from "../base/errors.ts";
import { choiceName, type KernelChoice } from "./choice.ts";
import { type FusedKernel, writeFused } from "./fused.ts";
import { KernelWriter } from "./kernels.ts";
import { COPIES, type Layout } from "./layout.ts";
import { packParameters, type Parameters } from "./parameters.ts";
import { buildFused, buildProgram, PassTable, PipelineCache, type Program } from "./program.ts";
import { Readback, type ReadbackMode } from "./readback.ts";
import { uploadWords } from "./upload.ts";

/** Programs with recorded values kept at most; the oldest is dropped. */
const RECORDING_MAX = 8;

/** A program with what its step in flight needs. */
export interface Loaded {
  readonly program: Program;
  readonly group: GPUBindGroup;
  readonly output: GPUBuffer;
  readonly readback: Readback;
  readonly passes: GPUBuffer;
}

/** Buffers that hold the slots and a step's work. */
export interface Resident {
  readonly state: GPUBuffer;
  readonly rings: GPUBuffer;
  readonly upload: GPUBuffer;
  readonly scratch: GPUBuffer;
}

interface WeightTexture {
  readonly texture: GPUTexture;
  readonly filled: boolean;
}

export class ProgramSet {
  readonly resident: Resident;
  readonly #device: GPUDevice;
  readonly #layout: Layout;
  readonly #parameters: Parameters;
  readonly #mode: ReadbackMode;
  readonly #bindings: GPUBindGroupLayout;
  readonly #cache: PipelineCache;
  readonly #weights: GPUBuffer;
  readonly #coefs: GPUBuffer;
  #texels: WeightTexture;
  readonly #loaded = new Map<string, Loaded>();

  constructor(device: GPUDevice, layout: Layout, mode: ReadbackMode) {
    this.#device = device;
    this.#layout = layout;
    this.#mode = mode;
    this.#parameters = packParameters(layout.plan);
    this.#bindings = bindGroupLayout(device);
    const pipelines = device.createPipelineLayout({ bindGroupLayouts: [this.#bindings] });
    this.#cache = new PipelineCache(device, pipelines);
    const { weights, coefs } = this.#parameters;
    this.#weights = this.#storage("weights", weights.length);
    device.queue.writeBuffer(this.#weights, 0, weights.slice());
    this.#coefs = this.#storage("coefs", coefs.length);
    device.queue.writeBuffer(this.#coefs, 0, coefs.slice());
    this.#texels = { texture: weightTexture(device, 1, 1), filled: false };
    const { slots, stateWords, ringWords, rowsMax, scratchWords } = layout;
    this.resident = {
      state: this.#storage("state", slots * COPIES * stateWords, GPUBufferUsage.COPY_SRC),
      rings: this.#storage("rings", slots * ringWords, GPUBufferUsage.COPY_SRC),
      upload: this.#storage("upload", uploadWords(layout)),
      scratch: this.#storage("scratch", rowsMax * scratchWords),
    };
  }

  /** Whether this plan has a fused kernel under this choice. */
  fuses(choice: KernelChoice): boolean {
    return this.#fused(choice) !== null;
  }

  /**
   * The program that runs the choice and returns the recorded values; only kernels of single layers can
   * record. Compiled when it is asked for first. Throws `model_unsupported` where the plan has no such
   * kernel, or the device does not take it.
   */
  async load(choice: KernelChoice, record: readonly string[] = []): Promise<Loaded> {
    const layers = choice.path === "layers" || record.length > 0;
    const key = `${choiceName(layers ? { ...choice, path: "layers" } : choice)}\n${
      record.join("\n")
    }`;
    const held = this.#loaded.get(key);
    if (held !== undefined) return held;
    const loaded = await this.#build(choice, layers, record);
    this.#loaded.set(key, loaded);
    if (record.length > 0) this.#dropOldRecordings();
    return loaded;
  }

  /** Frees the programs that record nothing and are of another choice. */
  keepOnly(choices: readonly KernelChoice[]): void {
    const kept = new Set(choices.map((choice) => `${choiceName(choice)}\n`));
    for (const key of this.#loaded.keys()) {
      if (key.endsWith("\n") && !kept.has(key)) this.#drop(key);
    }
  }

  destroy(): void {
    for (const key of this.#loaded.keys()) this.#drop(key);
    for (const buffer of Object.values(this.resident) as GPUBuffer[]) buffer.destroy();
    this.#weights.destroy();
    this.#coefs.destroy();
    this.#texels.texture.destroy();
  }

  #fused(choice: KernelChoice): FusedKernel | null {
    return writeFused(this.#layout, this.#parameters, choice);
  }

  async #build(choice: KernelChoice, layers: boolean, record: readonly string[]): Promise<Loaded> {
    const device = this.#device;
    if (choice.weights === "texture") this.#fillTexture();
    const program = layers
      ? await buildProgram(
        this.#layout,
        new KernelWriter(this.#layout, this.#parameters, choice.weights),
        this.#cache,
        record,
      )
      : await this.#buildFused(choice);
    const bytes = program.outputWords * 4 * this.#layout.rowsMax;
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
    const output = device.createBuffer({ label: "output", size: bytes, usage });
    const passes = device.createBuffer({
      label: "passes",
      size: program.passes.words.byteLength,
      usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
    });
    device.queue.writeBuffer(passes, 0, program.passes.words.slice());
    const { state, rings, upload, scratch } = this.resident;
    const group = device.createBindGroup({
      layout: this.#bindings,
      entries: [
        ...[this.#weights, this.#coefs, state, rings, upload, scratch, output].map(
          (buffer, binding) => ({ binding, resource: { buffer } }),
        ),
        { binding: 7, resource: { buffer: passes, size: PassTable.bindingBytes } },
        { binding: 8, resource: this.#texels.texture.createView() },
      ],
    });
    const readback = await Readback.create({ device, mode: this.#mode, bytes });
    return { program, output, group, readback, passes };
  }

  async #buildFused(choice: KernelChoice): Promise<Program> {
    const fused = this.#fused(choice);
    if (fused === null) {
      throw new GanglionError("model_unsupported", "This plan has no fused kernel");
    }
    return await buildFused(this.#layout, fused, this.#cache);
  }

  #storage(label: string, words: number, usage = 0): GPUBuffer {
    return this.#device.createBuffer({
      label,
      size: Math.max(16, words * 4),
      usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | usage,
    });
  }

  /** Programs built before keep the texel that they do not read. */
  #fillTexture(): void {
    if (this.#texels.filled) return;
    const { weights, weightShift } = this.#parameters;
    const width = 2 ** weightShift;
    const height = weights.length / 4 / width;
    if (height > this.#device.limits.maxTextureDimension2D) {
      throw new GanglionError("model_unsupported", "The weights do not fit into a texture");
    }
    const texture = weightTexture(this.#device, width, height);
    this.#device.queue.writeTexture(
      { texture },
      weights.slice(),
      { bytesPerRow: width * 16 },
      [width, height],
    );
    this.#texels = { texture, filled: true };
  }

  #drop(key: string): void {
    const { readback, output, passes } = this.#loaded.get(key)!;
    this.#loaded.delete(key);
    readback.destroy();
    output.destroy();
    passes.destroy();
  }

  /** Keeps the newest few of the programs that record. */
  #dropOldRecordings(): void {
    const recording = [...this.#loaded.keys()].filter((key) => !key.endsWith("\n"));
    for (const key of recording.slice(0, Math.max(0, recording.length - RECORDING_MAX))) {
      this.#drop(key);
    }
  }
}

function weightTexture(device: GPUDevice, width: number, height: number): GPUTexture {
  return device.createTexture({
    label: "weights",
    size: [width, height],
    format: "rgba32float",
    usage: GPUTextureUsage.STORAGE_BINDING | GPUTextureUsage.COPY_DST,
  });
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
      {
        binding: 8,
        visibility,
        storageTexture: { access: "read-only", format: "rgba32float" },
      },
    ],
  });
}
