/**
 * Every layer of `nn` as it stands in a file: which options it has, and what each may hold. One table
 * for the reader (read_layers.ts) and the writer (write_layers.ts). Whole models (SpikingMLP, SEWResNet)
 * have no line: they are stored as the layers that they are made of.
 */
import { layerNamed } from "../../layers/mod.ts";
import * as feedforward from "./feedforward.ts";
import type { Module } from "./module.ts";
import * as neurons from "./neurons.ts";
import * as recurrent from "./recurrent.ts";

/** What one option may hold. */
export type Form =
  /** Numbers in any shape; lists are kept as variables under this name. `none`: may be false. */
  | { readonly form: "numbers"; readonly variable: string; readonly none?: boolean }
  | { readonly form: "number" }
  | { readonly form: "word"; readonly words: readonly string[] }
  | { readonly form: "text" }
  /** One number, or one for each axis. */
  | { readonly form: "pair" }
  /** SAME, VALID, one number, or [before, after] for each axis. */
  | { readonly form: "padding" }
  | { readonly form: "layers" }
  /** One layer that is a population of neurons. */
  | { readonly form: "neuron" }
  /** Options of its own, in an object. */
  | { readonly form: "group"; readonly fields: Fields }
  /** Numbers by the names of a defined layer's parameters. */
  | { readonly form: "parameters" };

export type Fields = Readonly<Record<string, Form>>;

export interface LayerForm {
  readonly fields: Fields;
  readonly needed: readonly string[];
  /** The layer with options that fit `fields`. */
  readonly make: (options: never) => Module;
}

const number: Form = { form: "number" };
const pair: Form = { form: "pair" };
const layers: Form = { form: "layers" };
const numbers = (variable: string): Form => ({ form: "numbers", variable });
const bias: Form = { form: "numbers", variable: "bias", none: true };
const word = (...words: string[]): Form => ({ form: "word", words });

/** Every option of a layer must have its form: the types see to it. */
function form<O extends object>(
  make: (options: O) => Module,
  fields: { readonly [K in Exclude<keyof O, "name">]-?: Form },
  needed: readonly (keyof O & string)[] = [],
): LayerForm {
  return { make, fields: fields as Fields, needed };
}

const leaky = { tau: numbers("tau"), decay: numbers("decay") };
const fires = { threshold: numbers("threshold"), reset: word("subtract", "zero", "none") };
const pool = { window: pair, strides: pair, padding: { form: "padding" } } as const;
const fast = {
  rule: word("decaying", "oja", "modulated", "retroactive"),
  alpha: numbers("alpha"),
  eta: number,
  clip: number,
  modulator: numbers("modulator"),
  modulatorBias: number,
  fanout: numbers("fanout"),
  fanoutBias: numbers("fanout_bias"),
} satisfies { readonly [K in keyof Required<recurrent.FastWeights>]: Form };

interface Stored {
  readonly name?: string;
}

export const LAYER_FORMS: Readonly<Record<string, LayerForm>> = {
  Dense: form(feedforward.Dense, { kernel: numbers("kernel"), bias }),
  Conv: form(feedforward.Conv, {
    kernel: numbers("kernel"),
    bias,
    strides: pair,
    padding: { form: "padding" },
    dilation: pair,
    groups: number,
  }),
  BatchNorm: form(feedforward.BatchNorm, {
    mean: numbers("mean"),
    var: numbers("var"),
    scale: numbers("scale"),
    bias: numbers("bias"),
    epsilon: number,
  }),
  MaxPool: form(feedforward.MaxPool, pool, ["window"]),
  AvgPool: form(feedforward.AvgPool, pool, ["window"]),
  SumPool: form(feedforward.SumPool, pool, ["window"]),
  SpatialMean: form(feedforward.SpatialMean, {}),
  Flatten: form(feedforward.Flatten, { order: word("channels_first", "channels_last") }),
  Dropout: form(
    ({ rate, ...options }: Stored & { rate?: number }) => feedforward.Dropout(rate, options),
    { rate: number },
  ),
  Block: form(
    ({ name, modules }: { name: string; modules: readonly Module[] }) =>
      feedforward.Block(name, modules),
    { modules: layers },
    ["name", "modules"],
  ),
  Residual: form(feedforward.Residual, {
    branch: layers,
    shortcut: layers,
    connect: word("add", "and", "iand"),
  }, ["branch"]),
  TimeMean: form(feedforward.TimeMean, {}),
  LIF: form(neurons.LIF, { ...leaky, ...fires }),
  IF: form(neurons.IF, fires),
  LI: form(neurons.LI, leaky),
  Synaptic: form(neurons.Synaptic, {
    ...leaky,
    ...fires,
    tauSynapse: numbers("tau_synapse"),
    synapseDecay: numbers("synapse_decay"),
  }),
  ALIF: form(neurons.ALIF, {
    ...leaky,
    ...fires,
    tauAdapt: numbers("tau_adapt"),
    adaptDecay: numbers("adapt_decay"),
    beta: numbers("beta"),
    refractory: number,
  }),
  Rate: form(neurons.Rate, {
    tau: number,
    activation: word("tanh", "relu", "sigmoid"),
    bias: numbers("bias"),
  }),
  Neuron: form(
    ({ neuron, parameters, ...options }: Stored & {
      neuron: string;
      parameters?: Parameters<typeof neurons.Neuron>[1];
    }) => neurons.Neuron(layerNamed(neuron), parameters, options),
    { neuron: { form: "text" }, parameters: { form: "parameters" } },
    ["neuron"],
  ),
  PSN: form(neurons.PSN, {}),
  MaskedPSN: form(neurons.MaskedPSN, {}),
  Recurrent: form(recurrent.Recurrent, {
    neuron: { form: "neuron" },
    weights: numbers("recurrent"),
    wiring: numbers("wiring"),
    fast: { form: "group", fields: fast },
  }),
  DelayedDense: form(recurrent.DelayedDense, {
    kernel: numbers("kernel"),
    delay: numbers("delay"),
    bias,
    maxDelay: number,
    sigma: number,
  }, ["maxDelay"]),
  SlidingPSN: form(recurrent.SlidingPSN, {
    k: number,
    weight: numbers("weight"),
    bias: numbers("bias"),
  }, ["k"]),
};
