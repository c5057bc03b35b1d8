/**
 * The linear layers, event-driven: every non-zero input, in ascending order, adds its weights to the
 * outputs it reaches. Each output thus takes the same additions in the same order as in the reference,
 * which also adds the zeros; adding a zero changes nothing.
 */
import { snap } from "../base/numeric.ts";
import type { ConvOp, DenseOp, PoolOp } from "../model/plan.ts";

const f = Math.fround;

/** The non-zero entries of a node's values: `indices[0 … count)`, ascending. */
export interface Events {
  readonly indices: Int32Array;
  count: number;
}

export function denseEvents(op: DenseOp, x: Float32Array, events: Events, y: Float32Array): void {
  const { inputs, outputs, weights, bias } = op;
  y.fill(0);
  for (let e = 0; e < events.count; e++) {
    const j = events.indices[e]!;
    const value = x[j]!;
    const to = op.blocks === 1 ? 0 : Math.floor(j / inputs) * outputs;
    const from = j * outputs;
    if (value === 1) {
      for (let i = 0; i < outputs; i++) y[to + i]! += weights[from + i]!;
    } else {
      for (let i = 0; i < outputs; i++) y[to + i]! += f(value * weights[from + i]!);
    }
  }
  for (let i = 0; i < y.length; i++) y[i] = snap(bias === null ? y[i]! : f(y[i]! + bias[i]!));
}

/** `sums` is working memory, [positions][outChannels], so that the channels of a tap lie together. */
export function convEvents(
  op: ConvOp,
  x: Float32Array,
  events: Events,
  sums: Float32Array,
  y: Float32Array,
): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  const [kernelHeight, kernelWidth] = op.kernel;
  const inPerGroup = op.inChannels / op.groups;
  const outPerGroup = op.outChannels / op.groups;
  sums.fill(0);
  for (let e = 0; e < events.count; e++) {
    const j = events.indices[e]!;
    const value = x[j]!;
    const channel = Math.floor(j / (height * width));
    const iy = Math.floor(j / width) % height;
    const ix = j % width;
    const first = Math.floor(channel / inPerGroup) * outPerGroup;
    for (let ky = 0; ky < kernelHeight; ky++) {
      const oy = (iy + op.pad[0] - ky * op.dilation[0]) / op.stride[0];
      if (oy < 0 || oy >= outHeight || !Number.isInteger(oy)) continue;
      for (let kx = 0; kx < kernelWidth; kx++) {
        const ox = (ix + op.pad[1] - kx * op.dilation[1]) / op.stride[1];
        if (ox < 0 || ox >= outWidth || !Number.isInteger(ox)) continue;
        const to = (oy * outWidth + ox) * op.outChannels + first;
        const from = ((channel * kernelHeight + ky) * kernelWidth + kx) * outPerGroup;
        for (let i = 0; i < outPerGroup; i++) sums[to + i]! += f(value * op.weights[from + i]!);
      }
    }
  }
  const positions = outHeight * outWidth;
  for (let c = 0; c < op.outChannels; c++) {
    const bias = op.bias === null ? 0 : op.bias[c]!;
    for (let p = 0; p < positions; p++) {
      y[c * positions + p] = snap(f(sums[p * op.outChannels + c]! + bias));
    }
  }
}

export function poolEvents(op: PoolOp, x: Float32Array, events: Events, y: Float32Array): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  y.fill(0);
  for (let e = 0; e < events.count; e++) {
    const j = events.indices[e]!;
    const channel = Math.floor(j / (height * width));
    const iy = Math.floor(j / width) % height;
    const ix = j % width;
    for (let ky = 0; ky < op.kernel[0]; ky++) {
      const oy = (iy + op.pad[0] - ky) / op.stride[0];
      if (oy < 0 || oy >= outHeight || !Number.isInteger(oy)) continue;
      for (let kx = 0; kx < op.kernel[1]; kx++) {
        const ox = (ix + op.pad[1] - kx) / op.stride[1];
        if (ox < 0 || ox >= outWidth || !Number.isInteger(ox)) continue;
        y[(channel * outHeight + oy) * outWidth + ox]! += x[j]!;
      }
    }
  }
  const scale = op.scale === null ? 1 : op.scale[0]!;
  for (let i = 0; i < y.length; i++) y[i] = snap(f(y[i]! * scale));
}
