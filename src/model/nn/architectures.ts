/** Whole models of sparx, their parts named as there, so that their variables fit. */
import { GanglionError } from "../../base/errors.ts";
import {
  BatchNorm,
  Conv,
  Dense,
  Dropout,
  Flatten,
  MaxPool,
  Residual,
  type ResidualOptions,
  SpatialMean,
} from "./feedforward.ts";
import type { Module, NeuronModule } from "./module.ts";
import { LI, LIF } from "./neurons.ts";
import { DelayedDense, Recurrent } from "./recurrent.ts";

export interface SpikingMLPOptions {
  /** Number of hidden layers; their widths follow from the variables. */
  readonly hidden: number;
  readonly neuron?: NeuronModule;
  readonly recurrent?: boolean;
  /** Longest delay of the first synapse, or of every synapse, the readout last; 0 is a dense one. */
  readonly delays?: number | readonly number[];
  readonly batchNorm?: boolean;
  readonly bias?: boolean;
  readonly readoutTau?: number;
  /** Refused: it lengthens the output, so a stream cannot be fed in frames. */
  readonly extend?: boolean;
}

/** Dense (or delayed) synapses and spiking layers, then a leaky readout. All numbers from `variables`. */
export function SpikingMLP(options: SpikingMLPOptions): Module[] {
  const { hidden, neuron = LIF(), delays = 0, bias = true, readoutTau = 2 } = options;
  if (options.extend) {
    throw new GanglionError(
      "model_unsupported",
      "SpikingMLP: extend makes the output longer than the input, so it cannot stream; leave it off",
    );
  }
  const waits = typeof delays === "number"
    ? [delays, ...new Array<number>(hidden).fill(0)]
    : delays;
  if (waits.length !== hidden + 1) {
    throw new GanglionError(
      "model_invalid",
      `SpikingMLP: delays has ${waits.length} entries for ${hidden + 1} synapses`,
    );
  }
  const none = bias ? {} : { bias: false as const };
  const synapse = (maxDelay: number, name: string): Module =>
    maxDelay === 0 ? Dense({ name, ...none }) : DelayedDense({ name, maxDelay, ...none });
  const modules: Module[] = [Flatten({ order: "channels_last" })];
  for (let layer = 0; layer < hidden; layer++) {
    const wait = waits[layer]!;
    modules.push(synapse(wait, wait > 0 ? `delayed_${layer}` : `dense_${layer}`));
    if (options.batchNorm) modules.push(BatchNorm({ name: `norm_${layer}` }));
    modules.push(
      options.recurrent
        ? Recurrent({ name: `recurrent_${layer}`, neuron })
        : { ...neuron, name: `neuron_${layer}` },
    );
    modules.push(Dropout());
  }
  modules.push(synapse(waits[hidden]!, "readout"), LI({ name: "integrator", tau: readoutTau }));
  return modules;
}

type Connect = NonNullable<ResidualOptions["connect"]>;

export interface SEWBlockOptions {
  readonly name: string;
  readonly strides?: number;
  readonly connect?: Connect;
  readonly neuron?: NeuronModule;
  /** Whether the shortcut has a convolution of its own: where strides or widths change. */
  readonly downsample?: boolean;
}

/** Two 3x3 conv, norm, neuron layers, joined to the shortcut elementwise. */
export function SEWBlock(options: SEWBlockOptions): Module {
  const { name, strides = 1, connect = "add", neuron = LIF() } = options;
  const convNorm = (part: string, padding: number, step: number): Module[] => [
    Conv({ name: `${part}_conv`, padding, strides: step, bias: false }),
    BatchNorm({ name: `${part}_bn` }),
  ];
  const shortcut = options.downsample ?? strides !== 1
    ? [...convNorm("downsample", 0, strides), { ...neuron, name: "downsample_sn" }]
    : [];
  return Residual({
    name,
    connect,
    branch: [
      ...convNorm("first", 1, strides),
      { ...neuron, name: "sn1" },
      ...convNorm("second", 1, 1),
      { ...neuron, name: "sn2" },
    ],
    shortcut,
  });
}

export interface SEWResNetOptions {
  /** Blocks of each stage; [2, 2, 2, 2] is SEW-ResNet-18. */
  readonly stages: readonly number[];
  readonly connect?: Connect;
  readonly stem?: "imagenet" | "small";
  readonly neuron?: NeuronModule;
}

/** A spike-element-wise residual network: logits of every step. All numbers from `variables`. */
export function SEWResNet(options: SEWResNetOptions): Module[] {
  const { stages, connect = "add", stem = "imagenet", neuron = LIF() } = options;
  const large = stem === "imagenet";
  const blocks = stages.flatMap((count, stage) =>
    Array.from({ length: count }, (_, block) => {
      const first = stage > 0 && block === 0;
      const name = `stage${stage + 1}_block${block + 1}`;
      return SEWBlock({ name, connect, neuron, strides: first ? 2 : 1 });
    })
  );
  return [
    Conv({ padding: large ? 3 : 1, strides: large ? 2 : 1, bias: false }),
    BatchNorm(),
    { ...neuron, name: "stem_sn" },
    ...(large ? [MaxPool({ window: 3, strides: 2, padding: 1 })] : []),
    ...blocks,
    SpatialMean(),
    Dense(),
  ];
}

/** SEW-ResNet-18. */
export function SEWResNet18(options: Omit<SEWResNetOptions, "stages"> = {}): Module[] {
  return SEWResNet({ ...options, stages: [2, 2, 2, 2] });
}
