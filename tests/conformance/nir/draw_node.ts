/** One random node that takes a given shape: every primitive but NIRGraph, with lively parameters. */
import type { Dice } from "../../support/dice.ts";
import { type Field, type Form, type Shape, sizeOf, type SpecNode, type Values } from "./spec.ts";

/** Values of one node a step, at most: graphs stay small so that many can be tried. */
const SIZE_MAX = 72;
const TRIES = 8;

/** How gains are chosen, so that dt is found where the spec says. */
export type Gains = "lively" | "one" | "inverse";

export interface Draw {
  readonly dice: Dice;
  readonly dt: number;
  readonly gains: Gains;
  readonly ifGain: "auto" | "r" | "r_dt";
  readonly exact: boolean;
  readonly flattenBatch: boolean;
}

const NEURONS = ["LIF", "LIF", "IF", "CubaLIF", "LI", "I", "CubaLI", "Threshold"];
const ANY_RANK = [...NEURONS, "Scale", "Delay", "Affine", "Linear"];
const BY_RANK: Readonly<Record<number, readonly string[]>> = {
  1: [...ANY_RANK, "Affine", "Linear", "Affine", "Linear", "Flatten"],
  2: [...ANY_RANK, "Conv1d", "Conv1d", "Conv1d", "Conv1d", "Flatten"],
  3: [...ANY_RANK, "Conv2d", "Conv2d", "Conv2d", "SumPool2d", "AvgPool2d", "Flatten", "Flatten"],
};

export function drawNode(draw: Draw, shape: Shape): SpecNode {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const node = drawType(draw, draw.dice.pick(BY_RANK[shape.length] ?? ANY_RANK), shape);
    if (node !== null && sizeOf(node.out) <= SIZE_MAX) return node;
  }
  return neuron(draw, "LIF", shape);
}

function drawType(draw: Draw, type: string, shape: Shape): SpecNode | null {
  switch (type) {
    case "Affine":
    case "Linear":
      return dense(draw, type, shape);
    case "Conv1d":
    case "Conv2d":
      return conv(draw, type, shape);
    case "SumPool2d":
    case "AvgPool2d":
      return pool(draw, type, shape);
    case "Flatten":
      return flatten(draw, shape);
    case "Delay":
      return delay(draw, shape);
    default:
      return neuron(draw, type, shape);
  }
}

/** Numbers of a shape; f32 values, or sometimes f64 ones that f32 does not hold. */
function fill({ dice }: Draw, shape: Shape, make: () => number, alike = 0.3): Values {
  const form: Form = dice.chance(0.8) ? "f32" : "f64";
  const round = (x: number): number => form === "f32" ? Math.fround(x) : x;
  const first = round(make());
  const one = dice.chance(alike);
  const data = Array.from({ length: sizeOf(shape) }, () => one ? first : round(make()));
  return { shape, data, form };
}

function wholeField(dice: Dice, ...data: number[]): Values {
  return { shape: [data.length], data, form: dice.pick(["i64", "i64", "i32", "f64"]) };
}

function dense(draw: Draw, type: string, shape: Shape): SpecNode {
  const { dice } = draw;
  const inputs = shape.at(-1)!;
  const outputs = dice.chance(0.6) ? inputs : dice.int(1, 7);
  const lead = shape.slice(0, -1);
  const out = [...lead, outputs];
  const reach = 1.6 / Math.sqrt(inputs);
  const weight = weights(draw, [...lead, outputs, inputs], reach);
  const fields: Record<string, Field> = { weight };
  if (type === "Affine") fields["bias"] = fill(draw, out, () => dice.float(-0.1, 0.2));
  return { type, in: shape, out, fields };
}

/** Mostly real numbers; now and then whole ones, stored as integers, with many zeros. */
function weights(draw: Draw, shape: Shape, reach: number): Values {
  const { dice } = draw;
  if (!dice.chance(0.1)) return fill(draw, shape, () => dice.float(-0.7, 1) * reach, 0);
  const data = Array.from({ length: sizeOf(shape) }, () => dice.int(0, 3) === 0 ? 1 : 0);
  return { shape, data, form: dice.pick<Form>(["i64", "u8", "i32"]) };
}

function conv(draw: Draw, type: string, shape: Shape): SpecNode | null {
  const { dice } = draw;
  const [channels, ...size] = shape as [number, ...number[]];
  const groups = dice.pick([1, 1, 2, channels].filter((each) => channels % each === 0));
  const outChannels = groups * dice.int(1, 2);
  const same = dice.chance(0.25);
  const each = <T>(make: (axis: number) => T): T[] => size.map((_, axis) => make(axis));
  const kernel = each(() => dice.int(1, 3));
  const stride = each(() => same ? 1 : dice.pick([1, 1, 2, 3]));
  const dilation = each(() => dice.pick([1, 1, 1, 2]));
  const word = same ? "same" : dice.chance(0.15) ? "valid" : null;
  const padding = each(() => word !== null ? 0 : dice.int(0, 2));
  const outSize = each((axis) => {
    if (same) return size[axis]!;
    const span = dilation[axis]! * (kernel[axis]! - 1) + 1;
    return Math.floor((size[axis]! + 2 * padding[axis]! - span) / stride[axis]!) + 1;
  });
  if (outSize.some((axis) => axis < 1)) return null;
  const inPerGroup = channels / groups;
  const reach = 1.6 / Math.sqrt(inPerGroup * sizeOf(kernel));
  const fields: Record<string, Field> = {
    input_shape: wholeField(dice, ...size),
    weight: weights(draw, [outChannels, inPerGroup, ...kernel], reach),
    stride: wholeField(dice, ...stride),
    padding: word ?? wholeField(dice, ...padding),
    dilation: wholeField(dice, ...dilation),
    groups: wholeField(dice, groups),
  };
  if (dice.chance(0.6)) fields["bias"] = fill(draw, [outChannels], () => dice.float(-0.1, 0.1));
  return { type, in: shape, out: [outChannels, ...outSize], fields };
}

function pool({ dice }: Draw, type: string, shape: Shape): SpecNode | null {
  const [channels, ...size] = shape as [number, number, number];
  const kernel = size.map(() => dice.int(1, 3));
  const stride = size.map(() => dice.int(1, 3));
  const padding = kernel.map((each) => dice.int(0, Math.floor(each / 2)));
  const outSize = size.map((axis, i) =>
    Math.floor((axis + 2 * padding[i]! - kernel[i]!) / stride[i]!) + 1
  );
  if (outSize.some((axis) => axis < 1)) return null;
  const fields = {
    kernel_size: wholeField(dice, ...kernel),
    stride: wholeField(dice, ...stride),
    padding: wholeField(dice, ...padding),
  };
  return { type, in: shape, out: [channels, ...outSize], fields };
}

function flatten({ dice, flattenBatch }: Draw, shape: Shape): SpecNode {
  const start = dice.int(0, shape.length - 1);
  const end = dice.int(start, shape.length - 1);
  const merged = sizeOf(shape.slice(start, end + 1));
  // An axis may be counted from the end; with a batch axis in front, counting from there shifts.
  const named = (axis: number): number =>
    dice.chance(0.5) ? axis - shape.length : axis + (flattenBatch ? 1 : 0);
  const fields = {
    input_type: wholeField(dice, ...shape),
    start_dim: wholeField(dice, named(start)),
    end_dim: wholeField(dice, named(end)),
  };
  const out = [...shape.slice(0, start), merged, ...shape.slice(end + 1)];
  return { type: "Flatten", in: shape, out, fields };
}

/** Whole steps, stored as f32 or f64 seconds; or steps and a bit, far from a half. */
function delay(draw: Draw, shape: Shape): SpecNode {
  const { dice, dt } = draw;
  const least = dice.chance(0.5) ? 1 : 0;
  const most = dice.pick([least, 2, 5]);
  const off = dice.chance(0.2) ? 0.3 : 0;
  const field = fill(draw, shape, () => (dice.int(least, most) + off) * dt);
  return { type: "Delay", in: shape, out: shape, fields: { delay: field } };
}

function neuron(draw: Draw, type: string, shape: Shape): SpecNode {
  const { dice, dt, gains, exact } = draw;
  const all = (low: number, high: number) => fill(draw, shape, () => dice.float(low, high));
  // What a spike of 1 raises a leaky neuron by is about r·dt/tau: small when every r is 1.
  const size = gains === "one" ? 0.2 : 1;
  const tauMin = exact && gains === "lively" ? 0.6 : 1.6;
  const taus = () => fill(draw, shape, () => dice.float(tauMin, 12) * dt);
  const gainFor = (tau: Values): Values => {
    if (gains === "one") return { shape, data: tau.data.map(() => 1), form: "f64" };
    const lift = () => gains === "inverse" ? 1 : dice.float(0.4, 1.5);
    const data = tau.data.map((each) => (each / dt) * lift());
    return { shape, data: data.map(Math.fround), form: "f32" };
  };
  const leak = () => dice.chance(0.5) ? same(shape, 0) : all(-0.05 * size, 0.1 * size);
  const fires = () => ({
    v_threshold: all(0.2 * size, 1.1 * size),
    v_reset: dice.chance(0.5) ? same(shape, 0) : all(-0.2 * size, 0.1 * size),
  });
  const leaky = () => {
    const tau = taus();
    return { tau, r: gainFor(tau), v_leak: leak() };
  };
  const cuba = () => {
    const [synapse, membrane] = [taus(), taus()];
    const [r, w_in] = [gainFor(membrane), gainFor(synapse)];
    const few = dice.chance(0.3) && gains === "lively";
    return {
      tau_syn: synapse,
      tau_mem: membrane,
      r,
      v_leak: leak(),
      w_in: few ? same(shape, 1) : w_in,
    };
  };
  const fieldsOf: Readonly<Record<string, () => Record<string, Field>>> = {
    LIF: () => ({ ...leaky(), ...fires() }),
    LI: leaky,
    CubaLIF: () => ({ ...cuba(), ...fires() }),
    CubaLI: cuba,
    IF: () => ({ r: ifGains(draw, shape), ...fires(), v_threshold: all(0.3, 1.6) }),
    I: () => ({ r: fill(draw, shape, () => dice.float(-0.3, 0.6) / dt) }),
    Threshold: () => ({ threshold: all(0.1 * size, 0.5) }),
    Scale: () => ({ scale: all(-1, 1.2) }),
  };
  return { type, in: shape, out: shape, fields: fieldsOf[type]!() };
}

/** r of an IF for which the chosen reading gives a lively gain. */
function ifGains(draw: Draw, shape: Shape): Values {
  const { dice, dt, ifGain } = draw;
  const kind = dice.int(0, 2);
  if (ifGain === "r") return fill(draw, shape, () => dice.float(0.3, 1.2));
  if (ifGain === "auto" && kind === 0) return same(shape, 1);
  if (kind === 1) return { ...same(shape, 1 / dt), form: "f64" };
  return fill(draw, shape, () => dice.float(0.3, 1.2) / dt);
}

function same(shape: Shape, value: number): Values {
  return { shape, data: new Array<number>(sizeOf(shape)).fill(value), form: "f32" };
}
