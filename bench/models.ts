/** Models and inputs of the benches, seeded. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { loadModel } from "../src/mod.ts";
import { compilePlan, graphOf, type NirGraph, type Plan } from "../src/model/mod.ts";

export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state / 2 ** 32;
  }
}

interface Draft {
  readonly nodes: Record<string, object>;
  readonly edges: [string, string][];
}

const filled = (count: number, value: number): number[] => new Array<number>(count).fill(value);

/** Weights such that a few per cent of neurons fire when about 5 % of the inputs do. */
function weights(random: Random, inputs: number, outputs: number, scale = 1): object {
  const spread = scale * 2.5 / Math.sqrt(inputs * 0.05);
  const data = Float32Array.from(
    { length: inputs * outputs },
    () => (random.next() - 0.5) * spread,
  );
  return { type: "Linear", weight: { shape: [outputs, inputs], data } };
}

const lif = (size: number): object => ({
  type: "LIF",
  tau: filled(size, 2e-3),
  r: filled(size, 20),
  v_leak: filled(size, 0),
  v_threshold: filled(size, 2),
});

const li = (size: number): object => ({
  type: "LI",
  tau: filled(size, 2e-3),
  r: filled(size, 20),
  v_leak: filled(size, 0),
});

/** Seconds a time step. */
export const DT = 1e-4;

function compile(name: string, { nodes, edges }: Draft): Plan {
  return compilePlan(graphOf({ name, nodes, edges }), { dt: DT });
}

/** Dense + LIF layers and a dense + LI readout. */
export function mlpGraph(sizes: readonly number[], seed = 1): NirGraph {
  const random = new Random(seed);
  const nodes: Draft["nodes"] = { input: { type: "Input", shape: [sizes[0]!] } };
  const edges: Draft["edges"] = [];
  let from = "input";
  for (let k = 1; k < sizes.length; k++) {
    const [inputs, outputs] = [sizes[k - 1]!, sizes[k]!];
    nodes[`fc${k}`] = weights(random, inputs, outputs);
    nodes[`n${k}`] = k < sizes.length - 1 ? lif(outputs) : li(outputs);
    edges.push([from, `fc${k}`], [`fc${k}`, `n${k}`]);
    from = `n${k}`;
  }
  nodes["output"] = { type: "Output", shape: [sizes.at(-1)!] };
  edges.push([from, "output"]);
  return graphOf({ name: sizes.join("-"), nodes, edges });
}

export function mlp(sizes: readonly number[], seed = 1): Plan {
  return compilePlan(mlpGraph(sizes, seed), { dt: DT });
}

/** Inputs into a population of LIF that feeds itself, and an LI readout. */
export function recurrent(inputs: number, size: number, outputs: number, seed = 2): Plan {
  const random = new Random(seed);
  return compile(`recurrent ${inputs}-${size}-${outputs}`, {
    nodes: {
      input: { type: "Input", shape: [inputs] },
      fc: weights(random, inputs, size),
      n: lif(size),
      w_rec: weights(random, size, size, 0.5),
      out: weights(random, size, outputs),
      readout: li(outputs),
      output: { type: "Output", shape: [outputs] },
    },
    edges: [
      ["input", "fc"],
      ["fc", "n"],
      ["n", "w_rec"],
      ["w_rec", "n"],
      ["n", "out"],
      ["out", "readout"],
      ["readout", "output"],
    ],
  });
}

/** The shape of `cnn_sinabs.nir`: three convolutions with IF, two sum pools, two dense layers. */
export function convolutional(seed = 3): Plan {
  const random = new Random(seed);
  const conv = (out: number, into: number, kernel: number, stride: number, spread: number) => ({
    type: "Conv2d",
    weight: {
      shape: [out, into, kernel, kernel],
      data: Float32Array.from(
        { length: out * into * kernel * kernel },
        () => (random.next() - 0.45) * spread,
      ),
    },
    bias: filled(out, 0),
    stride: [stride, stride],
    padding: [1, 1],
    dilation: [1, 1],
    groups: 1,
  });
  const fire = (shape: number[]): object => {
    const size = shape.reduce((a, b) => a * b);
    const all = (value: number) => ({ shape, data: filled(size, value) });
    return { type: "IF", r: all(1), v_threshold: all(1) };
  };
  const pool = { type: "SumPool2d", kernel_size: [2, 2], stride: [2, 2], padding: [0, 0] };
  const names = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"];
  return compile("conv 2x34x34", {
    nodes: {
      input: { type: "Input", shape: [2, 34, 34] },
      0: conv(16, 2, 5, 2, 0.5),
      1: fire([16, 16, 16]),
      2: conv(16, 16, 3, 1, 0.25),
      3: fire([16, 16, 16]),
      4: pool,
      5: conv(8, 16, 3, 1, 0.25),
      6: fire([8, 8, 8]),
      7: pool,
      8: { type: "Flatten", input_type: [8, 4, 4], start_dim: 0, end_dim: -1 },
      9: weights(random, 128, 256),
      10: fire([256]),
      11: weights(random, 256, 10),
      12: fire([10]),
      output: { type: "Output", shape: [10] },
    },
    edges: ["input", ...names].map((from, k) => [from, names[k] ?? "output"]),
  });
}

/** The file of the paper where it lies beside the repository, else a model of its shape. */
export async function cnn(): Promise<Plan> {
  const file = fileURLToPath(new URL("../../shared/nir/paper/cnn_sinabs.nir", import.meta.url));
  return existsSync(file) ? await loadModel(file) : convolutional();
}

export const BIG = [700, 1024, 512, 20] as const;
export const MLP = [700, 256, 128, 20] as const;

/** The models of the grid, by short name. */
export const MODELS: Readonly<Record<string, () => Plan | Promise<Plan>>> = {
  digits: () => loadModel(fileURLToPath(new URL("../examples/digits/digits.nir", import.meta.url))),
  mlp: () => mlp(MLP),
  recurrent: () => recurrent(128, 256, 20),
  conv: cnn,
  big: () => mlp(BIG),
};

export function spikes(random: Random, length: number, density: number): Float32Array {
  return Float32Array.from({ length }, () => random.next() < density ? 1 : 0);
}
