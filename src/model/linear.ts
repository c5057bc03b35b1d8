/** Weights of a file → the layouts that plan.ts documents. Rounded to f32 once; finite and canonical. */
import { canonicalise } from "../base/numeric.ts";
import { type ConvGeometry, convGeometry, poolGeometry } from "./geometry.ts";
import type { NirNode } from "./nir.ts";
import { invalidNode } from "./nir_error.ts";
import { tensorOf } from "./nir_schema.ts";
import type { ConvOp, DenseOp, PoolOp } from "./plan.ts";

/** What multiplies the weights and the bias of an output; in f64, before they are rounded. */
export type Gain = ((output: number) => number) | undefined;

/** [..., out, in] → [blocks][inputs][outputs]. */
export function denseOp(name: string, node: NirNode, gain?: Gain): DenseOp {
  const { shape, data } = tensorOf(node, "weight");
  const inputs = shape.at(-1)!;
  const outputs = shape.at(-2)!;
  const blocks = data.length / (inputs * outputs);
  const weights = new Float32Array(data.length);
  for (let b = 0; b < blocks; b++) {
    const base = b * inputs * outputs;
    for (let o = 0; o < outputs; o++) {
      for (let i = 0; i < inputs; i++) {
        const weight = data[base + o * inputs + i]!;
        weights[base + i * outputs + o] = gain === undefined
          ? weight
          : weight * gain(b * outputs + o);
      }
    }
  }
  const bias = node.type === "Affine" ? biasOf(name, node, blocks * outputs, gain) : null;
  return { op: "dense", blocks, inputs, outputs, weights: finish(name, "weight", weights), bias };
}

/** [Cout, Cin/groups, ky, kx] → [groups][Cin/groups][ky][kx][Cout/groups]. */
export function convOp(
  name: string,
  node: NirNode,
  shape: readonly number[],
  gain?: Gain,
): ConvOp {
  const geometry = convGeometry(name, node, shape);
  const weights = turnConv(tensorOf(node, "weight").data, geometry, gain);
  const bias = node.fields.has("bias") ? biasOf(name, node, geometry.outChannels, gain) : null;
  return { op: "conv", ...geometry, weights: finish(name, "weight", weights), bias };
}

function turnConv(
  data: Float32Array | Float64Array,
  { inChannels, outChannels, groups, kernel }: ConvGeometry,
  gain: Gain,
): Float32Array {
  const taps = (inChannels / groups) * kernel[0] * kernel[1];
  const perGroup = outChannels / groups;
  const weights = new Float32Array(data.length);
  for (let out = 0; out < outChannels; out++) {
    const group = Math.floor(out / perGroup);
    for (let tap = 0; tap < taps; tap++) {
      const weight = data[out * taps + tap]!;
      weights[(group * taps + tap) * perGroup + (out % perGroup)] = gain === undefined
        ? weight
        : weight * gain(out);
    }
  }
  return weights;
}

export function poolOp(name: string, node: NirNode, shape: readonly number[]): PoolOp {
  const geometry = poolGeometry(name, node, shape);
  const [height, width] = geometry.kernel;
  const scale = node.type === "AvgPool2d" ? Float32Array.of(1 / (height * width)) : null;
  return { op: "pool", ...geometry, scale };
}

/** A bias of one element stands for all. */
function biasOf(name: string, node: NirNode, size: number, gain: Gain): Float32Array {
  const { data } = tensorOf(node, "bias");
  if (data.length !== size && data.length !== 1) {
    throw invalidNode(name, `the bias has ${data.length} values for ${size} outputs`, {
      field: "bias",
    });
  }
  const bias = new Float32Array(size);
  for (let i = 0; i < size; i++) {
    const value = data.length === 1 ? data[0]! : data[i]!;
    bias[i] = gain === undefined ? value : value * gain(i);
  }
  return finish(name, "bias", bias);
}

function finish(name: string, field: string, values: Float32Array): Float32Array {
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at >= 0) throw invalidNode(name, `field "${field}" holds a value that f32 cannot`, { field });
  return canonicalise(values);
}
