/**
 * Layers without state, by Flax's rules: kernels [in, out] and [height, width, in, out], channels last,
 * padding SAME that depends on the size. Turned here into the channels-first operations of the plan.
 */
import { sizeOf } from "../../base/numeric.ts";
import { WINDOW_MAX } from "../geometry.ts";
import { invalidNode, shapeText, unsupportedNode } from "../nir_error.ts";
import type { NirTensor } from "../nir.ts";
import type { ConvOp, PlanOp } from "../plan.ts";
import { chain, made, type Module, type Named, type Numbers } from "./module.ts";
import {
  expectShape,
  identityOp,
  perElement,
  type PlanBuilder,
  toF32,
  type Value,
} from "./plan_builder.ts";

type Pair = readonly [number, number];
/** As in Flax: a word, one number for all sides, or [before, after] of height and of width. */
export type Padding = "SAME" | "VALID" | number | readonly [Pair, Pair];

export interface DenseOptions extends Named {
  readonly kernel?: Numbers;
  /** `false`: none, whatever `variables` hold. */
  readonly bias?: Numbers | false;
}

/** y = x kernel + bias over the last axis, the channels of an image. */
export function Dense(options: DenseOptions = {}): Module {
  return {
    ...made("Dense", options),
    build(builder, value, path) {
      const x = builder.channelsFirst(value);
      const kernel = builder.need(path, "kernel", options.kernel);
      const inputs = x.shape[0]!;
      const outputs = kernel.shape.at(-1) ?? 0;
      expectShape(path, "kernel", kernel, [inputs, outputs]);
      const weights = toF32(path, "kernel", kernel.data);
      const bias = biasOf(builder, path, options.bias, outputs);
      if (x.shape.length === 1) {
        const op: PlanOp = { op: "dense", blocks: 1, inputs, outputs, weights, bias };
        return builder.behind(x, path, "Dense", op, [outputs]);
      }
      const inSize: Pair = [x.shape[1]!, x.shape[2]!];
      const op: ConvOp = {
        op: "conv",
        inChannels: inputs,
        outChannels: outputs,
        groups: 1,
        inSize,
        outSize: inSize,
        kernel: [1, 1],
        stride: [1, 1],
        pad: [0, 0],
        dilation: [1, 1],
        weights,
        bias,
      };
      return builder.behind(x, path, "Dense", op, [outputs, ...inSize]);
    },
  };
}

export interface ConvOptions extends DenseOptions {
  readonly strides?: number | Pair;
  readonly padding?: Padding;
  readonly dilation?: number | Pair;
  readonly groups?: number;
}

/** Cross-correlation with a kernel [height, width, in / groups, out]. */
export function Conv(options: ConvOptions = {}): Module {
  return {
    ...made("Conv", options),
    build(builder, value, path) {
      const x = image(builder, value, path);
      const kernel = builder.need(path, "kernel", options.kernel);
      if (kernel.shape.length !== 4) {
        throw invalidNode(
          path,
          `"kernel" must be [height,width,in,out], not ${shapeText(kernel.shape)}`,
          { field: "kernel" },
        );
      }
      const [kernelHeight, kernelWidth, perGroup, outChannels] = kernel.shape as [
        number,
        number,
        number,
        number,
      ];
      const { groups = 1 } = options;
      if (!Number.isInteger(groups) || groups < 1) {
        throw invalidNode(path, `groups must be a whole number of at least 1, not ${groups}`, {
          field: "groups",
        });
      }
      const inChannels = x.shape[0]!;
      if (perGroup * groups !== inChannels || outChannels % groups !== 0) {
        throw invalidNode(
          path,
          `a kernel ${shapeText(kernel.shape)} in ${groups} groups does not take ${inChannels} ` +
            "channels",
          { field: "kernel" },
        );
      }
      const window = windowOf(path, x.shape, {
        kernel: [kernelHeight, kernelWidth],
        stride: pair(options.strides ?? 1),
        dilation: pair(options.dilation ?? 1),
        padding: options.padding ?? "SAME",
      });
      const { inSize, outSize, stride, pad } = window;
      const op: ConvOp = {
        op: "conv",
        inChannels,
        outChannels,
        groups,
        inSize,
        outSize,
        kernel: [kernelHeight, kernelWidth],
        stride,
        pad,
        dilation: pair(options.dilation ?? 1),
        weights: turnKernel(toF32(path, "kernel", kernel.data), kernel, groups),
        bias: biasOf(builder, path, options.bias, outChannels),
      };
      return builder.behind(x, path, "Conv", op, [outChannels, ...outSize]);
    },
  };
}

/** [kh][kw][in/groups][out] → [groups][in/groups][kh][kw][out/groups]. */
function turnKernel(data: Float32Array, { shape }: NirTensor, groups: number): Float32Array {
  const [height, width, perGroup, outputs] = shape as [number, number, number, number];
  const area = height * width;
  const outPerGroup = outputs / groups;
  const weights = new Float32Array(data.length);
  for (let tap = 0; tap < area; tap++) {
    for (let c = 0; c < perGroup; c++) {
      for (let out = 0; out < outputs; out++) {
        const group = Math.floor(out / outPerGroup);
        const to = ((group * perGroup + c) * area + tap) * outPerGroup + (out % outPerGroup);
        weights[to] = data[(tap * perGroup + c) * outputs + out]!;
      }
    }
  }
  return weights;
}

export interface BatchNormOptions extends Named {
  readonly mean?: Numbers;
  readonly var?: Numbers;
  readonly scale?: Numbers;
  readonly bias?: Numbers;
  readonly epsilon?: number;
}

/** Inference only: one factor scale / sqrt(var + epsilon) and one summand a feature, made in f64. */
export function BatchNorm(options: BatchNormOptions = {}): Module {
  return {
    ...made("BatchNorm", options),
    build(builder, value, path) {
      const x = builder.channelsFirst(value);
      const { epsilon = 1e-5 } = options;
      const one: NirTensor = { shape: [], data: Float64Array.of(1) };
      const zero: NirTensor = { shape: [], data: Float64Array.of(0) };
      const at = (field: string, tensor: NirTensor) => perElement(path, field, tensor, x.shape);
      const mean = at("mean", builder.need(path, "mean", options.mean));
      const variance = at("var", builder.need(path, "var", options.var));
      const scale = at("scale", builder.find(path, "scale", options.scale) ?? one);
      const bias = at("bias", builder.find(path, "bias", options.bias) ?? zero);
      const size = sizeOf(x.shape);
      const coefficients = new Float64Array(2 * size);
      for (let i = 0; i < size; i++) {
        const factor = scale(i) / Math.sqrt(variance(i) + epsilon);
        coefficients[i] = factor;
        coefficients[size + i] = bias(i) - mean(i) * factor;
      }
      return builder.behind(x, path, "BatchNorm", {
        op: "pointwise",
        layer: "norm",
        mode: 0,
        coefficients: toF32(path, "var", coefficients),
      });
    },
  };
}

export interface PoolOptions extends Named {
  readonly window: number | Pair;
  /** 1, as in Flax. */
  readonly strides?: number | Pair;
  readonly padding?: Padding;
}

/** The largest value; what a padding adds never wins. */
export function MaxPool(options: PoolOptions): Module {
  return pool("MaxPool", options);
}

/** The sum times f32(1 / window): padding counts as zeros. */
export function AvgPool(options: PoolOptions): Module {
  return pool("AvgPool", options);
}

export function SumPool(options: PoolOptions): Module {
  return pool("SumPool", options);
}

function pool(kind: "MaxPool" | "AvgPool" | "SumPool", options: PoolOptions): Module {
  return {
    ...made(kind, options),
    build(builder, value, path) {
      const x = image(builder, value, path);
      const kernel = pair(options.window);
      const window = windowOf(path, x.shape, {
        kernel,
        stride: pair(options.strides ?? 1),
        dilation: [1, 1],
        padding: options.padding ?? "VALID",
      });
      const channels = x.shape[0]!;
      if (kind === "MaxPool" && window.empty) {
        throw invalidNode(path, "its padding is so wide that a window holds no value", {
          field: "padding",
        });
      }
      const { inSize, outSize, stride, pad } = window;
      const shared = { channels, inSize, outSize, kernel, stride, pad };
      const scale = kind === "AvgPool" ? Float32Array.of(1 / (kernel[0] * kernel[1])) : null;
      const op: PlanOp = kind === "MaxPool"
        ? { op: "max_pool", ...shared }
        : { op: "pool", ...shared, scale };
      return builder.behind(x, path, kind, op, [channels, ...outSize]);
    },
  };
}

/** The mean over height and width: one value a channel. */
export function SpatialMean(options: Named = {}): Module {
  return {
    ...made("SpatialMean", options),
    build(builder, value, path) {
      const x = image(builder, value, path);
      const window: Pair = [x.shape[1]!, x.shape[2]!];
      const pooled = AvgPool({ window }).build(builder, x, path);
      return { node: pooled.node, shape: [x.shape[0]!] };
    },
  };
}

/**
 * One axis of features. `channels_first` (default, as sparx, PyTorch and NIR): index c·H·W + h·W + w;
 * `channels_last` (a plain reshape in Flax): h·W·C + w·C + c.
 */
export function Flatten(
  options: Named & { readonly order?: "channels_first" | "channels_last" } = {},
): Module {
  return {
    ...made("Flatten", options),
    build(builder, value, path) {
      const shape = [sizeOf(value.shape)];
      if (value.shape.length === 1) return { node: value.node, shape };
      if (options.order === "channels_last") return builder.channelsLast(value, path, shape);
      return { node: builder.channelsFirst(value).node, shape };
    },
  };
}

/** Nothing at inference. */
export function Dropout(rate = 0.5, options: Named = {}): Module {
  return { ...made("Dropout", { rate, ...options }), build: (_builder, value) => value };
}

/** Modules one behind the other under one name. */
export function Block(name: string, modules: readonly Module[]): Module {
  return {
    ...made("Block", { name, modules }),
    build: (builder, value, path) => chain(builder, value, path, modules),
  };
}

export interface ResidualOptions extends Named {
  /** The residual branch r. */
  readonly branch: readonly Module[];
  /** The shortcut s: the value itself, or these modules behind it. */
  readonly shortcut?: readonly Module[];
  /** `add`: s + r; `and`: s · r; `iand`: s · (1 − r). */
  readonly connect?: "add" | "and" | "iand";
}

/** A shortcut s and a branch r behind the same value, joined elementwise. */
export function Residual(options: ResidualOptions): Module {
  return {
    ...made("Residual", options),
    build(builder, value, path) {
      const { connect = "add" } = options;
      const x = builder.channelsFirst(value);
      const counts = new Map<string, number>();
      const r = builder.channelsFirst(chain(builder, x, path, options.branch, counts));
      const s = builder.channelsFirst(chain(builder, x, path, options.shortcut ?? [], counts));
      if (shapeText(s.shape) !== shapeText(r.shape)) {
        throw invalidNode(
          path,
          `the branch gives ${shapeText(r.shape)}, the shortcut ${shapeText(s.shape)}`,
        );
      }
      if (!["add", "and", "iand"].includes(connect)) {
        throw invalidNode(path, `connect must be add, and or iand, not ${connect}`);
      }
      const op: PlanOp = connect === "add" ? identityOp() : { op: "connect", how: connect };
      return builder.add({
        name: path,
        type: connect === "add" ? "Sum" : `Connect ${connect}`,
        op,
        inputs: [{ from: s.node, previous: false }, { from: r.node, previous: false }],
        shape: s.shape,
      });
    },
  };
}

/** A layer that would need the whole stream at once. */
export function TimeMean(options: Named = {}): Module {
  return refused(
    "TimeMean",
    options,
    "it reduces over time, so its output does not have a step for every step of input; leave it " +
      "out, and average the outputs where they are read",
  );
}

/** A module that says why it cannot be served. */
export function refused(kind: string, options: Named, reason: string): Module {
  return {
    ...made(kind, options),
    build(_builder, _value, path) {
      throw unsupportedNode(path, reason, { type: kind });
    },
  };
}

function biasOf(
  builder: PlanBuilder,
  path: string,
  given: Numbers | false | undefined,
  outputs: number,
): Float32Array | null {
  if (given === false) return null;
  const bias = builder.find(path, "bias", given);
  if (bias === null) return null;
  expectShape(path, "bias", bias, [outputs]);
  return toF32(path, "bias", bias.data);
}

function image(builder: PlanBuilder, value: Value, path: string): Value {
  if (value.shape.length !== 3) {
    throw invalidNode(path, `it takes [height,width,channels], not ${shapeText(value.shape)}`);
  }
  return builder.channelsFirst(value);
}

function pair(value: number | Pair): Pair {
  return typeof value === "number" ? [value, value] : value;
}

interface WindowOptions {
  readonly kernel: Pair;
  readonly stride: Pair;
  readonly dilation: Pair;
  readonly padding: Padding;
}

function windowOf(path: string, shape: readonly number[], options: WindowOptions) {
  const { kernel, stride, dilation, padding } = options;
  const whole = [...kernel, ...stride, ...dilation].every((x) => Number.isInteger(x) && x >= 1);
  if (!whole) {
    throw invalidNode(path, "window, strides and dilation must be whole numbers of at least 1");
  }
  if (!(kernel[0] * kernel[1] <= WINDOW_MAX)) {
    throw unsupportedNode(path, `its window has more than ${WINDOW_MAX} values; make it smaller`);
  }
  const axes = [0, 1].map((axis) => {
    const n = shape[axis + 1]!;
    const span = (kernel[axis]! - 1) * dilation[axis]! + 1;
    const step = stride[axis]!;
    const [before, after] = sides(path, padding, axis, n, span, step);
    const out = Math.floor((n + before + after - span) / step) + 1;
    if (out < 1) {
      throw invalidNode(path, `a window of ${span} does not fit into ${n} values`);
    }
    const empty = before >= span || (out - 1) * step - before >= n;
    return { n, before, out, empty };
  });
  const both = (key: "n" | "before" | "out"): Pair => [axes[0]![key], axes[1]![key]];
  return {
    inSize: both("n"),
    outSize: both("out"),
    pad: both("before"),
    stride,
    /** Whether some window holds no value. */
    empty: axes.some(({ empty }) => empty),
  };
}

function sides(
  path: string,
  padding: Padding,
  axis: number,
  n: number,
  span: number,
  step: number,
): Pair {
  if (padding === "VALID") return [0, 0];
  if (padding === "SAME") {
    const total = Math.max((Math.ceil(n / step) - 1) * step + span - n, 0);
    return [Math.floor(total / 2), total - Math.floor(total / 2)];
  }
  const given = typeof padding === "number" ? [padding, padding] as const : padding[axis];
  if (given === undefined || given.some((x) => !Number.isInteger(x) || x < 0)) {
    throw invalidNode(path, 'padding must be "SAME", "VALID", or whole numbers of at least 0', {
      field: "padding",
    });
  }
  return given;
}
