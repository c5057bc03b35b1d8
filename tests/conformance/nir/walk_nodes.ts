/** Every primitive in float64, written from NIR's equations: what one node does in one step. */
import { sizeOf, type Spec, type SpecNode, wholes } from "./spec.ts";
import { stepsOf } from "./walk_flat.ts";

export interface NodeWalk {
  /** One step; for a Delay that holds everything back, see `recall` and `hear`. */
  step(x: Float64Array): Float64Array;
  recall?(): Float64Array;
  hear?(x: Float64Array): void;
  readonly state: Readonly<Record<string, Float64Array>>;
  /** How near the last step came to another spike, or none. */
  readonly margin: number;
  /** The largest membrane before a reset, or partial sum. */
  readonly reach: number;
}

export function walkNode(node: SpecNode, spec: Spec): NodeWalk {
  switch (node.type) {
    case "Affine":
    case "Linear":
      return stateless((x, reach) => dense(node, x, reach));
    case "Conv1d":
    case "Conv2d":
      return stateless((x, reach) => convolve(node, x, reach));
    case "SumPool2d":
    case "AvgPool2d":
      return stateless((x) => pool(node, x));
    case "Scale":
      return stateless((x) => x.map((each, i) => each * wholes(node, "scale")[i]!));
    case "Delay":
      return new DelayWalk(stepsOf(node, spec.dt), sizeOf(node.in));
    default:
      return new NeuronWalk(node, spec);
  }
}

function stateless(
  compute: (x: Float64Array, reach: (value: number) => void) => Float64Array,
): NodeWalk {
  let most = 0;
  return {
    step: (x) => compute(x, (value) => most = Math.max(most, Math.abs(value))),
    state: {},
    margin: Infinity,
    get reach() {
      return most;
    },
  };
}

function dense(node: SpecNode, x: Float64Array, reach: (value: number) => void): Float64Array {
  const weight = wholes(node, "weight");
  const [inputs, outputs] = [node.in.at(-1)!, node.out.at(-1)!];
  return Float64Array.from({ length: sizeOf(node.out) }, (_, k) => {
    const lead = Math.floor(k / outputs);
    let sum = 0;
    for (let j = 0; j < inputs; j++) {
      sum += weight[k * inputs + j]! * x[lead * inputs + j]!;
      reach(sum);
    }
    return node.type === "Affine" ? sum + wholes(node, "bias")[k]! : sum;
  });
}

/** A stored pair for both axes; Conv1d is a Conv2d of height 1 whose other axis does nothing. */
function pairOf(node: SpecNode, field: string, flat: number): [number, number] {
  const data = wholes(node, field);
  return node.type === "Conv1d" ? [flat, data[0]!] : [data[0]!, data[1]!];
}

function planes(node: SpecNode, shape: readonly number[]): [number, number, number] {
  return node.type === "Conv1d" ? [shape[0]!, 1, shape[1]!] : shape as [number, number, number];
}

function convolve(node: SpecNode, x: Float64Array, reach: (value: number) => void): Float64Array {
  const weight = node.fields["weight"] as { shape: readonly number[]; data: readonly number[] };
  const [, height, width] = planes(node, node.in);
  const [outChannels, outHeight, outWidth] = planes(node, node.out);
  const perGroup = weight.shape[1]!;
  const [kh, kw] = node.type === "Conv1d" ? [1, weight.shape[2]!] : weight.shape.slice(2);
  const [stride, dilation] = [pairOf(node, "stride", 1), pairOf(node, "dilation", 1)];
  const { padding } = node.fields;
  const before = (axis: 0 | 1, kernel: number): number => {
    if (padding === "valid") return 0;
    if (padding === "same") return Math.floor(dilation[axis] * (kernel - 1) / 2);
    return pairOf(node, "padding", 0)[axis];
  };
  const [top, left] = [before(0, kh!), before(1, kw!)];
  const groups = wholes(node, "groups")[0]!;
  const y = new Float64Array(sizeOf(node.out));
  let at = 0;
  for (let o = 0; o < outChannels; o++) {
    const first = Math.floor(o / (outChannels / groups)) * perGroup;
    for (let row = 0; row < outHeight; row++) {
      for (let column = 0; column < outWidth; column++) {
        let sum = 0;
        for (let c = 0; c < perGroup; c++) {
          for (let i = 0; i < kh!; i++) {
            for (let j = 0; j < kw!; j++) {
              const u = row * stride[0] + i * dilation[0] - top;
              const v = column * stride[1] + j * dilation[1] - left;
              if (u < 0 || v < 0 || u >= height || v >= width) continue;
              sum += weight.data[((o * perGroup + c) * kh! + i) * kw! + j]! *
                x[((first + c) * height + u) * width + v]!;
              reach(sum);
            }
          }
        }
        y[at++] = sum + ("bias" in node.fields ? wholes(node, "bias")[o]! : 0);
      }
    }
  }
  return y;
}

function pool(node: SpecNode, x: Float64Array): Float64Array {
  const [, height, width] = planes(node, node.in);
  const [channels, outHeight, outWidth] = planes(node, node.out);
  const [kernel, stride, padding] = ["kernel_size", "stride", "padding"].map((field) =>
    pairOf(node, field, 1)
  ) as [[number, number], [number, number], [number, number]];
  const share = node.type === "AvgPool2d" ? 1 / (kernel[0] * kernel[1]) : 1;
  const y = new Float64Array(sizeOf(node.out));
  for (let c = 0, at = 0; c < channels; c++) {
    for (let row = 0; row < outHeight; row++) {
      for (let column = 0; column < outWidth; column++, at++) {
        for (let i = 0; i < kernel[0]; i++) {
          for (let j = 0; j < kernel[1]; j++) {
            const u = row * stride[0] + i - padding[0];
            const v = column * stride[1] + j - padding[1];
            if (u < 0 || v < 0 || u >= height || v >= width) continue;
            y[at] = y[at]! + x[(c * height + u) * width + v]! * share;
          }
        }
      }
    }
  }
  return y;
}

class DelayWalk implements NodeWalk {
  readonly state = {};
  readonly margin = Infinity;
  readonly reach = 0;
  readonly #past: Float64Array[] = [];
  readonly #steps: readonly number[];
  readonly #size: number;

  constructor(steps: readonly number[], size: number) {
    this.#steps = steps;
    this.#size = size;
  }

  step(x: Float64Array): Float64Array {
    this.#past.unshift(x);
    return this.#at(0);
  }

  recall(): Float64Array {
    return this.#at(1);
  }

  hear(x: Float64Array): void {
    this.#past.unshift(x);
  }

  /** `newest` is how many steps ago the newest entry came. */
  #at(newest: number): Float64Array {
    return Float64Array.from(
      { length: this.#size },
      (_, i) => this.#past[this.#steps[i]! - newest]?.[i] ?? 0,
    );
  }
}

class NeuronWalk implements NodeWalk {
  readonly state: Record<string, Float64Array> = {};
  margin = Infinity;
  reach = 0;
  readonly #node: SpecNode;
  readonly #spec: Spec;

  constructor(node: SpecNode, spec: Spec) {
    this.#node = node;
    this.#spec = spec;
    const size = sizeOf(node.in);
    if (node.type.startsWith("Cuba")) this.state["i"] = new Float64Array(size);
    if (node.type !== "Threshold") this.state["v"] = new Float64Array(size);
  }

  step(x: Float64Array): Float64Array {
    this.margin = Infinity;
    const { type } = this.#node;
    return x.map((input, k) => {
      if (type === "Threshold") return this.#passes(input, this.#of("threshold", k)) ? 1 : 0;
      const v = this.#membrane(input, k);
      this.reach = Math.max(this.reach, Math.abs(v));
      this.state["v"]![k] = v;
      if (!type.endsWith("IF")) return v;
      const threshold = this.#of("v_threshold", k);
      if (!this.#passes(v, threshold)) return 0;
      this.state["v"]![k] = this.#afterSpike(v, threshold, k);
      return 1;
    });
  }

  #of(field: string, k: number): number {
    return wholes(this.#node, field)[k]!;
  }

  #passes(value: number, threshold: number): boolean {
    this.margin = Math.min(this.margin, Math.abs(value - threshold));
    return this.#spec.options.compare === "ge" ? value >= threshold : value > threshold;
  }

  #afterSpike(v: number, threshold: number, k: number): number {
    switch (this.#spec.options.reset) {
      case "zero":
        return 0;
      case "subtract":
        return v - threshold;
      case "none":
        return v;
      default:
        return this.#of("v_reset", k);
    }
  }

  /** What is left after a step of dt of something that decays with tau. */
  #keeps(tau: number): number {
    const { dt, options } = this.#spec;
    return options.discretization === "exact" ? Math.exp(-dt / tau) : 1 - dt / tau;
  }

  #membrane(input: number, k: number): number {
    const { dt, options } = this.#spec;
    const old = this.state["v"]![k]!;
    const { type } = this.#node;
    if (type === "I") return old + dt * this.#of("r", k) * input;
    if (type === "IF") {
      const perStep = options.ifGain === "r" ||
        (options.ifGain !== "r_dt" && wholes(this.#node, "r").every((r) => r === 1));
      return old + this.#of("r", k) * (perStep ? 1 : dt) * input;
    }
    let drive = input;
    if (type.startsWith("Cuba")) {
      const a = this.#keeps(this.#of("tau_syn", k));
      const before = this.state["i"]![k]!;
      const now = a * before + (1 - a) * this.#of("w_in", k) * input;
      this.state["i"]![k] = now;
      drive = options.cubaOrder === "old" ? before : now;
    }
    const d = this.#keeps(this.#of(type.startsWith("Cuba") ? "tau_mem" : "tau", k));
    return d * old + (1 - d) * (this.#of("v_leak", k) + this.#of("r", k) * drive);
  }
}
