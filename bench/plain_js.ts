/**
 * What a careful person writes by hand for the models of the benches, without a plan, a server, slots or
 * checks: typed arrays, one thread. Two baselines. `event` walks lists of spikes: a dense layer adds a
 * row of weights a spike, a convolution scatters a kernel a spike. `dense` multiplies everything by
 * everything. Both round as the reference does, so their outputs are the same bytes.
 */
import type { Plan } from "../src/model/mod.ts";

type Node = Plan["nodes"][number];
type Op<Name extends Node["op"]["op"]> = Extract<Node["op"], { op: Name }>;
export type PlainKind = "event" | "dense";

const f = Math.fround;
const TINY = f(1e-30);

/** A node's values of one step, and in `event` also where they are not zero. */
interface Values {
  readonly y: Float32Array;
  readonly at: Int32Array;
  count: number;
}

/** What a slot keeps: membranes by node, and by node what it gave in the step before. */
interface Slot {
  readonly membranes: readonly Float32Array[];
  readonly last: readonly Float32Array[];
}

/** Runs one node for one step: from the values of all nodes into its own. */
type Stage = (values: readonly Values[], membranes: readonly Float32Array[]) => void;

export class PlainNetwork {
  readonly #plan: Plan;
  readonly #kind: PlainKind;
  readonly #stages: readonly Stage[];
  /** One set for all slots. A node read late stands in front of its source, which still holds it. */
  readonly #values: readonly Values[];
  readonly #slots: readonly Slot[];
  readonly #late: readonly number[];

  constructor(plan: Plan, slots: number, kind: PlainKind = "event") {
    this.#plan = plan;
    this.#kind = kind;
    this.#stages = plan.nodes.slice(1).map((node) => stageOf(plan, node, kind));
    const sizes = plan.nodes.map(({ size }) => size);
    this.#values = sizes.map((size) => ({
      y: new Float32Array(size),
      at: new Int32Array(size),
      count: 0,
    }));
    this.#late = plan.nodes.flatMap(({ inputs }) =>
      inputs.filter(({ previous }) => previous).map(({ from }) => from)
    );
    this.#slots = Array.from({ length: slots }, () => ({
      membranes: sizes.map((size) => new Float32Array(size)),
      last: sizes.map((size, k) => new Float32Array(this.#late.includes(k) ? size : 0)),
    }));
  }

  /** One frame of one slot; returns [steps, outputs]. */
  frame(slot: number, input: Float32Array, steps: number): Float32Array {
    const { sampleSize, outputSize, output } = this.#plan;
    const { membranes, last } = this.#slots[slot]!;
    const values = this.#values;
    const given = new Float32Array(steps * outputSize);
    for (const node of this.#late) {
      values[node]!.y.set(last[node]!);
      list(values[node]!);
    }
    for (let t = 0; t < steps; t++) {
      if (this.#kind === "event") read(input, t * sampleSize, values[0]!);
      else values[0]!.y.set(input.subarray(t * sampleSize, (t + 1) * sampleSize));
      for (const stage of this.#stages) stage(values, membranes);
      given.set(values[output]!.y, t * outputSize);
    }
    for (const node of this.#late) last[node]!.set(values[node]!.y);
    return given;
  }
}

function stageOf(plan: Plan, node: Node, kind: PlainKind): Stage {
  const { op, inputs, index } = node;
  const from = inputs[0]!.from;
  const ones = ["input", "spike"].includes(plan.nodes[from]!.kind);
  switch (op.op) {
    case "dense":
      return kind === "dense"
        ? (values) => denseAll(op, values[from]!.y, values[index]!.y)
        : (values) => denseEvents(op, values[from]!, values[index]!.y, ones);
    case "conv": {
      const sums = new Float32Array(node.size);
      return kind === "dense"
        ? (values) => convAll(op, values[from]!.y, values[index]!.y)
        : (values) => convEvents(op, values[from]!, sums, values[index]!.y, ones);
    }
    case "pool":
      return (values) => {
        sumPool(op, values[from]!.y, values[index]!.y);
        if (kind === "event") list(values[index]!);
      };
    case "pointwise":
      return neuron(node, op);
    default:
      throw new Error(`no plain loop for ${op.op}`);
  }
}

/** Finds the inputs that are on. */
function read(input: Float32Array, from: number, x: Values): void {
  let count = 0;
  const { at, y } = x;
  for (let j = 0; j < y.length; j++) if (input[from + j] !== 0) at[count++] = j;
  x.count = count;
}

function list(x: Values): void {
  let count = 0;
  const { at, y } = x;
  for (let j = 0; j < y.length; j++) if (y[j] !== 0) at[count++] = j;
  x.count = count;
}

function denseEvents(
  { outputs, weights, bias }: Op<"dense">,
  { y: x, at, count }: Values,
  y: Float32Array,
  ones: boolean,
): void {
  y.fill(0);
  for (let e = 0; e < count; e++) {
    const row = at[e]! * outputs;
    if (ones) { for (let i = 0; i < outputs; i++) y[i]! += weights[row + i]!; }
    else {
      const value = x[at[e]!]!;
      for (let i = 0; i < outputs; i++) y[i]! += f(value * weights[row + i]!);
    }
  }
  if (bias !== null) { for (let i = 0; i < outputs; i++) y[i]! += bias[i]!; }
}

function denseAll(
  { inputs, outputs, weights, bias }: Op<"dense">,
  x: Float32Array,
  y: Float32Array,
): void {
  y.fill(0);
  for (let j = 0; j < inputs; j++) {
    const value = x[j]!;
    const row = j * outputs;
    for (let i = 0; i < outputs; i++) y[i]! += f(value * weights[row + i]!);
  }
  if (bias !== null) { for (let i = 0; i < outputs; i++) y[i]! += bias[i]!; }
}

/** Scatters each event's kernel over the sums, which lie [y][x][channel] meanwhile. */
function convEvents(
  op: Op<"conv">,
  { y: x, at, count }: Values,
  sums: Float32Array,
  y: Float32Array,
  ones: boolean,
): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  const [kernelHeight, kernelWidth] = op.kernel;
  const [strideY, strideX] = op.stride;
  const { outChannels, weights, bias } = op;
  sums.fill(0);
  for (let e = 0; e < count; e++) {
    const index = at[e]!;
    const channel = Math.floor(index / (height * width));
    const iy = Math.floor(index / width) % height + op.pad[0];
    const ix = index % width + op.pad[1];
    for (let ky = 0; ky < kernelHeight; ky++) {
      const oy = (iy - ky) / strideY;
      if (oy < 0 || oy >= outHeight || oy !== Math.floor(oy)) continue;
      for (let kx = 0; kx < kernelWidth; kx++) {
        const ox = (ix - kx) / strideX;
        if (ox < 0 || ox >= outWidth || ox !== Math.floor(ox)) continue;
        const tap = ((channel * kernelHeight + ky) * kernelWidth + kx) * outChannels;
        const sum = (oy * outWidth + ox) * outChannels;
        if (ones) { for (let c = 0; c < outChannels; c++) sums[sum + c]! += weights[tap + c]!; }
        else {
          const value = x[index]!;
          for (let c = 0; c < outChannels; c++) sums[sum + c]! += f(value * weights[tap + c]!);
        }
      }
    }
  }
  const positions = outHeight * outWidth;
  for (let c = 0; c < outChannels; c++) {
    const add = bias === null ? 0 : bias[c]!;
    for (let p = 0; p < positions; p++) y[c * positions + p] = sums[p * outChannels + c]! + add;
  }
}

function convAll(op: Op<"conv">, x: Float32Array, y: Float32Array): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  const [kernelHeight, kernelWidth] = op.kernel;
  for (let co = 0; co < op.outChannels; co++) {
    const add = op.bias === null ? 0 : op.bias[co]!;
    for (let oy = 0; oy < outHeight; oy++) {
      const y0 = oy * op.stride[0] - op.pad[0];
      for (let ox = 0; ox < outWidth; ox++) {
        const x0 = ox * op.stride[1] - op.pad[1];
        let sum = 0;
        for (let c = 0; c < op.inChannels; c++) {
          for (let ky = 0; ky < kernelHeight; ky++) {
            if (y0 + ky < 0 || y0 + ky >= height) continue;
            const row = (c * height + y0 + ky) * width + x0;
            const taps = (c * kernelHeight + ky) * kernelWidth;
            const end = Math.min(kernelWidth, width - x0);
            for (let kx = Math.max(0, -x0); kx < end; kx++) {
              sum = f(sum + f(x[row + kx]! * op.weights[(taps + kx) * op.outChannels + co]!));
            }
          }
        }
        y[(co * outHeight + oy) * outWidth + ox] = sum + add;
      }
    }
  }
}

function sumPool(op: Op<"pool">, x: Float32Array, y: Float32Array): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  let at = 0;
  for (let c = 0; c < op.channels; c++) {
    for (let oy = 0; oy < outHeight; oy++) {
      for (let ox = 0; ox < outWidth; ox++) {
        let sum = 0;
        for (let ky = 0; ky < op.kernel[0]; ky++) {
          const row = (c * height + oy * op.stride[0] + ky) * width + ox * op.stride[1];
          for (let kx = 0; kx < op.kernel[1]; kx++) sum += x[row + kx]!;
        }
        y[at++] = sum;
      }
    }
  }
}

/** LIF, LI and IF with a reset to a value; several currents are added left to right. */
function neuron(
  { index, inputs, size }: Node,
  { layer, mode, coefficients }: Op<"pointwise">,
): Stage {
  if (mode !== 0 || !["lif", "li", "if"].includes(layer)) throw new Error(`no plain ${layer}`);
  const of = (k: number) => coefficients.subarray(k * size, (k + 1) * size);
  const leaks = layer !== "if";
  const fires = layer !== "li";
  const [decay, gain, leak] = leaks ? [of(0), of(1), of(2)] : [null, of(0), null];
  const [threshold, reset] = leaks ? [of(3), of(4)] : [of(1), of(2)];
  const first = inputs[0]!.from;
  const second = inputs[1]?.from;
  return (values, membranes) => {
    const v = membranes[index]!;
    const out = values[index]!;
    const { y, at } = out;
    const current = values[first]!.y;
    const more = second === undefined ? null : values[second]!.y;
    let count = 0;
    for (let i = 0; i < size; i++) {
      let x = current[i]!;
      if (Math.abs(x) < TINY) x = 0;
      if (more !== null) x = f(x + more[i]!);
      const driven = f(gain[i]! * x);
      let u = decay === null ? f(v[i]! + driven) : f(f(f(decay[i]! * v[i]!) + driven) + leak![i]!);
      if (Math.abs(u) < TINY) u = 0;
      if (!fires) y[i] = u;
      else if (u > threshold[i]!) {
        u = reset[i]!;
        y[i] = 1;
        at[count++] = i;
      } else y[i] = 0;
      v[i] = u;
    }
    out.count = count;
  };
}
