/**
 * Sizes of convolutions and pools: fields and input shape → every number the plan needs. Both axes
 * have their own kernel, stride, padding and dilation; Conv1d is a Conv2d of height 1. Errors name the
 * node.
 */
import type { ConvOp, PoolOp } from "./plan.ts";
import type { NirNode } from "./nir.ts";
import { invalidNode, shapeText, unsupportedNode } from "./nir_error.ts";
import { tensorOf, wholesOf } from "./nir_schema.ts";

type Pair = readonly [number, number];

/** A pool's window has no weights whose bytes would bound it, but every output walks over it. */
export const WINDOW_MAX = 2 ** 20;

export type ConvGeometry = Omit<ConvOp, "op" | "weights" | "bias">;
export type PoolGeometry = Omit<PoolOp, "op" | "scale">;

/** Input channels and, where the file says so, the whole input shape of a convolution. */
export function convInput(
  name: string,
  node: NirNode,
): { channels: number; shape: number[] | null } {
  const axes = node.type === "Conv1d" ? 1 : 2;
  const weight = tensorOf(node, "weight").shape;
  if (weight.length !== axes + 2) {
    throw invalidNode(
      name,
      `the weight of a ${node.type} has ${axes + 2} axes, not ${shapeText(weight)}`,
      { field: "weight" },
    );
  }
  const channels = weight[1]! * groupsOf(name, node);
  const size = wholesOf(node, "input_shape");
  if (size === null) return { channels, shape: null };
  if (size.length !== axes && size.length !== 1) {
    throw invalidNode(name, `input_shape ${shapeText(size)} must have ${axes} entries`, {
      field: "input_shape",
    });
  }
  const spread = size.length === axes ? size : [size[0]!, size[0]!];
  if (spread.some((axis) => axis < 1)) {
    throw invalidNode(name, `input_shape ${shapeText(size)} must be positive`, {
      field: "input_shape",
    });
  }
  return { channels, shape: [channels, ...spread] };
}

/** `shape` is [channels, n] or [channels, height, width]. */
export function convGeometry(
  name: string,
  node: NirNode,
  shape: readonly number[],
): ConvGeometry {
  const flat = node.type === "Conv1d";
  const weight = tensorOf(node, "weight").shape;
  const groups = groupsOf(name, node);
  const inChannels = weight[1]! * groups;
  if (shape.length !== (flat ? 2 : 3) || shape[0] !== inChannels) {
    const wanted = flat ? `[${inChannels},n]` : `[${inChannels},height,width]`;
    throw invalidNode(
      name,
      `it takes ${wanted}, but receives ${shapeText(shape)}${batch(shape, flat ? 2 : 3)}`,
    );
  }
  if (weight[0]! % groups !== 0) {
    throw invalidNode(name, `${weight[0]} output channels cannot be split into ${groups} groups`, {
      field: "groups",
    });
  }
  const inSize = lift(flat, shape.slice(1), 1);
  const kernel = lift(flat, weight.slice(2), 1);
  const stride = pair(name, node, "stride", 1, 1);
  const dilation = pair(name, node, "dilation", 1, 1);
  const padding = node.fields.get("padding");
  const same = padding === "same";
  if (same && (stride[0] !== 1 || stride[1] !== 1)) {
    throw invalidNode(name, 'padding "same" needs stride 1', { field: "padding" });
  }
  const spans: Pair = [dilation[0] * (kernel[0] - 1), dilation[1] * (kernel[1] - 1)];
  const pad: Pair = same
    ? [Math.floor(spans[0] / 2), Math.floor(spans[1] / 2)]
    : padding === "valid"
    ? [0, 0]
    : pair(name, node, "padding", 0, 0);
  const outSize: Pair = same ? inSize : [
    windows(name, inSize[0], pad[0], spans[0], stride[0]),
    windows(name, inSize[1], pad[1], spans[1], stride[1]),
  ];
  return {
    inChannels,
    outChannels: weight[0]!,
    groups,
    inSize,
    outSize,
    kernel,
    stride,
    pad,
    dilation,
  };
}

/** `shape` is [channels, height, width]. */
export function poolGeometry(
  name: string,
  node: NirNode,
  shape: readonly number[],
): PoolGeometry {
  if (shape.length !== 3) {
    throw invalidNode(
      name,
      `it takes [channels,height,width], but receives ${shapeText(shape)}${batch(shape, 3)}`,
    );
  }
  const kernel = pair(name, node, "kernel_size", 1, 1);
  const stride = pair(name, node, "stride", 1, 1);
  const pad = pair(name, node, "padding", 0, 0);
  if (!(kernel[0] * kernel[1] <= WINDOW_MAX)) {
    throw unsupportedNode(
      name,
      `its window of ${shapeText(kernel)} has more than ${WINDOW_MAX} values; give a smaller ` +
        "kernel_size",
      { field: "kernel_size" },
    );
  }
  const inSize: Pair = [shape[1]!, shape[2]!];
  const outSize: Pair = [
    windows(name, inSize[0], pad[0], kernel[0] - 1, stride[0]),
    windows(name, inSize[1], pad[1], kernel[1] - 1, stride[1]),
  ];
  return { channels: shape[0]!, inSize, outSize, kernel, stride, pad };
}

/** A hint where a shape has one axis too many. */
function batch(shape: readonly number[], axes: number): string {
  if (shape.length !== axes + 1) return "";
  return "; shapes of NIR leave the batch out: take its axis out of the Input's shape";
}

/** floor((n + 2p - span - 1)/s + 1), where span = d·(k-1). */
function windows(name: string, n: number, pad: number, span: number, stride: number): number {
  const count = Math.floor((n + 2 * pad - span - 1) / stride) + 1;
  if (count < 1) {
    throw invalidNode(
      name,
      `its window of ${span + 1} does not fit into ${n} values with padding ${pad}`,
    );
  }
  return count;
}

function groupsOf(name: string, node: NirNode): number {
  const groups = wholesOf(node, "groups")!;
  if (groups.length !== 1 || groups[0]! < 1) {
    throw invalidNode(name, `groups must be one positive number, not ${shapeText(groups)}`, {
      field: "groups",
    });
  }
  return groups[0]!;
}

/** A field that is one number for both axes or a pair; of a Conv1d, the width's alone. */
function pair(name: string, node: NirNode, field: string, least: number, flatValue: number): Pair {
  const values = wholesOf(node, field) ?? [];
  const flat = node.type === "Conv1d";
  if (values.length !== 1 && (flat || values.length !== 2)) {
    throw invalidNode(name, `${field} must have ${flat ? 1 : "1 or 2"} entries`, { field });
  }
  if (values.some((value) => value < least)) {
    throw invalidNode(name, `${field} must be at least ${least}, not ${shapeText(values)}`, {
      field,
    });
  }
  return flat ? [flatValue, values[0]!] : [values[0]!, values.at(-1)!];
}

function lift(flat: boolean, axes: readonly number[], height: number): Pair {
  return flat ? [height, axes[0]!] : [axes[0]!, axes[1]!];
}
