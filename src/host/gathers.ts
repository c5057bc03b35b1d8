/**
 * What both host executors compute alike: max pools, another order, products of two edges, synapses with
 * delays, fast weights. Twins of the shaders of the same names.
 */
import { snap } from "../base/numeric.ts";
import { exactTanh, learn, modulates, OWN_RATES } from "../layers/mod.ts";
import type { ConnectOp, MaxPoolOp, PermuteOp, PlasticOp, TapsOp } from "../model/plan.ts";

const f = Math.fround;

/** The last values of every element, zero before the start. */
export interface Line {
  /** The value `delay` steps ago; `delay` from 1 to the line's length. */
  read(delay: number, element: number): number;
  push(values: Float32Array): void;
}

/** Twin of shaders/max_pool.wgsl. */
export function maxPool(op: MaxPoolOp, x: Float32Array, y: Float32Array): void {
  const [height, width] = op.inSize;
  const [outHeight, outWidth] = op.outSize;
  for (let c = 0; c < op.channels; c++) {
    for (let oy = 0; oy < outHeight; oy++) {
      for (let ox = 0; ox < outWidth; ox++) {
        let most: number | null = null;
        for (let ky = 0; ky < op.kernel[0]; ky++) {
          const iy = oy * op.stride[0] - op.pad[0] + ky;
          if (iy < 0 || iy >= height) continue;
          for (let kx = 0; kx < op.kernel[1]; kx++) {
            const ix = ox * op.stride[1] - op.pad[1] + kx;
            if (ix < 0 || ix >= width) continue;
            const value = x[(c * height + iy) * width + ix]!;
            if (most === null || value > most) most = value;
          }
        }
        y[(c * outHeight + oy) * outWidth + ox] = snap(most ?? 0);
      }
    }
  }
}

export function permute(op: PermuteOp, x: Float32Array, y: Float32Array): void {
  for (let i = 0; i < y.length; i++) y[i] = snap(x[op.from[i]!]!);
}

export function connect(op: ConnectOp, s: Float32Array, r: Float32Array, y: Float32Array): void {
  for (let i = 0; i < y.length; i++) {
    y[i] = snap(f(s[i]! * (op.how === "and" ? r[i]! : f(1 - r[i]!))));
  }
}

/** Twin of shaders/skeleton_push.wgsl and skeleton_taps.wgsl. */
export function taps(op: TapsOp, x: Float32Array, line: Line, y: Float32Array): void {
  for (let j = 0; j < op.outputs; j++) {
    let sum = 0;
    for (let k = op.starts[j]!; k < op.starts[j + 1]!; k++) {
      const source = op.sources[k]!;
      const delay = op.delays[k]!;
      const value = delay === 0 ? x[source]! : line.read(delay, source);
      sum = f(sum + f(value * op.weights[k]!));
    }
    y[j] = snap(op.bias === null ? sum : f(sum + op.bias[j]!));
  }
  line.push(x);
}

/** Twin of shaders/skeleton_plastic.wgsl. `trace` is hebb, then eligibility where the rule has one. */
export function plastic(
  { rule, size, weights, alpha, rates }: PlasticOp,
  post: Float32Array,
  pre: Float32Array,
  trace: readonly Float32Array[],
  y: Float32Array,
): void {
  const hebb = trace[0]!;
  const eligibility = trace[1];
  let m = 0;
  if (modulates(rule)) {
    for (let i = 0; i < size; i++) m = f(m + f(post[i]! * rates[OWN_RATES + i]!));
    m = exactTanh(f(m + rates[1]!));
  }
  const synapse = { hebb: 0, eligibility: 0 };
  for (let j = 0; j < size; j++) {
    let sum = 0;
    for (let i = 0; i < size; i++) {
      const at = i * size + j;
      synapse.hebb = hebb[at]!;
      synapse.eligibility = eligibility?.[at] ?? 0;
      learn(rule, rates, size, { pre: pre[i]!, post: post[j]!, m, j }, synapse);
      hebb[at] = synapse.hebb;
      if (eligibility !== undefined) eligibility[at] = synapse.eligibility;
      sum = f(sum + f(post[i]! * f(weights[at]! + f(alpha[at]! * synapse.hebb))));
    }
    y[j] = snap(sum);
  }
}
