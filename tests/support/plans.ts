/**
 * Plans written by hand for the contract suite: small, seeded, and covering every operation, edge kind
 * and state form without the model lane in between.
 */
import { roundHalfEven, sizeOf } from "../../src/base/numeric.ts";
import {
  type LayerName,
  LAYERS,
  MODE_CLAMP,
  MODE_GE,
  MODE_JOIN_FIRST,
  MODE_RESET_SUBTRACT,
} from "../../src/layers/mod.ts";
import type {
  EdgeKind,
  Plan,
  PlanBlock,
  PlanEdge,
  PlanNode,
  PlanOp,
} from "../../src/model/plan.ts";
import { stateOf } from "../../src/model/plan_nodes.ts";

export type { LayerName } from "../../src/layers/mod.ts";

export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state / 2 ** 32;
  }
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }
  floats(length: number, low = -1, high = 1): Float32Array {
    return Float32Array.from({ length }, () => Math.fround(low + this.next() * (high - low)));
  }
  spikes(length: number, density = 0.3): Float32Array {
    return Float32Array.from({ length }, () => this.next() < density ? 1 : 0);
  }
}

export interface NodeSpec {
  readonly name: string;
  readonly op: PlanOp;
  readonly inputs: readonly (string | { from: string; previous: true })[];
  readonly shape: readonly number[];
  readonly kind: EdgeKind;
}

/** Fills in indices, state offsets and blocks; `recurrent` names the nodes of each cycle. */
export function makePlan(
  name: string,
  specs: readonly NodeSpec[],
  recurrent: readonly (readonly string[])[] = [],
): Plan {
  const indexOf = (node: string) => specs.findIndex((spec) => spec.name === node);
  const readLater = new Set(
    specs.flatMap(({ inputs }) =>
      inputs.flatMap((edge) => typeof edge === "string" ? [] : [edge.from])
    ),
  );
  let offset = 0;
  const nodes: PlanNode[] = specs.map((spec, index) => {
    const size = sizeOf(spec.shape);
    const state = stateOf(spec.op, size, readLater.has(spec.name) ? spec.kind : null, offset);
    offset += state.reduce((words, field) => words + field.words, 0);
    const inputs: PlanEdge[] = spec.inputs.map((edge) =>
      typeof edge === "string"
        ? { from: indexOf(edge), previous: false }
        : { from: indexOf(edge.from), previous: true }
    );
    return {
      index,
      name: spec.name,
      type: spec.op.op,
      inputs,
      shape: spec.shape,
      size,
      kind: spec.kind,
      op: spec.op,
      state,
    };
  });
  const blocks: PlanBlock[] = [];
  for (const node of nodes.slice(1)) {
    const cycle = recurrent.find((names) => names.includes(node.name));
    const kind = cycle ? "recurrent" : "feedforward";
    const last = blocks.at(-1);
    const same = last?.kind === kind &&
      (!cycle || cycle.includes(nodes[last.nodes[0]!]!.name));
    if (same) (last!.nodes as number[]).push(node.index);
    else blocks.push({ kind, nodes: [node.index] });
  }
  const output = nodes.at(-1)!;
  return {
    name,
    digest: name,
    dt: 1e-4,
    dtSource: "default",
    discretization: "euler",
    options: {
      compare: "gt",
      reset: "v_reset",
      ifGain: "auto",
      cubaOrder: "new",
      flattenBatch: false,
      dialect: "none",
      gain: "file",
      form: "decay",
      spikes: "one",
      late: "none",
      synapse: "after",
      rest: "zero",
      clamp: false,
    },
    sampleShape: nodes[0]!.shape,
    sampleSize: nodes[0]!.size,
    outputShape: output.shape,
    outputSize: output.size,
    nodes,
    blocks,
    output: output.index,
    stateWords: offset,
    notes: [],
  };
}

export const input = (shape: readonly number[]): NodeSpec => ({
  name: "input",
  op: { op: "input" },
  inputs: [],
  shape,
  kind: "input",
});

/** A spiking or leaking layer with coefficients in lively ranges. */
export function pointwise(
  random: Random,
  layer: LayerName,
  size: number,
  mode: number = 0,
): { op: PlanOp; kind: EdgeKind } {
  const ranges: Record<string, readonly [number, number]> = {
    decay: [0.5, 0.99],
    decay_syn: [0.3, 0.9],
    gain: [0.3, 1.2],
    gain_syn: [0.3, 1],
    leak: [-0.05, 0.05],
    threshold: [0.2, 0.9],
    reset: [-0.2, 0.1],
    scale: [-1.5, 1.5],
    shift: [-0.3, 0.3],
    bias: [-0.3, 0.3],
    decay_adapt: [0.8, 0.99],
    beta: [0.1, 1.5],
    refractory: [2, 2],
    w_in: [0.5, 2],
    r: [0.5, 2],
  };
  const { coefficients, emits } = LAYERS[layer];
  const values = new Float32Array(coefficients.length * size);
  coefficients.forEach((name, k) => {
    const above = values.subarray((k - 1) * size, k * size);
    if (name === "per_threshold") {
      return values.set(above.map((threshold) => 1 / threshold), k * size);
    }
    const [low, high] = ranges[name]!;
    values.set(random.floats(size, low, high), k * size);
  });
  return {
    op: { op: "pointwise", layer, mode, coefficients: values },
    kind: emits === "spike" || emits === "count" ? emits : "real",
  };
}

export function dense(
  random: Random,
  inputs: number,
  outputs: number,
  { bias = true, blocks = 1 } = {},
): { op: PlanOp; kind: EdgeKind } {
  return {
    op: {
      op: "dense",
      blocks,
      inputs,
      outputs,
      weights: random.floats(blocks * inputs * outputs),
      bias: bias ? random.floats(blocks * outputs, -0.2, 0.2) : null,
    },
    kind: "real",
  };
}

/** 33 → 40 → 21: every spiking layer in turn, a leaky readout. */
export function mlpPlan(seed: number, layer: LayerName, mode: number): Plan {
  const random = new Random(seed);
  return makePlan(`mlp-${layer}-${mode}`, [
    input([33]),
    { name: "fc1", inputs: ["input"], shape: [40], ...dense(random, 33, 40) },
    { name: "n1", inputs: ["fc1"], shape: [40], ...pointwise(random, layer, 40, mode) },
    { name: "fc2", inputs: ["n1"], shape: [21], ...dense(random, 40, 21, { bias: false }) },
    { name: "out", inputs: ["fc2"], shape: [21], ...pointwise(random, "li", 21) },
  ]);
}

/** Grouped, dilated, strided convolution, both pools, Flatten by shape, dense with blocks. */
export function convPlan(seed: number): Plan {
  const random = new Random(seed);
  const window = { inSize: [9, 8], outSize: [5, 6] } as const;
  return makePlan("conv", [
    input([4, 9, 8]),
    {
      name: "conv",
      inputs: ["input"],
      shape: [6, 5, 6],
      kind: "real",
      op: {
        op: "conv",
        inChannels: 4,
        outChannels: 6,
        groups: 2,
        ...window,
        kernel: [3, 2],
        stride: [2, 1],
        pad: [1, 0],
        dilation: [1, 2],
        weights: random.floats(2 * 2 * 3 * 2 * 3),
        bias: random.floats(6, -0.1, 0.1),
      },
    },
    { name: "if", inputs: ["conv"], shape: [6, 5, 6], ...pointwise(random, "if", 180, MODE_GE) },
    {
      name: "sum",
      inputs: ["if"],
      shape: [6, 3, 4],
      kind: "count",
      op: {
        op: "pool",
        channels: 6,
        inSize: [5, 6],
        outSize: [3, 4],
        kernel: [3, 2],
        stride: [2, 2],
        pad: [1, 1],
        scale: null,
      },
    },
    {
      name: "avg",
      inputs: ["sum"],
      shape: [6, 1, 2],
      kind: "real",
      op: {
        op: "pool",
        channels: 6,
        inSize: [3, 4],
        outSize: [1, 2],
        kernel: [3, 3],
        stride: [1, 1],
        pad: [0, 0],
        scale: Float32Array.of(1 / 9),
      },
    },
    {
      name: "blocks",
      inputs: ["avg"],
      shape: [2, 5],
      ...dense(random, 6, 5, { blocks: 2 }),
    },
    { name: "out", inputs: ["blocks"], shape: [10], ...pointwise(random, "scale", 10) },
  ]);
}

/** Two neurons in one cycle, a self edge, a delay outside and a delay in the cycle, fan-in of kinds. */
export function recurrentPlan(seed: number): Plan {
  const random = new Random(seed);
  const delays = Uint32Array.from({ length: 36 }, () => random.int(0, 5));
  delays[0] = 5;
  const back = Uint32Array.from({ length: 12 }, () => random.int(0, 3));
  back[1] = 3;
  return makePlan("recurrent", [
    input([19]),
    { name: "fc", inputs: ["input"], shape: [36], ...dense(random, 19, 36) },
    {
      name: "delay",
      inputs: ["fc"],
      shape: [36],
      kind: "real",
      op: { op: "delay", steps: delays, stepsMax: 5 },
    },
    {
      name: "back",
      inputs: [{ from: "down", previous: true }], // a linear node read a step later
      shape: [12],
      kind: "real",
      op: { op: "delay", steps: back, stepsMax: 3 },
    },
    {
      name: "w_rec",
      inputs: [{ from: "a", previous: true }],
      shape: [36],
      ...dense(random, 36, 36),
    },
    { name: "w_back", inputs: ["back"], shape: [36], ...dense(random, 12, 36) },
    {
      name: "a",
      inputs: [{ from: "a", previous: true }, "delay", "w_rec", "w_back"],
      shape: [36],
      ...pointwise(random, "cuba_lif", 36, MODE_RESET_SUBTRACT),
    },
    { name: "down", inputs: ["a"], shape: [12], ...dense(random, 36, 12) },
    { name: "b", inputs: ["down"], shape: [12], ...pointwise(random, "li", 12) },
    { name: "spiked", inputs: ["b"], shape: [12], ...pointwise(random, "threshold", 12) },
    {
      name: "late",
      inputs: ["spiked"],
      shape: [12],
      kind: "spike",
      op: {
        op: "delay",
        steps: new Uint32Array(12).fill(roundHalfEven(2)),
        stepsMax: 2,
      },
    },
    { name: "out", inputs: ["late", "b", "spiked"], shape: [12], ...identityOf("real") },
  ], [["back", "w_rec", "w_back", "a", "down", "b"]]);
}

/** A cycle with two late edges, so that one reader stands behind its source in the step. */
export function lateReaderPlan(seed: number): Plan {
  const random = new Random(seed);
  return makePlan("late-reader", [
    input([9]),
    { name: "fc", inputs: ["input"], shape: [40], ...dense(random, 9, 40) },
    {
      name: "w_back",
      inputs: [{ from: "b", previous: true }],
      shape: [40],
      ...dense(random, 11, 40),
    },
    { name: "a", inputs: ["fc", "w_back"], shape: [40], ...pointwise(random, "lif", 40) },
    {
      name: "w_late",
      inputs: [{ from: "a", previous: true }],
      shape: [11],
      ...dense(random, 40, 11),
    },
    { name: "b", inputs: ["w_late"], shape: [11], ...pointwise(random, "li", 11) },
    {
      name: "both",
      inputs: [{ from: "b", previous: true }, "b"],
      shape: [11],
      ...identityOf("real"),
    },
  ], [["w_back", "a", "w_late", "b", "both"]]);
}

export function identityOf(kind: EdgeKind): { op: PlanOp; kind: EdgeKind } {
  return {
    op: { op: "pointwise", layer: "identity", mode: 0, coefficients: new Float32Array(0) },
    kind,
  };
}

/** Neurons that give several spikes a step: into weights, a pool, a sum, a late reader and the output. */
export function countPlan(seed: number): Plan {
  const random = new Random(seed);
  const [subtract, join] = [MODE_GE | MODE_RESET_SUBTRACT, MODE_JOIN_FIRST];
  const first = pointwise(random, "lif_count", 72, subtract | MODE_CLAMP);
  // Its spikes feed back: a large gain would make them ever more.
  if (first.op.op === "pointwise") {
    const gains = first.op.coefficients.subarray(72, 144);
    gains.set(gains.map((gain) => gain / 10));
  }
  return makePlan("counts", [
    input([2, 6, 6]),
    {
      name: "n1",
      inputs: ["input", { from: "n1", previous: true }],
      shape: [2, 6, 6],
      ...first,
    },
    {
      name: "sum",
      inputs: ["n1"],
      shape: [2, 3, 3],
      kind: "count",
      op: {
        op: "pool",
        channels: 2,
        inSize: [6, 6],
        outSize: [3, 3],
        kernel: [2, 2],
        stride: [2, 2],
        pad: [0, 0],
        scale: null,
      },
    },
    { name: "fc", inputs: ["sum"], shape: [34], ...dense(random, 18, 34) },
    {
      name: "n2",
      inputs: ["fc"],
      shape: [34],
      ...pointwise(random, "cuba_lif_count", 34, subtract | join),
    },
    { name: "n3", inputs: ["n2"], shape: [34], ...pointwise(random, "lif_count", 34) },
  ], [["n1"]]);
}

/** The input straight to an output node, and through an integrator and a CubaLI. */
export function wirePlan(seed: number): Plan {
  const random = new Random(seed);
  return makePlan("wires", [
    input([7]),
    { name: "i", inputs: ["input"], shape: [7], ...pointwise(random, "integrator", 7) },
    { name: "c", inputs: ["input", "i"], shape: [7], ...pointwise(random, "cuba_li", 7, 8) },
    { name: "out", inputs: ["input", "c"], shape: [7], ...identityOf("real") },
  ]);
}
