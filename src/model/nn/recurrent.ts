/**
 * Layers that look back: populations that feed themselves (dense, sparse with delays, or through fast
 * weights), synapses with delays, and the sliding window of SlidingPSN.
 */
import { roundHalfEven, sizeOf } from "../../base/numeric.ts";
import { FAST_RULES, type FastRule, MODE_GE, OWN_RATES } from "../../layers/mod.ts";
import { invalidNode, shapeText, unsupportedNode } from "../nir_error.ts";
import type { NirTensor } from "../nir.ts";
import type { PlanOp, TapsOp } from "../plan.ts";
import { VALUES_MAX } from "../shapes.ts";
import { LIF } from "./neurons.ts";
import { made, type Module, type Named, type NeuronModule, type Numbers } from "./module.ts";
import { expectShape, type PlanBuilder, toF32, type Value } from "./plan_builder.ts";

/** From unit `pre` to unit `post`; the delay counts steps, 1 is the ordinary recurrence. */
export type SparseEdge = readonly [pre: number, post: number, weight: number, delay: number];

export interface FastWeights {
  readonly rule: FastRule;
  /** How much of the trace is added to each weight, [F, F]. */
  readonly alpha?: Numbers;
  readonly eta?: number;
  readonly clip?: number;
  readonly modulator?: Numbers;
  readonly modulatorBias?: number;
  readonly fanout?: Numbers;
  readonly fanoutBias?: Numbers;
}

export interface RecurrentOptions extends Named {
  readonly neuron?: NeuronModule;
  /** [F, F], from the row's unit to the column's. */
  readonly weights?: Numbers;
  /** Instead of `weights`: single connections, each with its delay. */
  readonly wiring?: readonly SparseEdge[] | Numbers;
  readonly fast?: FastWeights;
}

/** A population that hears itself one step late, or as late as its wiring says. */
export function Recurrent(options: RecurrentOptions = {}): Module {
  return {
    ...made("Recurrent", options),
    build(builder, value, path) {
      const { shape } = value;
      if (shape.length !== 1) {
        throw invalidNode(path, `it takes [F], not ${shapeText(shape)}; put a Flatten before it`);
      }
      const size = shape[0]!;
      const module = options.neuron ?? LIF();
      const neuron = module.neuron(builder, shape, `${path}.neuron`);
      const wiring = builder.find(path, "wiring", options.wiring);
      if (options.fast !== undefined) {
        if (wiring !== null) {
          throw unsupportedNode(path, "fast weights need dense weights, not a sparse wiring");
        }
        return plastic(builder, value, path, module.kind, neuron, options);
      }
      const send = wiring === null
        ? denseOp(builder, path, size, options.weights)
        : wiringOp(path, size, wiring);
      const first = builder.next;
      builder.add({
        name: `${path}.recurrent`,
        type: "Recurrence",
        op: send,
        inputs: [{ from: first + 1, previous: true }],
        shape,
      });
      const out = builder.add({
        name: path,
        type: module.kind,
        op: neuron,
        inputs: [{ from: value.node, previous: false }, { from: first, previous: false }],
        shape,
      });
      builder.cycle([first, out.node]);
      return out;
    },
  };
}

function plastic(
  builder: PlanBuilder,
  { node, shape }: Value,
  path: string,
  type: string,
  neuron: PlanOp,
  options: RecurrentOptions,
): Value {
  const size = shape[0]!;
  const fast = options.fast!;
  const square = (field: string, given: Numbers | undefined): Float32Array => {
    const tensor = builder.need(path, field, given);
    expectShape(path, field, tensor, [size, size]);
    return toF32(path, field, tensor.data);
  };
  const first = builder.next;
  const out = builder.add({
    name: path,
    type,
    op: neuron,
    inputs: [{ from: node, previous: false }, { from: first + 1, previous: true }],
    shape,
  });
  builder.add({
    name: `${path}.fast`,
    type: `Fast weights (${fast.rule})`,
    op: {
      op: "plastic",
      rule: fast.rule,
      size,
      weights: square("recurrent", options.weights),
      alpha: square("alpha", fast.alpha),
      rates: ratesOf(builder, path, size, fast),
    },
    inputs: [{ from: first, previous: false }, { from: first, previous: true }],
    shape,
  });
  builder.cycle([first, first + 1]);
  return out;
}

/** A rule's numbers as src/layers/fast_weights.ts lays them out. */
function ratesOf(
  builder: PlanBuilder,
  path: string,
  size: number,
  fast: FastWeights,
): Float32Array {
  const { rule, eta = 0.01 } = fast;
  if (!FAST_RULES.includes(rule)) {
    throw invalidNode(path, `the rule must be ${FAST_RULES.join(", ")}, not ${rule}`);
  }
  const modulated = rule === "modulated" || rule === "retroactive";
  const bias = modulated ? builder.find(path, "modulator_bias", fast.modulatorBias) : null;
  const mb = bias?.data[0] ?? 0;
  const keep = (1 - eta) ** builder.dt;
  const own: Record<FastRule, number[]> = {
    decaying: [keep, 1 - keep],
    oja: [eta],
    modulated: [fast.clip ?? 2, mb],
    retroactive: [fast.clip ?? 1, mb, 1 - eta, eta],
  };
  const rates = new Float64Array(OWN_RATES + 3 * size);
  rates.set(own[rule]);
  const put = (place: number, field: string, given: Numbers | undefined): void => {
    const { data } = builder.need(path, field, given);
    if (data.length !== 1 && data.length !== size) {
      throw invalidNode(path, `"${field}" has ${data.length} values for ${size} units`, { field });
    }
    for (let i = 0; i < size; i++) {
      rates[OWN_RATES + place * size + i] = data.length === 1 ? data[0]! : data[i]!;
    }
  };
  if (modulated) put(0, "modulator", fast.modulator);
  if (rule === "modulated") {
    put(1, "fanout", fast.fanout);
    put(2, "fanout_bias", fast.fanoutBias);
  }
  return toF32(path, "rates", rates);
}

function denseOp(
  builder: PlanBuilder,
  path: string,
  size: number,
  given: Numbers | undefined,
): PlanOp {
  const tensor = builder.need(path, "recurrent", given);
  expectShape(path, "recurrent", tensor, [size, size]);
  const weights = toF32(path, "recurrent", tensor.data);
  return { op: "dense", blocks: 1, inputs: size, outputs: size, weights, bias: null };
}

/** Its edge brings the step before already, so a delay of 1 waits no more. */
function wiringOp(path: string, size: number, { shape, data }: NirTensor): PlanOp {
  const count = shape[0] ?? 0;
  if (data.length !== 4 * count || shape.length > 2) {
    throw invalidNode(
      path,
      `"wiring" must be connections [pre, post, weight, delay], not ${shapeText(shape)}`,
      { field: "wiring" },
    );
  }
  const synapses = Array.from({ length: count }, (_, k): Synapse => {
    const [pre, post, weight, delay] = data.subarray(4 * k, 4 * k + 4) as unknown as SparseEdge;
    const fits = [pre, post].every((unit) => Number.isInteger(unit) && unit >= 0 && unit < size);
    if (!fits || !Number.isInteger(delay) || delay < 1) {
      throw invalidNode(
        path,
        `connection ${k} is [${[pre, post, weight, delay]}]; units count from 0 to ${size - 1}, ` +
          "delays are whole steps of at least 1",
        { field: "wiring" },
      );
    }
    return { source: pre, output: post, weight, delay: delay - 1 };
  });
  return tapsOp(path, size, size, synapses, null);
}

export interface DelayedDenseOptions extends Named {
  /** [in, out]. */
  readonly kernel?: Numbers;
  /** [in, out], in steps; clipped to 0 … maxDelay, halves to even. */
  readonly delay?: Numbers;
  readonly bias?: Numbers | false;
  readonly maxDelay: number;
  /** 0 (default): each synapse reads one step. Above: a Gaussian of this width over all steps. */
  readonly sigma?: number;
}

/** A dense layer whose every synapse has a delay of its own. */
export function DelayedDense(options: DelayedDenseOptions): Module {
  return {
    ...made("DelayedDense", options),
    build(builder, value, path) {
      const { maxDelay, sigma = 0 } = options;
      if (value.shape.length !== 1 || !Number.isInteger(maxDelay) || maxDelay < 0 || sigma < 0) {
        throw invalidNode(
          path,
          `it takes [F] (here ${shapeText(value.shape)}), a whole maxDelay (${maxDelay}) and a ` +
            `sigma (${sigma}) of at least 0`,
        );
      }
      const inputs = value.shape[0]!;
      const kernel = builder.need(path, "kernel", options.kernel);
      const outputs = kernel.shape.at(-1) ?? 0;
      expectShape(path, "kernel", kernel, [inputs, outputs]);
      const delay = builder.need(path, "delay", options.delay);
      expectShape(path, "delay", delay, [inputs, outputs]);
      toF32(path, "delay", delay.data); // finite
      if (sigma > 0 && !((maxDelay + 1) * delay.data.length <= VALUES_MAX)) {
        throw unsupportedNode(
          path,
          `a sigma above 0 spreads its ${delay.data.length} synapses over ${maxDelay + 1} steps ` +
            `each; more than ${VALUES_MAX} are not taken`,
        );
      }
      const synapses: Synapse[] = [];
      for (let output = 0; output < outputs; output++) {
        for (let source = 0; source < inputs; source++) {
          const at = source * outputs + output;
          const center = Math.min(Math.max(delay.data[at]!, 0), maxDelay);
          for (const [lag, share] of lagsOf(center, maxDelay, sigma)) {
            synapses.push({ source, output, delay: lag, weight: kernel.data[at]! * share });
          }
        }
      }
      const given = options.bias === false ? null : builder.find(path, "bias", options.bias);
      if (given !== null) expectShape(path, "bias", given, [outputs]);
      const bias = given === null ? null : toF32(path, "bias", given.data);
      const op = tapsOp(path, inputs, outputs, synapses, bias);
      return builder.behind(value, path, "DelayedDense", op, [outputs]);
    },
  };
}

/** Lags and their shares: one, or the softmax of -(lag - center)² / 2 sigma². */
function lagsOf(center: number, maxDelay: number, sigma: number): [lag: number, share: number][] {
  if (sigma === 0) return [[roundHalfEven(center), 1]];
  const density = Array.from(
    { length: maxDelay + 1 },
    (_, lag) => -0.5 * ((lag - center) / sigma) ** 2,
  );
  const most = Math.max(...density);
  const shares = density.map((each) => Math.exp(each - most));
  const total = shares.reduce((sum, each) => sum + each, 0);
  return shares.map((share, lag) => [lag, share / total]);
}

export interface SlidingPSNOptions extends Named {
  /** Steps that each output sees, itself included. */
  readonly k: number;
  /** [k], oldest first; …, 1/4, 1/2, 1 when not given. */
  readonly weight?: Numbers;
  readonly bias?: Numbers;
}

/** Fires where bias + Σ weight[i]·x[t-k+1+i] >= 0: a window, no membrane. */
export function SlidingPSN(options: SlidingPSNOptions): Module {
  return {
    ...made("SlidingPSN", options),
    build(builder, value, path) {
      const { k } = options;
      if (!Number.isInteger(k) || k < 1) throw invalidNode(path, `k must be at least 1, not ${k}`);
      const x = builder.channelsFirst(value);
      const size = sizeOf(x.shape);
      if (!(k * size <= VALUES_MAX)) {
        throw unsupportedNode(
          path,
          `its window of ${k} steps holds more than ${VALUES_MAX} values`,
        );
      }
      const weight = builder.find(path, "weight", options.weight)?.data ??
        Float64Array.from({ length: k }, (_, i) => 2 ** (i + 1 - k));
      if (weight.length !== k) {
        throw invalidNode(path, `"weight" has ${weight.length} values for k = ${k}`, {
          field: "weight",
        });
      }
      const given = builder.find(path, "bias", options.bias)?.data ?? Float64Array.of(-1);
      if (given.length !== 1) {
        throw invalidNode(path, `"bias" is one number, not ${given.length}`, { field: "bias" });
      }
      const bias = toF32(path, "bias", new Float64Array(size).fill(given[0]!));
      const synapses: Synapse[] = [];
      for (let unit = 0; unit < size; unit++) {
        for (let i = 0; i < k; i++) {
          synapses.push({ source: unit, output: unit, delay: k - 1 - i, weight: weight[i]! });
        }
      }
      const op = tapsOp(path, size, size, synapses, bias);
      const window = builder.behind(x, `${path}.window`, "Window", op);
      return builder.behind(window, path, "SlidingPSN", {
        op: "pointwise",
        layer: "threshold",
        mode: MODE_GE,
        coefficients: new Float32Array(size),
      });
    },
  };
}

interface Synapse {
  readonly source: number;
  readonly output: number;
  readonly delay: number;
  readonly weight: number;
}

/** Synapses sorted by output, as they came; a dense op where none waits. */
function tapsOp(
  path: string,
  inputs: number,
  outputs: number,
  synapses: readonly Synapse[],
  bias: Float32Array | null,
): PlanOp {
  const stepsMax = synapses.reduce((most, { delay }) => Math.max(most, delay), 0);
  if (stepsMax === 0) {
    const weights = new Float64Array(inputs * outputs);
    for (const { source, output, weight } of synapses) {
      weights[source * outputs + output]! += weight;
    }
    const rounded = toF32(path, "weights", weights);
    return { op: "dense", blocks: 1, inputs, outputs, weights: rounded, bias };
  }
  if (!(stepsMax * inputs <= VALUES_MAX)) {
    throw unsupportedNode(
      path,
      `a delay of ${stepsMax} steps keeps more than ${VALUES_MAX} values`,
    );
  }
  const sorted = synapses.toSorted((a, b) => a.output - b.output);
  const starts = new Uint32Array(outputs + 1);
  for (const { output } of sorted) starts[output + 1]!++;
  for (let j = 0; j < outputs; j++) starts[j + 1]! += starts[j]!;
  const op: TapsOp = {
    op: "taps",
    inputs,
    outputs,
    starts,
    sources: Uint32Array.from(sorted, ({ source }) => source),
    delays: Uint32Array.from(sorted, ({ delay }) => delay),
    weights: toF32(path, "weights", sorted.map(({ weight }) => weight)),
    bias,
    stepsMax,
  };
  return op;
}
