/**
 * The kernels in plain loops: the twins of the vector kernels, and what nodes without one run. Every
 * event, in ascending order, adds its weights to the outputs it reaches. Each output thus takes the same
 * additions in the same order as in the reference, which also adds the zeros; adding a zero changes
 * nothing.
 */
import { snap } from "../base/numeric.ts";
import { layerNamed } from "../layers/mod.ts";
import type { ConvOp, DenseOp, Plan, PlanNode, PointwiseOp, PoolOp } from "../model/plan.ts";
import type { Kernels, NodeStep } from "./kernels.ts";
import { padded } from "./memory_map.ts";

const f = Math.fround;

interface Memory {
  readonly floats: Float32Array;
  readonly ints: Int32Array;
}

export function plainKernels(plan: Plan, buffer: ArrayBufferLike): Kernels {
  const memory = { floats: new Float32Array(buffer), ints: new Int32Array(buffer) };
  const { floats, ints } = memory;
  const bytes = new Uint8Array(buffer);
  return {
    find(values, size, events) {
      const [from, to] = [values >>> 2, events >>> 2];
      let length = 0;
      let others = 0;
      for (let i = 0; i < size; i++) {
        const value = floats[from + i]!;
        if (value === 0) continue;
        ints[to + length++] = i;
        if (value !== 1) others = 1;
      }
      return length | (others << 31);
    },
    findBits(bits, words, events) {
      const to = events >>> 2;
      let length = 0;
      for (let i = 0; i < words; i++) {
        for (let word = ints[(bits >>> 2) + i]!; word !== 0; word &= word - 1) {
          ints[to + length++] = 32 * i + 31 - Math.clz32(word & -word);
        }
      }
      return length;
    },
    add(a, b, y, size) {
      const [first, second, to] = [a >>> 2, b >>> 2, y >>> 2];
      for (let i = 0; i < size; i++) floats[to + i] = floats[first + i]! + floats[second + i]!;
    },
    copy: (from, to, count) => void bytes.copyWithin(to, from, from + count),
    steps: plan.nodes.map((node) => plainStep(node, memory)),
    frame: null,
  };
}

function plainStep(node: PlanNode, memory: Memory): NodeStep | null {
  switch (node.op.op) {
    case "dense":
      return denseStep(node.op, memory);
    case "conv":
      return convStep(node.op, memory);
    case "pool":
      return poolStep(node.op, memory);
    case "pointwise":
      return pointwiseStep(node.op, node.size, memory);
    default:
      return null;
  }
}

function denseStep(op: DenseOp, { floats, ints }: Memory): NodeStep {
  const { blocks, inputs, outputs, weights, bias } = op;
  const size = blocks * outputs;
  return ({ x, events, length, allOnes, y }) => {
    const to = y >>> 2;
    floats.fill(0, to, to + size);
    for (let e = 0; e < length; e++) {
      const j = ints[(events >>> 2) + e]!;
      const value = allOnes ? 1 : floats[(x >>> 2) + j]!;
      const block = blocks === 1 ? to : to + Math.floor(j / inputs) * outputs;
      const from = j * outputs;
      for (let i = 0; i < outputs; i++) floats[block + i]! += f(value * weights[from + i]!);
    }
    for (let i = 0; i < size; i++) {
      const sum = floats[to + i]!;
      floats[to + i] = snap(bias === null ? sum : f(sum + bias[i]!));
    }
    return -1;
  };
}

/** The sums are [positions][outChannels], so that the channels of a tap lie together. */
function convStep(op: ConvOp, { floats, ints }: Memory): NodeStep {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  const [kernelHeight, kernelWidth] = op.kernel;
  const inPerGroup = op.inChannels / op.groups;
  const outPerGroup = op.outChannels / op.groups;
  const positions = outHeight * outWidth;
  return ({ x, events, length, y, sums }) => {
    const base = sums >>> 2;
    floats.fill(0, base, base + positions * op.outChannels);
    for (let e = 0; e < length; e++) {
      const j = ints[(events >>> 2) + e]!;
      const value = floats[(x >>> 2) + j]!;
      const channel = Math.floor(j / (height * width));
      const iy = Math.floor(j / width) % height;
      const ix = j % width;
      const first = base + Math.floor(channel / inPerGroup) * outPerGroup;
      for (let ky = 0; ky < kernelHeight; ky++) {
        const oy = (iy + op.pad[0] - ky * op.dilation[0]) / op.stride[0];
        if (oy < 0 || oy >= outHeight || !Number.isInteger(oy)) continue;
        for (let kx = 0; kx < kernelWidth; kx++) {
          const ox = (ix + op.pad[1] - kx * op.dilation[1]) / op.stride[1];
          if (ox < 0 || ox >= outWidth || !Number.isInteger(ox)) continue;
          const to = first + (oy * outWidth + ox) * op.outChannels;
          const from = ((channel * kernelHeight + ky) * kernelWidth + kx) * outPerGroup;
          for (let i = 0; i < outPerGroup; i++) floats[to + i]! += f(value * op.weights[from + i]!);
        }
      }
    }
    for (let c = 0; c < op.outChannels; c++) {
      const bias = op.bias === null ? 0 : op.bias[c]!;
      const to = (y >>> 2) + c * positions;
      for (let p = 0; p < positions; p++) {
        floats[to + p] = snap(f(floats[base + p * op.outChannels + c]! + bias));
      }
    }
    return -1;
  };
}

function poolStep(op: PoolOp, { floats, ints }: Memory): NodeStep {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  const size = op.channels * outHeight * outWidth;
  const scale = op.scale === null ? 1 : op.scale[0]!;
  return ({ x, events, length, y }) => {
    const to = y >>> 2;
    floats.fill(0, to, to + size);
    for (let e = 0; e < length; e++) {
      const j = ints[(events >>> 2) + e]!;
      const value = floats[(x >>> 2) + j]!;
      const channel = Math.floor(j / (height * width));
      const iy = Math.floor(j / width) % height;
      const ix = j % width;
      for (let ky = 0; ky < op.kernel[0]; ky++) {
        const oy = (iy + op.pad[0] - ky) / op.stride[0];
        if (oy < 0 || oy >= outHeight || !Number.isInteger(oy)) continue;
        for (let kx = 0; kx < op.kernel[1]; kx++) {
          const ox = (ix + op.pad[1] - kx) / op.stride[1];
          if (ox < 0 || ox >= outWidth || !Number.isInteger(ox)) continue;
          floats[to + (channel * outHeight + oy) * outWidth + ox]! += value;
        }
      }
    }
    for (let i = to; i < to + size; i++) floats[i] = snap(f(floats[i]! * scale));
    return -1;
  };
}

/** Runs the layer's twin over all elements. */
function pointwiseStep(op: PointwiseOp, size: number, { floats }: Memory): NodeStep {
  const layer = layerNamed(op.layer);
  const fields = new Float32Array(layer.state.length);
  const coefs = new Float32Array(layer.coefficients.length);
  const stride = padded(size);
  return ({ x, y, state }) => {
    for (let i = 0; i < size; i++) {
      const at = (state >>> 2) + i;
      for (let k = 0; k < fields.length; k++) fields[k] = floats[at + k * stride]!;
      for (let k = 0; k < coefs.length; k++) coefs[k] = op.coefficients[k * size + i]!;
      floats[(y >>> 2) + i] = layer.step(floats[(x >>> 2) + i]!, fields, coefs, op.mode);
      for (let k = 0; k < fields.length; k++) floats[at + k * stride] = fields[k]!;
    }
    return -1;
  };
}
