/**
 * Models of layers drawn from a seed: every layer of `nn` that can be served, options left out, given as
 * one number, as lists, as f32 or f64, or found in the variables.
 */
import { izhikevich } from "../../examples/custom_neuron/izhikevich.ts";
import { type Module, nn, sequential, type SequentialOptions } from "../../src/model/nn/mod.ts";
import type { NeuronModule } from "../../src/model/nn/mod.ts";
import { Dice } from "../support/dice.ts";

export interface Drawn {
  readonly modules: readonly Module[];
  readonly options: SequentialOptions;
}

/** Layers that take any values, and those that take an image or a list of features alone. */
const ANY = ["neuron", "BatchNorm", "Dropout", "SlidingPSN", "Residual", "Block"] as const;
const IMAGE = ["Conv", "MaxPool", "AvgPool", "SumPool", ...ANY] as const;
const FEATURES = ["Dense", "DelayedDense", "Recurrent", "fast", ...ANY] as const;

export function drawLayers(seed: number): Drawn {
  return new Draw(new Dice(seed)).model();
}

class Draw {
  readonly #dice: Dice;
  readonly #variables: Record<string, never> = {};
  #names = 0;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  model(): Drawn {
    const dice = this.#dice;
    const image = dice.chance(0.5);
    const input = image ? [dice.int(3, 5), dice.int(3, 5), dice.int(1, 3)] : [dice.int(1, 5)];
    const options = {
      input,
      ...(dice.chance(0.5) ? { dt: dice.pick([0.5, 0.1, 2]) } : {}),
      variables: this.#variables,
    };
    const modules: Module[] = [];
    const put = (kind: string): void => {
      modules.push(this.#layer(kind, sequential(modules, options).outputShape));
    };
    if (image) {
      for (let left = dice.int(1, 3); left > 0; left--) put(dice.pick(IMAGE));
      put(dice.pick(["Flatten", "SpatialMean"]));
    }
    for (let left = dice.int(1, 4); left > 0; left--) put(dice.pick(FEATURES));
    return { modules, options };
  }

  #layer(kind: string, shape: readonly number[]): Module {
    const dice = this.#dice;
    const features = shape.at(-1)!;
    const name = dice.chance(0.5) ? { name: this.#fresh() } : {};
    switch (kind) {
      case "Conv": {
        const groups = dice.chance(0.3) ? features : 1;
        const out = groups * dice.int(1, 2);
        return nn.Conv({
          ...this.#weights("kernel", [2, 3, features / groups, out]),
          padding: dice.pick(["SAME", 1, [[1, 0], [2, 1]]]),
          ...this.#maybe("strides", () => dice.pick([1, [2, 1]])),
          ...this.#maybe("dilation", () => 1),
          groups,
          ...this.#maybe("bias", () => dice.chance(0.3) ? false : this.#numbers([out])),
        });
      }
      case "MaxPool":
      case "AvgPool":
      case "SumPool":
        return nn[kind]({
          ...name,
          window: dice.pick([2, [1, 2]]),
          padding: "SAME",
          ...this.#maybe("strides", () => dice.int(1, 2)),
        });
      case "Flatten":
        return nn.Flatten({ ...name, order: dice.pick(["channels_first", "channels_last"]) });
      case "SpatialMean":
        return nn.SpatialMean(name);
      case "Dense": {
        const out = dice.int(1, 5);
        return nn.Dense({
          ...this.#weights("kernel", [features, out]),
          ...this.#maybe("bias", () => this.#numbers([out])),
        });
      }
      case "DelayedDense": {
        const out = dice.int(1, 4);
        return nn.DelayedDense({
          ...this.#weights("kernel", [features, out]),
          delay: this.#numbers([features, out], 0, 4),
          maxDelay: 3,
          ...this.#maybe("sigma", () => 0.5),
        });
      }
      case "BatchNorm":
        return nn.BatchNorm({
          ...this.#weights("mean", [features]),
          var: this.#numbers([features], 0.5, 2),
          ...this.#maybe("scale", () => this.#numbers([features])),
          ...this.#maybe("epsilon", () => 1e-3),
        });
      case "SlidingPSN":
        return nn.SlidingPSN({
          ...name,
          k: 3,
          ...this.#maybe("weight", () => this.#numbers([3])),
          ...this.#maybe("bias", () => -0.2),
        });
      case "Dropout":
        return nn.Dropout(0.25, name);
      case "Block":
        return nn.Block(this.#fresh(), [this.#neuron(shape), nn.Dropout()]);
      case "Residual":
        return nn.Residual({
          ...name,
          branch: [this.#neuron(shape)],
          ...this.#maybe("shortcut", () => [this.#neuron(shape)]),
          ...this.#maybe("connect", () => dice.pick(["add", "and", "iand"])),
        });
      case "Recurrent":
        return nn.Recurrent({
          ...(dice.chance(0.8) ? { neuron: this.#neuron([features]) } : {}),
          ...(dice.chance(0.5)
            ? this.#weights("weights", [features, features], "recurrent")
            : { wiring: this.#wiring(features) }),
        });
      case "fast": {
        const rule = dice.pick(["decaying", "oja", "modulated", "retroactive"] as const);
        const fans = { fanout: this.#numbers([features]), fanoutBias: 0.2 };
        const modulated = {
          modulator: this.#numbers([features]),
          modulatorBias: 0.1,
          ...(rule === "modulated" ? fans : {}),
          ...this.#maybe("clip", () => 0.5),
        };
        return nn.Recurrent({
          neuron: this.#neuron([features]),
          weights: this.#numbers([features, features]),
          fast: {
            rule,
            alpha: this.#numbers([features, features]),
            ...(rule === "modulated" || rule === "retroactive" ? modulated : {}),
            ...this.#maybe("eta", () => 0.05),
          },
        });
      }
      default:
        return this.#neuron(shape);
    }
  }

  #neuron(shape: readonly number[]): NeuronModule {
    const dice = this.#dice;
    const size = shape.at(-1)!;
    const one = (low: number, high: number) =>
      dice.chance(0.5) ? dice.float(low, high) : this.#numbers([size], low, high);
    const leaky = {
      ...(dice.chance(0.5) ? { name: this.#fresh() } : {}),
      ...(dice.chance(0.3) ? { decay: one(-1, 2) } : this.#maybe("tau", () => one(1, 4))),
    };
    const { decay: _, tau: __, ...name } = leaky as { decay?: unknown; tau?: unknown };
    const fires = {
      ...this.#maybe("threshold", () => one(0.3, 1)),
      ...this.#maybe("reset", () => dice.pick(["subtract", "zero", "none"])),
    };
    switch (dice.int(0, 6)) {
      case 0:
        return nn.LIF({ ...leaky, ...fires });
      case 1:
        return nn.IF({ ...name, ...fires });
      case 2:
        return nn.LI(leaky);
      case 3:
        return nn.Synaptic({
          ...leaky,
          ...fires,
          ...this.#maybe(dice.pick(["tauSynapse", "synapseDecay"]), () => one(1, 4)),
        });
      case 4:
        return nn.ALIF({
          ...leaky,
          ...fires,
          ...this.#maybe(dice.pick(["tauAdapt", "adaptDecay"]), () => one(1, 4)),
          ...this.#maybe("beta", () => one(0.5, 1)),
          ...this.#maybe("refractory", () => 3),
        });
      case 5:
        return nn.Rate({
          ...name,
          ...this.#maybe("tau", () => dice.pick([0, 3])),
          ...this.#maybe("activation", () => dice.pick(["tanh", "relu", "sigmoid"])),
          ...this.#maybe("bias", () => one(-1, 1)),
        });
      default:
        return nn.Neuron(izhikevich, this.#maybe("d", () => one(2, 8)), name);
    }
  }

  /** Weights that are given, or that stand in the variables under a fresh name. */
  #weights(option: string, shape: readonly number[], field = option): Record<string, never> {
    const value = this.#numbers(shape);
    if (this.#dice.chance(0.5)) return { [option]: value as never };
    const name = this.#fresh();
    (this.#variables as Record<string, unknown>)[name] = { [field]: value };
    return { name: name as never };
  }

  #wiring(size: number): [number, number, number, number][] {
    const dice = this.#dice;
    return Array.from({ length: dice.int(0, 6) }, () => [
      dice.int(0, size - 1),
      dice.int(0, size - 1),
      dice.float(-1, 1),
      dice.int(1, 3),
    ]);
  }

  #maybe(option: string, value: () => unknown): Record<string, never> {
    return this.#dice.chance(0.5) ? { [option]: value() as never } : {};
  }

  /** As nested lists, or flat in f32 or f64 with a shape. */
  #numbers(shape: readonly number[], low = -1, high = 1): never {
    const dice = this.#dice;
    const size = shape.reduce((product, axis) => product * axis, 1);
    const data = Array.from({ length: size }, () => dice.float(low, high));
    const forms = [
      () => nested(data, shape),
      () => ({ shape, data: Float32Array.from(data) }),
      () => ({ shape, data: Float64Array.from(data) }),
    ];
    return dice.pick(forms)() as never;
  }

  #fresh(): string {
    return `l${this.#names++}`;
  }
}

function nested(data: readonly number[], shape: readonly number[]): unknown {
  if (shape.length <= 1) return data;
  const [length, ...inner] = shape as [number, ...number[]];
  const each = data.length / length;
  return Array.from(
    { length },
    (_, i) => nested(data.slice(i * each, (i + 1) * each), inner),
  );
}
