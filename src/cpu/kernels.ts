/**
 * The kernels that the CPU executor's rows are made of, on one block of memory: in WebAssembly vectors
 * where the runtime has them, else in plain loops. Both give the same bits. Arguments are byte
 * addresses in that memory, or counts; a list of events holds the places of what is not zero, ascending.
 */
import { GanglionError } from "../base/errors.ts";
import { layerNamed } from "../layers/mod.ts";
import type { Plan, PlanNode } from "../model/plan.ts";
import { type MemoryMap, padded } from "./memory_map.ts";
import { plainKernels } from "./plain_kernels.ts";
import { writeAdd, writeCopy, writeDense, writeFind, writeFindBits } from "./vector_code.ts";
import { canWriteFrame, type KernelIndices, writeFrame } from "./vector_frame.ts";
import { writeConv } from "./vector_conv.ts";
import { writeLayer } from "./vector_layers.ts";
import { writeModule, type Written } from "../base/wasm_writer.ts";

/** What a node's step is given: its input with the events, where its output goes, its row's state. */
export interface StepPlaces {
  x: number;
  events: number;
  length: number;
  /** Every event's value is 1. */
  allOnes: boolean;
  readonly y: number;
  /** Where a spiking layer may list its spikes. */
  readonly yEvents: number;
  /** A convolution's working memory. */
  readonly sums: number;
  /** The node's state in the row that runs. */
  state: number;
}

/** Returns how many spikes it listed, or −1 when it listed none. */
export type NodeStep = (places: StepPlaces) => number;

export interface Kernels {
  /** Lists what is not zero; the list's length, negative when some value is not 1. */
  find(values: number, size: number, events: number): number;
  /** Lists the bits set in `words` words. */
  findBits(bits: number, words: number, events: number): number;
  /** y = a + b. May also write the rest of the last four. */
  add(a: number, b: number, y: number, size: number): void;
  copy(from: number, to: number, bytes: number): void;
  /** By node; null for those that only move or gather values. */
  readonly steps: readonly (NodeStep | null)[];
  /** All of a row's steps on its state in `row`; null where only `steps` can play the plan. */
  frame: RowFrame | null;
}

export type RowFrame = (
  row: number,
  input: number,
  isBits: number,
  steps: number,
  output: number,
) => void;

const PAGE = 1 << 16;

/** Whether this runtime has vectors in WebAssembly, and memory there that threads share. */
const HAS_VECTORS = WebAssembly.validate(writeModule([writeFind()], { pages: 1, shared: true }));

export type Memory = WebAssembly.Memory | ArrayBuffer | SharedArrayBuffer;

export interface MemoryOptions {
  readonly shared: boolean;
  /** For the vector kernels, where the runtime has them. */
  readonly vectors: boolean;
}

/** @throws GanglionError `device_unavailable` where there is not so much memory. */
export function takeMemory(bytes: number, { shared, vectors }: MemoryOptions): Memory {
  const pages = Math.ceil(bytes / PAGE);
  try {
    if (vectors && HAS_VECTORS) {
      return new WebAssembly.Memory({ initial: pages, maximum: pages, shared });
    }
    return shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes);
  } catch (cause) {
    throw new GanglionError(
      "device_unavailable",
      `The CPU executor needs ${Math.ceil(bytes / 2 ** 20)} MiB of memory, which cannot be had ` +
        `(${String(cause)}); serve with fewer slots`,
    );
  }
}

export const bufferOf = (memory: Memory): ArrayBuffer | SharedArrayBuffer =>
  memory instanceof WebAssembly.Memory ? memory.buffer : memory;

/** The kernels of a plan for one of the executor's threads: vectors where the memory is WebAssembly's. */
export function kernelsFor(plan: Plan, map: MemoryMap, memory: Memory, thread: number): Kernels {
  return memory instanceof WebAssembly.Memory
    ? vectorKernels(plan, map, memory, thread)
    : plainKernels(plan, memory);
}

type Call = (...args: number[]) => number;

function vectorKernels(
  plan: Plan,
  map: MemoryMap,
  memory: WebAssembly.Memory,
  thread: number,
): Kernels {
  const written = [
    writeFind(),
    writeFindBits(),
    writeCopy(),
    writeAdd(),
    writeDense("denseOnes", false),
    writeDense("denseReals", true),
  ];
  const place = (name: string) => written.findIndex((each) => each.name === name);
  const names = plan.nodes.map((node) => {
    const kernel = ownKernel(node);
    if (kernel !== null) written.push(kernel);
    return kernel?.name ?? null;
  });
  const indices: KernelIndices = {
    find: place("find"),
    findBits: place("findBits"),
    add: place("add"),
    denseOnes: place("denseOnes"),
    denseReals: place("denseReals"),
    own: names.map((name) => name === null ? -1 : place(name)),
  };
  const isWhole = canWriteFrame(plan, indices);
  if (isWhole) written.push(writeFrame(plan, map, thread, indices));
  const { buffer } = memory;
  const bytes = writeModule(written, {
    pages: buffer.byteLength / PAGE,
    shared: buffer instanceof SharedArrayBuffer,
  });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
  const call = (name: string) => instance.exports[name] as Call;
  const plain = plainKernels(plan, buffer);
  const [find, findBits, add, copy] = [call("find"), call("findBits"), call("add"), call("copy")];
  const ones = call("denseOnes");
  const reals = call("denseReals");
  const steps = plan.nodes.map((node): NodeStep | null => {
    const { op, size } = node;
    const { weights, extra } = map.parameters[node.index]!;
    const name = names[node.index]!;
    if (op.op === "dense" && op.blocks === 1) {
      const fours = padded(size) / 4;
      return ({ x, events, length, allOnes, y }) => {
        (allOnes ? ones : reals)(weights, op.inputs, events, length, x, y, extra, fours);
        return -1;
      };
    }
    if (name === null) return plain.steps[node.index]!;
    const kernel = call(name);
    if (op.op === "conv") {
      return ({ x, events, length, y, sums }) => {
        kernel(x, events, length, sums, weights, extra, y);
        return -1;
      };
    }
    const listsSpikes = op.op === "pointwise" && layerNamed(op.layer).emits === "spike";
    return ({ x, y, state, yEvents }) => {
      const length = kernel(x, y, state, weights, yEvents);
      return listsSpikes ? length : -1;
    };
  });
  return {
    find: (values, count, events) => find(values, count, events),
    findBits: (bits, words, events) => findBits(bits, words, events),
    copy: (from, to, count) => void copy(from, to, count),
    add: (a, b, y, count) => void add(a, b, y, padded(count) / 4),
    steps,
    frame: isWhole ? call("frame") as RowFrame : null,
  };
}

/** The kernel that is written for one node, or null where there is none. */
function ownKernel({ index, op, size }: PlanNode): Written | null {
  if (op.op === "conv") return writeConv(`conv_${index}`, op);
  return op.op === "pointwise" ? writeLayer(`layer_${index}`, op, size) : null;
}
