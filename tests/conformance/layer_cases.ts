/**
 * The reference cases of layers and networks built in TypeScript (cases.json beside the repository, its
 * groups `layer`, `network` and `trap`): values against a float64 oracle, every given split byte-equal.
 */
import assert from "node:assert/strict";
import { GanglionError } from "../../src/base/errors.ts";
import { type Module, nn, sequential } from "../../src/model/nn/mod.ts";
import type { Plan } from "../../src/model/mod.ts";
import { SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import { assertSameBits, type Make } from "../contract/cases.ts";
import { assertClose, assertEqual, type ConformanceCase, flat, readJson, shared } from "./run.ts";

// deno-lint-ignore no-explicit-any -- the shape differs from case to case
type Json = any;

interface Built {
  readonly modules: readonly Module[];
  readonly wanted?: Json;
  readonly input?: Json;
  readonly exact?: boolean;
}

const leaky = (p: Json) => ({ tau: p.tau, threshold: p.threshold, reset: p.reset });
const adaptive = (p: Json) => ({
  ...leaky(p),
  tauAdapt: p.tau_adapt,
  beta: p.beta,
  refractory: p.refractory ?? 0,
});
const spikes = (modules: readonly Module[]): Built => ({ modules, exact: true });
const lif = (p: Json) => spikes([nn.LIF(leaky(p))]);
const rate = () => nn.Rate({ tau: 0 });

function fast(p: Json, rule: "decaying" | "oja" | "retroactive"): Built {
  const { W, alpha, eta, clip, modulator, modulator_bias: modulatorBias } = p;
  const more = modulator === undefined ? {} : { clip, modulator, modulatorBias };
  return {
    modules: [
      nn.Recurrent({ neuron: rate(), weights: W, fast: { rule, alpha, eta, ...more } }),
    ],
  };
}

const CASES: Record<string, (params: Json, data: Json) => Built | readonly Built[]> = {
  lif_subtract: lif,
  lif_zero: lif,
  lif_none: lif,
  lif_learned_decay: (p) => spikes([nn.LIF({ ...leaky(p), decay: p.decay_parameter })]),
  if_subtract_overshoot: (p) => spikes([nn.IF(p)]),
  if_zero_overshoot: (p) => spikes([nn.IF(p)]),
  if_float32_trap: (p, { expected }) => ({
    modules: [nn.IF(p)],
    exact: true,
    wanted: expected.output_float32,
  }),
  li: (p) => ({ modules: [nn.LI({ tau: p.tau })] }),
  synaptic_subtract: (p) => spikes([nn.Synaptic({ ...leaky(p), tauSynapse: p.tau_synapse })]),
  alif_subtract: (p) => spikes([nn.ALIF(adaptive(p))]),
  alif_zero: (p) => spikes([nn.ALIF(adaptive(p))]),
  alif_refractory: (p) => spikes([nn.ALIF(adaptive(p))]),
  rate_tau0: (p) => ({ modules: [nn.Rate({ tau: 0, bias: p.bias })] }),
  recurrent_lif: (p) => spikes([nn.Recurrent({ neuron: nn.LIF(leaky(p.neuron)), weights: p.W })]),
  recurrent_alif: (p) =>
    spikes([nn.Recurrent({ neuron: nn.ALIF(adaptive(p.neuron)), weights: p.W })]),
  recurrent_sparse_delays: (p) =>
    spikes([
      nn.Recurrent({ neuron: nn.LIF({ tau: p.tau }), wiring: p.edges_pre_post_weight_delay }),
    ]),
  plastic_decaying: (p) => fast(p, "decaying"),
  plastic_oja: (p) => fast(p, "oja"),
  plastic_retroactive: (p) => fast(p, "retroactive"),
  delayed_dense_rounded: (p) => ({
    modules: [nn.DelayedDense({ ...p, maxDelay: p.max_delay })],
  }),
  delayed_dense_gaussian: (p) => ({
    modules: [nn.DelayedDense({ ...p, maxDelay: p.max_delay })],
  }),
  conv_same_even_stride: (p) => ({ modules: [nn.Conv(p)] }),
  conv_groups_dilation: (p) => ({
    modules: [nn.Conv({ ...p, padding: p.pads_low_high, dilation: p.kernel_dilation })],
  }),
  dense: (p) => ({ modules: [nn.Dense(p)] }),
  pool_valid: (p, { expected }) => [
    { modules: [nn.MaxPool(p)], wanted: expected.max },
    { modules: [nn.AvgPool(p)], wanted: expected.avg },
    { modules: [nn.SumPool(p)], wanted: expected.sum },
  ],
  maxpool_3x3_s2_pad1_neginf: (p) => ({ modules: [nn.MaxPool({ ...p, padding: p.pad })] }),
  sew_connect: (_, { input, expected }) =>
    (["add", "and", "iand"] as const).map((connect) => ({
      // Shortcut and residual side by side in one input; each branch takes its half.
      modules: [nn.Residual({ connect, shortcut: [half(0, 5)], branch: [half(5, 5)] })],
      input: [[[...input.shortcut, ...input.residual]]],
      wanted: [[expected[connect]]],
      exact: true,
    })),
  mlp_end_to_end: (p) => ({
    modules: [
      nn.Dense({ kernel: p.kernel1, bias: p.bias1 }),
      nn.LIF({ tau: 3 }),
      nn.Dense({ kernel: p.kernel2, bias: p.bias2 }),
      nn.LI({ tau: 4 }),
    ],
  }),
  convnet_end_to_end: (p) => ({
    modules: [
      nn.Conv({ kernel: p.conv_kernel, bias: p.conv_bias }),
      nn.BatchNorm(p.bn),
      nn.LIF({ tau: 2 }),
      nn.MaxPool({ window: 2, strides: 2 }),
      nn.Flatten({ order: "channels_last" }),
      nn.Dense({ kernel: p.dense_kernel, bias: p.dense_bias }),
      nn.LI({ tau: 2 }),
    ],
  }),
};

function half(from: number, size: number): Module {
  const kernel = Array.from(
    { length: 10 },
    (_, i) => Array.from({ length: size }, (_, j) => i === from + j ? 1 : 0),
  );
  return nn.Dense({ kernel });
}

function shapeOf(values: Json): number[] {
  return Array.isArray(values) ? [values.length, ...shapeOf(values[0])] : [];
}

async function check(make: Make, data: Json, built: Built): Promise<void> {
  const input = built.input ?? data.input;
  const wanted = built.wanted ?? data.expected.output;
  const [steps, batch, ...shape] = shapeOf(input) as [number, number, ...number[]];
  const plan = sequential(built.modules, { input: shape });
  const whole = [steps];
  const splits: number[][] = [whole, ...(data.splits ?? [])];
  const { executor } = await make(plan, { slots: batch, frame: steps });
  try {
    for (let b = 0; b < batch; b++) {
      const stream = Float32Array.from(flat(input.map((step: Json) => step[b])));
      const oracle = flat(wanted.map((step: Json) => step[b]));
      const outputs: Float32Array[] = [];
      for (const split of splits) outputs.push(await runSplit(executor, plan, stream, split));
      if (built.exact) assertEqual(outputs[0]!, oracle, `session ${b}`);
      else assertClose(outputs[0]!, oracle, `session ${b}`);
      for (const [k, output] of outputs.entries()) {
        assertSameBits(output, outputs[0]!, `session ${b} split ${splits[k]}`);
      }
    }
  } finally {
    await executor.close();
  }
}

async function runSplit(
  executor: Awaited<ReturnType<Make>>["executor"],
  plan: Plan,
  stream: Float32Array,
  split: readonly number[],
): Promise<Float32Array> {
  const scheduler = new SlotScheduler(executor, { partialFrames: true });
  const session = scheduler.open();
  let at = 0;
  const futures = split.map((steps) => {
    const width = steps * plan.sampleSize;
    const future = scheduler.submit(session, stream.subarray(at, at + width));
    at += width;
    return future;
  });
  await scheduler.run();
  const parts = await Promise.all(futures.map((future) => future.result()));
  return Float32Array.from(parts.flatMap(({ data }) => [...data]));
}

export function layerCases(): ConformanceCase[] {
  const path = shared("research/snn/cases.json");
  if (path === null) return [];
  const { cases } = readJson<{ cases: Json[] }>(path);
  const data = (id: string) => cases.find((each) => each.id === id);
  const run = Object.entries(CASES).map(([id, build]): ConformanceCase => ({
    name: id,
    run: async (make) => {
      const built = build(data(id).params, data(id));
      for (const each of Array.isArray(built) ? built : [built]) await check(make, data(id), each);
    },
  }));
  const refused: ConformanceCase = {
    name: "psn_offline",
    run: () => {
      for (const module of [nn.PSN(), nn.MaskedPSN(), nn.TimeMean()]) {
        assert.throws(
          () => sequential([module], { input: [2] }),
          (error) => error instanceof GanglionError && error.code === "model_unsupported",
        );
      }
      return Promise.resolve();
    },
  };
  return [...run, refused];
}
