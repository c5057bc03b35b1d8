/** Plans for the contract suite with the operations that only layers built in TypeScript use. */
import { type FastRule, MODE_GE, OWN_RATES } from "../../src/layers/mod.ts";
import type { ConnectOp, ConvOp, Plan, PlanOp, PoolOp } from "../../src/model/plan.ts";
import { dense, identityOf, input, makePlan, pointwise, Random } from "./plans.ts";

/** Synapses with delays, from nothing to several an output, some with a bias. */
function taps(random: Random, inputs: number, outputs: number, bias: boolean): PlanOp {
  const starts = [0];
  const sources: number[] = [];
  const delays: number[] = [];
  for (let j = 0; j < outputs; j++) {
    const count = j === 1 ? 0 : random.int(1, 7);
    for (let k = 0; k < count; k++) {
      sources.push(random.int(0, inputs - 1));
      delays.push(random.int(0, 6));
    }
    starts.push(sources.length);
  }
  delays[0] = 6;
  return {
    op: "taps",
    inputs,
    outputs,
    starts: Uint32Array.from(starts),
    sources: Uint32Array.from(sources),
    delays: Uint32Array.from(delays),
    weights: random.floats(sources.length),
    bias: bias ? random.floats(outputs, -0.2, 0.2) : null,
    stepsMax: 6,
  };
}

/** Delayed synapses from the input and from two edges, and in a cycle on spikes of the step before. */
export function tapsPlan(seed: number): Plan {
  const random = new Random(seed);
  return makePlan("taps", [
    input([13]),
    { name: "t1", inputs: ["input"], shape: [37], kind: "real", op: taps(random, 13, 37, true) },
    {
      name: "back",
      inputs: [{ from: "n", previous: true }],
      shape: [37],
      kind: "real",
      op: taps(random, 37, 37, false),
    },
    { name: "n", inputs: ["t1", "back"], shape: [37], ...pointwise(random, "lif", 37) },
    {
      name: "t2",
      inputs: ["n", "t1"],
      shape: [5],
      kind: "real",
      op: taps(random, 37, 5, true),
    },
    { name: "out", inputs: ["t2"], shape: [5], ...pointwise(random, "li", 5) },
  ], [["back", "n"]]);
}

/** A rate population under fast weights. */
export function plasticPlan(seed: number, rule: FastRule): Plan {
  const random = new Random(seed);
  const size = 11;
  const rates = random.floats(OWN_RATES + 3 * size, -0.6, 0.6);
  rates.set(
    { decaying: [0.8, 0.2], oja: [0.3], modulated: [0.4, 0.1], retroactive: [0.3, 0.1, 0.7, 0.3] }[
      rule
    ],
  );
  return makePlan(`plastic-${rule}`, [
    input([7]),
    { name: "fc", inputs: ["input"], shape: [size], ...dense(random, 7, size) },
    {
      name: "n",
      inputs: ["fc", { from: "fast", previous: true }],
      shape: [size],
      ...pointwise(random, "rate_tanh", size),
    },
    {
      name: "fast",
      inputs: ["n", { from: "n", previous: true }],
      shape: [size],
      kind: "real",
      op: {
        op: "plastic",
        rule,
        size,
        weights: random.floats(size * size),
        alpha: random.floats(size * size),
        rates,
      },
    },
    { name: "out", inputs: ["n"], shape: [size], ...pointwise(random, "rate_relu", size) },
  ], [["n", "fast"]]);
}

/** Another order, a max pool with a border, batch norm, and both products of two branches. */
export function residualPlan(seed: number, how: ConnectOp["how"]): Plan {
  const random = new Random(seed);
  const channels = 5;
  const order = Uint32Array.from({ length: 180 }, (_, i) => (i * 7) % 180);
  return makePlan(`residual-${how}`, [
    input([180]),
    {
      name: "turn",
      inputs: ["input"],
      shape: [5, 6, 6],
      kind: "real",
      op: { op: "permute", from: order },
    },
    { name: "bn", inputs: ["turn"], shape: [5, 6, 6], ...pointwise(random, "norm", 180) },
    { name: "a", inputs: ["bn"], shape: [5, 6, 6], ...pointwise(random, "if", 180, MODE_GE) },
    { name: "b", inputs: ["turn"], shape: [5, 6, 6], ...pointwise(random, "lif", 180) },
    {
      name: "spikes",
      inputs: ["a", "b"],
      shape: [5, 6, 6],
      kind: "spike",
      op: { op: "connect", how },
    },
    {
      name: "back",
      inputs: ["spikes"],
      shape: [180],
      kind: "spike",
      op: { op: "permute", from: order },
    },
    {
      name: "pool",
      inputs: ["bn"],
      shape: [5, 4, 3],
      kind: "real",
      op: {
        op: "max_pool",
        channels,
        inSize: [6, 6],
        outSize: [4, 3],
        kernel: [2, 3],
        stride: [2, 2],
        pad: [1, 1],
      },
    },
    { name: "fc", inputs: ["back"], shape: [60], ...dense(random, 180, 60) },
    {
      name: "mixed",
      inputs: ["pool", "fc"],
      shape: [60],
      kind: "real",
      op: { op: "connect", how },
    },
    { name: "out", inputs: ["mixed", "pool"], shape: [60], ...identityOf("real") },
  ]);
}

/** Layers that share helpers in one model: both squashing rates, ALIF, norm, a recurrence. */
export function ratesPlan(seed: number): Plan {
  const random = new Random(seed);
  return makePlan("rates", [
    input([9]),
    { name: "fc1", inputs: ["input"], shape: [35], ...dense(random, 9, 35) },
    { name: "bn", inputs: ["fc1"], shape: [35], ...pointwise(random, "norm", 35) },
    { name: "w", inputs: [{ from: "a", previous: true }], shape: [35], ...dense(random, 35, 35) },
    { name: "a", inputs: ["bn", "w"], shape: [35], ...pointwise(random, "alif", 35, MODE_GE) },
    { name: "fc2", inputs: ["a"], shape: [6], ...dense(random, 35, 6) },
    { name: "tanh", inputs: ["fc2"], shape: [6], ...pointwise(random, "rate_tanh", 6) },
    { name: "fc3", inputs: ["tanh"], shape: [6], ...dense(random, 6, 6) },
    { name: "sigmoid", inputs: ["fc3"], shape: [6], ...pointwise(random, "rate_sigmoid", 6) },
    { name: "relu", inputs: ["sigmoid", "tanh"], shape: [6], ...pointwise(random, "rate_relu", 6) },
  ], [["w", "a"]]);
}

/**
 * Convolutions that a fused frame takes, at their edges: windows wholly in the padding, channels that fill
 * no quad and more than one word, a pool of values and one of spikes, dense weights on spikes by pixel.
 */
export function windowsPlan(seed: number): Plan {
  const random = new Random(seed);
  const conv = (
    [inChannels, outChannels]: readonly [number, number],
    inSize: readonly [number, number],
    outSize: readonly [number, number],
    window: Pick<ConvOp, "kernel" | "stride" | "pad">,
    bias: boolean,
  ): { op: ConvOp; kind: "real"; shape: number[] } => ({
    shape: [outChannels, ...outSize],
    kind: "real",
    op: {
      op: "conv",
      inChannels,
      outChannels,
      groups: 1,
      inSize,
      outSize,
      ...window,
      dilation: [1, 1],
      weights: random.floats(inChannels * window.kernel[0] * window.kernel[1] * outChannels),
      bias: bias ? random.floats(outChannels, -0.2, 0.2) : null,
    },
  });
  const pool = (
    channels: number,
    inSize: readonly [number, number],
    outSize: readonly [number, number],
    scale: number | null,
  ): PoolOp => ({
    op: "pool",
    channels,
    inSize,
    outSize,
    kernel: [2, 3],
    stride: [2, 2],
    pad: [1, 1],
    scale: scale === null ? null : Float32Array.of(scale),
  });
  return makePlan("windows", [
    input([3, 7, 35]),
    {
      name: "c1",
      inputs: ["input"],
      ...conv([3, 5], [7, 35], [5, 21], { kernel: [3, 2], stride: [2, 2], pad: [2, 4] }, true),
    },
    { name: "n1", inputs: ["c1"], shape: [5, 5, 21], ...pointwise(random, "cuba_lif", 525) },
    {
      name: "c2",
      inputs: ["n1"],
      ...conv([5, 37], [5, 21], [3, 10], { kernel: [2, 3], stride: [2, 2], pad: [1, 0] }, false),
    },
    { name: "n2", inputs: ["c2"], shape: [37, 3, 10], ...pointwise(random, "lif", 1110, MODE_GE) },
    {
      name: "sum",
      inputs: ["n2"],
      shape: [37, 2, 5],
      kind: "count",
      op: pool(37, [3, 10], [2, 5], null),
    },
    {
      name: "mean",
      inputs: ["sum"],
      shape: [37, 1, 3],
      kind: "real",
      op: pool(37, [2, 5], [1, 3], 1 / 6),
    },
    {
      name: "c3",
      inputs: ["mean"],
      ...conv([37, 6], [1, 3], [1, 3], { kernel: [1, 3], stride: [1, 1], pad: [0, 1] }, true),
    },
    { name: "n3", inputs: ["c3"], shape: [6, 1, 3], ...pointwise(random, "li", 18) },
    { name: "w1", inputs: ["n1"], shape: [18], ...dense(random, 525, 18) },
    { name: "out", inputs: ["w1", "n3"], shape: [18], ...pointwise(random, "lif", 18) },
  ]);
}

/**
 * Plans whose outputs are spikes, which leave a device as bits: from groups that fill a word and groups of
 * which several do, in a cycle, from words that hold the channels of a pixel, and from a delay.
 */
export function spikingOutputPlans(seed: number): Plan[] {
  const random = new Random(seed);
  const conv: ConvOp = {
    op: "conv",
    inChannels: 2,
    outChannels: 37,
    groups: 1,
    inSize: [9, 7],
    outSize: [5, 4],
    kernel: [3, 3],
    stride: [2, 2],
    pad: [1, 1],
    dilation: [1, 1],
    weights: random.floats(2 * 3 * 3 * 37),
    bias: null,
  };
  const delays = Uint32Array.from({ length: 45 }, () => random.int(0, 5));
  delays[0] = 5;
  return [
    makePlan("spikes-wide", [
      input([33]),
      { name: "fc", inputs: ["input"], shape: [300], ...dense(random, 33, 300) },
      { name: "out", inputs: ["fc"], shape: [300], ...pointwise(random, "lif", 300) },
    ]),
    makePlan("spikes-cycle", [
      input([19]),
      { name: "fc", inputs: ["input"], shape: [77], ...dense(random, 19, 77) },
      {
        name: "w_rec",
        inputs: [{ from: "out", previous: true }],
        shape: [77],
        ...dense(random, 77, 77),
      },
      {
        name: "out",
        inputs: ["fc", "w_rec"],
        shape: [77],
        ...pointwise(random, "cuba_lif", 77, MODE_GE),
      },
    ], [["w_rec", "out"]]),
    makePlan("spikes-by-pixel", [
      input([2, 9, 7]),
      { name: "c", inputs: ["input"], shape: [37, 5, 4], kind: "real", op: conv },
      { name: "out", inputs: ["c"], shape: [37, 5, 4], ...pointwise(random, "lif", 740) },
    ]),
    makePlan("spikes-late", [
      input([12]),
      { name: "fc", inputs: ["input"], shape: [45], ...dense(random, 12, 45) },
      { name: "n", inputs: ["fc"], shape: [45], ...pointwise(random, "lif", 45) },
      {
        name: "out",
        inputs: ["n"],
        shape: [45],
        kind: "spike",
        op: { op: "delay", steps: delays, stepsMax: 5 },
      },
    ]),
  ];
}
