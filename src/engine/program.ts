/**
 * A plan compiled for one device and one set of recorded values: pipelines, the order in which they are
 * dispatched, and the buffers of one step in flight. Built before the first frame, never on a request
 * without `record`.
 */
import { type PlanBlock, type Probe, probesOf } from "../model/plan.ts";
import { type Kernel, OUTPUT_BEGIN } from "./kernel_text.ts";
import type { FieldProbe, KernelWriter } from "./kernels.ts";
import type { FusedKernel } from "./fused.ts";
import type { Layout } from "./layout.ts";
import { endOf, fieldArray, leavingArray, type OutputArray } from "./outputs.ts";
import { shaderError } from "./shader_errors.ts";

/** Bytes between two passes in the uniform buffer: WebGPU's default alignment of dynamic offsets. */
export const PASS_BYTES = 256;
const PASS_WORDS = 5;

export interface Dispatch {
  readonly kernel: Kernel;
  readonly pipeline: GPUComputePipeline;
}

interface RecordedProbe extends Probe {
  readonly array: OutputArray;
}

export interface Program {
  /** Words of output a row: header, outputs, recorded values. */
  readonly outputWords: number;
  readonly output: OutputArray;
  readonly probes: readonly RecordedProbe[];
  /** By block: the dispatches of its nodes. */
  readonly blocks: readonly { block: PlanBlock; dispatches: readonly Dispatch[] }[];
  /** Copies into the output, once a tile. */
  readonly emits: readonly Dispatch[];
  /** The uniform buffer's contents. */
  readonly passes: PassTable;
}

/** The passes of a frame: every tile, and every single step within it. */
export class PassTable {
  readonly words: Uint32Array;
  readonly #frame: number;
  readonly #tile: number;

  constructor(frame: number, tile: number, outputWords: number) {
    this.#frame = frame;
    this.#tile = tile;
    const tiles = Math.ceil(frame / tile);
    this.words = new Uint32Array((tiles + frame) * (PASS_BYTES / 4));
    const put = (index: number, begin: number, end: number, tile: number) =>
      this.words.set([0, begin, end, tile, outputWords], index * (PASS_BYTES / 4));
    for (let k = 0; k < tiles; k++) {
      const begin = k * tile;
      const end = Math.min(begin + tile, frame);
      put(k, begin, end, begin);
      for (let t = begin; t < end; t++) put(tiles + t, t, t + 1, begin);
    }
  }

  get tile(): number {
    return this.#tile;
  }

  /** Dynamic offset of the pass over a whole tile. */
  tileOffset(k: number): number {
    return k * PASS_BYTES;
  }

  /** Dynamic offset of the pass over the one step `t`. */
  stepOffset(t: number): number {
    return (Math.ceil(this.#frame / this.#tile) + t) * PASS_BYTES;
  }

  static readonly bindingBytes: number = PASS_WORDS * 4;
}

/** Pipelines by WGSL text: programs share all that record the same. */
export class PipelineCache {
  readonly #device: GPUDevice;
  readonly #layout: GPUPipelineLayout;
  readonly #pipelines = new Map<string, Promise<GPUComputePipeline>>();

  constructor(device: GPUDevice, layout: GPUPipelineLayout) {
    this.#device = device;
    this.#layout = layout;
  }

  get(kernel: Kernel): Promise<GPUComputePipeline> {
    let pipeline = this.#pipelines.get(kernel.code);
    if (pipeline === undefined) {
      pipeline = this.#build(kernel);
      this.#pipelines.set(kernel.code, pipeline);
    }
    return pipeline;
  }

  async #build(kernel: Kernel): Promise<GPUComputePipeline> {
    const { label, code, layers } = kernel;
    try {
      // bun-webgpu 0.1.5 hands Dawn a text that the collector may take meanwhile; it fails one time
      // in thousands, and a text that is really wrong fails twice.
      return await this.#compile(kernel).catch(() => this.#compile(kernel));
    } catch (cause) {
      throw await shaderError(this.#device, label, code, layers ?? [], cause);
    }
  }

  #compile({ label, code }: Kernel): Promise<GPUComputePipeline> {
    const module = this.#device.createShaderModule({ label, code });
    return this.#device.createComputePipelineAsync({
      label,
      layout: this.#layout,
      compute: { module, entryPoint: "main" },
    });
  }
}

/** The whole frame in one dispatch a tile; records nothing. */
export async function buildFused(
  layout: Layout,
  { kernel, tile }: FusedKernel,
  cache: PipelineCache,
): Promise<Program> {
  const { plan, frame } = layout;
  const output = leavingArray(layout, plan.output, OUTPUT_BEGIN);
  const outputWords = endOf(output, frame);
  const block: PlanBlock = { kind: "feedforward", nodes: plan.nodes.map(({ index }) => index) };
  const dispatches = [{ kernel, pipeline: await cache.get(kernel) }];
  return {
    outputWords,
    output,
    probes: [],
    blocks: [{ block, dispatches }],
    emits: [],
    passes: new PassTable(frame, tile, outputWords),
  };
}

/** Compiles the plan with the named values recorded. */
export async function buildProgram(
  layout: Layout,
  writer: KernelWriter,
  cache: PipelineCache,
  record: readonly string[],
): Promise<Program> {
  const { plan, frame } = layout;
  const output = leavingArray(layout, plan.output, OUTPUT_BEGIN);
  let outputWords = endOf(output, frame);
  const probes: RecordedProbe[] = [];
  for (const probe of probesOf(plan)) {
    if (!record.includes(probe.name)) continue;
    const array = probe.field === null
      ? leavingArray(layout, probe.node, outputWords)
      : fieldArray(probe.size, outputWords);
    probes.push({ ...probe, array });
    outputWords = endOf(array, frame);
  }
  const compile = (kernels: readonly Kernel[]): Promise<Dispatch[]> =>
    Promise.all(kernels.map(async (kernel) => ({ kernel, pipeline: await cache.get(kernel) })));
  const blocks = await Promise.all(plan.blocks.map(async (block) => ({
    block,
    dispatches: await compile([
      ...block.nodes.flatMap((index) => {
        const fields: FieldProbe[] = probes.flatMap(({ node, field, array }) =>
          node === index && field !== null ? [{ field, offset: array.offset }] : []
        );
        return writer.write(plan.nodes[index]!, fields);
      }),
      ...block.nodes.flatMap((index) => writer.commit(plan.nodes[index]!) ?? []),
    ]),
  })));
  const values = probes.filter(({ field }) => field === null);
  const emits = await compile([
    ...values.map(({ node, array }) => writer.emit(plan.nodes[node]!, array.offset, false)),
    writer.emit(plan.nodes[plan.output]!, output.offset, true),
  ]);
  return {
    outputWords,
    output,
    probes,
    blocks,
    emits,
    passes: new PassTable(frame, layout.tile, outputWords),
  };
}
