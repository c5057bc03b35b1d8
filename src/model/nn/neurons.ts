/**
 * Neurons, with the arithmetic of sparx: d = exp(-dt/tau), the input is added after the decay and not
 * scaled, v >= threshold fires, the reset follows in the same step. tau has the unit of dt.
 */
import { canonicalise, sizeOf } from "../../base/numeric.ts";
import {
  layerNamed,
  LAYERS,
  MODE_GE,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
  type PointwiseLayer,
} from "../../layers/mod.ts";
import { definedLayerOp } from "../defined_layer.ts";
import { roundHalfEven } from "../../base/numeric.ts";
import { invalidNode } from "../nir_error.ts";
import type { PlanOp } from "../plan.ts";
import { refused } from "./feedforward.ts";
import { made, type Module, type Named, type NeuronModule, type Numbers } from "./module.ts";
import { perElement, type PlanBuilder, toF32 } from "./plan_builder.ts";

export interface SpikingOptions extends Named {
  readonly threshold?: Numbers;
  /** After a spike: take the threshold off (default), go to zero, or leave the membrane alone. */
  readonly reset?: "subtract" | "zero" | "none";
}

export interface LeakyOptions extends Named {
  readonly tau?: Numbers;
  /** A learned decay: one raw number a feature, its logistic is the decay. Stands for `tau`. */
  readonly decay?: Numbers;
}

type At = (element: number) => number;

/** LIF: v = d·v + x. */
export function LIF(options: SpikingOptions & LeakyOptions = {}): NeuronModule {
  return population(
    "LIF",
    options,
    ({ decay, threshold, mode, make }) =>
      make("lif", mode(options), {
        decay: decay("tau", options.tau, 2, "decay", options.decay),
        gain: () => 1,
        leak: () => 0,
        threshold: threshold(options),
        reset: () => 0,
      }),
  );
}

/** IF: v = v + x. */
export function IF(options: SpikingOptions = {}): NeuronModule {
  return population("IF", options, ({ threshold, mode, make }) =>
    make("if", mode(options), {
      gain: () => 1,
      threshold: threshold(options),
      reset: () => 0,
    }));
}

/** LI: v = d·v + x leaves. */
export function LI(options: LeakyOptions = {}): NeuronModule {
  return population("LI", options, ({ decay, make }) =>
    make("li", 0, {
      decay: decay("tau", options.tau, 2, "decay", options.decay),
      gain: () => 1,
      leak: () => 0,
    }));
}

export interface SynapticOptions extends SpikingOptions, LeakyOptions {
  readonly tauSynapse?: Numbers;
  readonly synapseDecay?: Numbers;
}

/** The LIF behind a synaptic current: i = ds·i + x; v = d·v + the new i. */
export function Synaptic(options: SynapticOptions = {}): NeuronModule {
  return population(
    "Synaptic",
    options,
    ({ decay, threshold, mode, make }) =>
      make("cuba_lif", mode(options), {
        decay_syn: decay(
          "tau_synapse",
          options.tauSynapse,
          5,
          "synapse_decay",
          options.synapseDecay,
        ),
        gain_syn: () => 1,
        decay: decay("tau", options.tau, 10, "decay", options.decay),
        gain: () => 1,
        leak: () => 0,
        threshold: threshold(options),
        reset: () => 0,
      }),
  );
}

export interface AlifOptions extends SpikingOptions, LeakyOptions {
  readonly tauAdapt?: Numbers;
  readonly adaptDecay?: Numbers;
  readonly beta?: Numbers;
  /** Time after a spike in which no other follows, in the unit of dt. */
  readonly refractory?: number;
}

/** The LIF whose threshold rises by beta·a, a = da·a + s; the reset takes off the base threshold. */
export function ALIF(options: AlifOptions = {}): NeuronModule {
  return population("ALIF", options, ({ builder, path, decay, at, threshold, mode, make }) => {
    const silent = roundHalfEven((options.refractory ?? 0) / builder.dt);
    if (!(silent >= 0 && silent < 2 ** 24)) {
      throw invalidNode(path, `refractory must not be negative, nor ${options.refractory}`, {
        field: "refractory",
      });
    }
    return make("alif", mode(options), {
      decay: decay("tau", options.tau, 20, "decay", options.decay),
      decay_adapt: decay("tau_adapt", options.tauAdapt, 200, "adapt_decay", options.adaptDecay),
      beta: at("beta", options.beta, 1.8),
      threshold: threshold(options),
      refractory: () => silent,
    });
  });
}

export interface RateOptions extends Named {
  /** 0: no memory. */
  readonly tau?: number;
  readonly activation?: "tanh" | "relu" | "sigmoid";
  readonly bias?: Numbers;
}

/** A leaky rate unit: h = d·h + (1 − d)·f(x + bias). */
export function Rate(options: RateOptions = {}): NeuronModule {
  return population("Rate", options, ({ path, at, decay, make }) => {
    const { tau = 2, activation = "tanh" } = options;
    if (!["tanh", "relu", "sigmoid"].includes(activation)) {
      throw invalidNode(path, `activation must be tanh, relu or sigmoid, not ${activation}`);
    }
    const keep: At = tau === 0 ? () => 0 : decay("tau", tau, 2, "decay", undefined);
    return make(`rate_${activation}`, 0, {
      decay: keep,
      gain: (i) => 1 - keep(i),
      bias: at("bias", options.bias, 0),
    });
  });
}

/** A layer that `defineLayer` made, with its parameters: one number, a feature each, or an element each. */
export function Neuron(
  layer: PointwiseLayer,
  parameters: Readonly<Record<string, Numbers>> = {},
  options: Named = {},
): NeuronModule {
  const stored = { neuron: layer.name, parameters, ...options };
  return population("Neuron", stored, ({ builder, path, shape }) => {
    if (layer.discretise === null && layer.name in LAYERS) {
      throw invalidNode(
        path,
        `the layer ${layer.name} is a built-in one without parameters of its own; LIF, Synaptic and ` +
          "the others of nn make those",
      );
    }
    for (const key of Object.keys(parameters)) {
      if (!Object.hasOwn(layer.parameters, key)) {
        const known = Object.keys(layer.parameters).join(", ") || "none";
        throw invalidNode(
          path,
          `the layer ${layer.name} has no parameter "${key}"; it has ${known}`,
        );
      }
    }
    const read = Object.entries(layer.parameters).map(([key, { default: value }]) => {
      const given = builder.find(path, key, parameters[key]);
      if (given === null && value === undefined) builder.need(path, key, undefined);
      const at = given === null ? () => value! : perElement(path, key, given, shape);
      return [key, at] as const;
    });
    const valuesAt = (i: number) => Object.fromEntries(read.map(([key, at]) => [key, at(i)]));
    return definedLayerOp(path, layer, sizeOf(shape), valuesAt, builder.dt);
  }, layer.name);
}

/** All steps at once: spikes = H(W x over time + b). */
export function PSN(options: Named = {}): Module {
  return refused("PSN", options, WHOLE_STREAM);
}

export function MaskedPSN(options: Named = {}): Module {
  return refused("MaskedPSN", options, WHOLE_STREAM);
}

const WHOLE_STREAM =
  "every step of its output reads every step of its input, so it cannot stream; use SlidingPSN or " +
  "a recurrent neuron";

interface Population {
  readonly builder: PlanBuilder;
  readonly path: string;
  readonly shape: readonly number[];
  /** A parameter that was given, that the variables hold, or its default. */
  readonly at: (field: string, given: Numbers | undefined, fallback: number) => At;
  /** exp(-dt/tau), or the learned decay where one is given or the variables hold one. */
  readonly decay: (
    tauField: string,
    tau: Numbers | undefined,
    fallback: number,
    field: string,
    learned: Numbers | undefined,
  ) => At;
  readonly threshold: (options: SpikingOptions) => At;
  readonly mode: (options: SpikingOptions) => number;
  readonly make: (layer: string, mode: number, rules: Readonly<Record<string, At>>) => PlanOp;
}

function population(
  kind: string,
  options: Named,
  opOf: (population: Population) => PlanOp,
  type: string = kind,
): NeuronModule {
  const neuron: NeuronModule["neuron"] = (builder, shape, path) =>
    opOf(populationOf(builder, shape, path));
  return {
    ...made(kind, options, type),
    neuron,
    build(builder, value, path) {
      const x = builder.channelsFirst(value);
      return builder.behind(x, path, type, neuron(builder, x.shape, path));
    },
  };
}

function populationOf(builder: PlanBuilder, shape: readonly number[], path: string): Population {
  const at: Population["at"] = (field, given, fallback) => {
    const tensor = builder.find(path, field, given);
    return tensor === null ? () => fallback : perElement(path, field, tensor, shape);
  };
  return {
    builder,
    path,
    shape,
    at,
    decay(tauField, tau, fallback, field, learned) {
      const raw = builder.find(path, field, learned);
      if (raw !== null) {
        const each = perElement(path, field, raw, shape);
        return (i) => (1 / (1 + Math.exp(-each(i)))) ** builder.dt;
      }
      const each = at(tauField, tau, fallback);
      return (i) => {
        const value = each(i);
        if (!(value > 0)) {
          throw invalidNode(path, `a time constant must be positive, not ${value}`, {
            field: tauField,
          });
        }
        return Math.exp(-builder.dt / value);
      };
    },
    threshold: (options) => at("threshold", options.threshold, 1),
    mode({ reset = "subtract" }) {
      const resets = { subtract: MODE_RESET_SUBTRACT, zero: 0, none: MODE_RESET_NONE };
      if (!Object.hasOwn(resets, reset)) {
        throw invalidNode(path, `reset must be subtract, zero or none, not ${reset}`);
      }
      return MODE_GE | resets[reset];
    },
    make(layer, mode, rules) {
      const size = sizeOf(shape);
      const names = layerNamed(layer).coefficients;
      const coefficients = new Float32Array(names.length * size);
      names.forEach((name, row) => {
        const values = toF32(
          path,
          name,
          Float64Array.from({ length: size }, (_, i) => rules[name]!(i)),
        );
        coefficients.set(values, row * size);
      });
      return { op: "pointwise", layer, mode, coefficients: canonicalise(coefficients) };
    },
  };
}
