/**
 * The reference cases and real files that lie beside the repository when it is developed with them:
 * `nir_*` and `real_*` of cases.json. Without them there are no cases here; tests/fixtures covers the
 * same ground.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  type CompileOptions,
  compilePlan,
  graphOf,
  type Plan,
  readNirBytes,
} from "../../src/model/mod.ts";
import type { Make } from "../contract/cases.ts";
import {
  assertClose,
  assertEqual,
  type ConformanceCase,
  flat,
  type Nested,
  readJson,
  runStream,
  shared,
} from "./run.ts";

// deno-lint-ignore no-explicit-any -- the shape differs from case to case
type Json = any;

type Run = (make: Make, data: Json) => Promise<void>;

/** One node between Input and Output. Array parameters give the population's size. */
function single(type: string, params: Json, shape: readonly number[], out = shape): Json {
  return {
    nodes: {
      input: { type: "Input", shape },
      node: { type, ...params },
      output: { type: "Output", shape: out },
    },
    edges: [["input", "node"], ["node", "output"]],
  };
}

function neuron(type: string, options: CompileOptions, expected?: string): Run {
  return async (make, { params, input, expected: all }) => {
    const { dt, discretization: _, ...fields } = params;
    const size = input[0][0].length;
    const spread = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        typeof value === "number" ? new Array<number>(size).fill(value) : value,
      ]),
    );
    const plan = compilePlan(graphOf(single(type, spread, [size])), { dt, ...options });
    const wanted = expected === undefined ? all : all[expected];
    const spiking = "spikes" in wanted;
    const record = ["v", "i"].filter((name) => !Array.isArray(wanted) && name in wanted)
      .map((name) => `node.${name}`);
    const ran = await runStream(make, plan, flat(input), record);
    if (spiking) assertEqual(ran.output, flat(wanted.spikes), "spikes");
    else assertClose(ran.output, flat(Array.isArray(wanted) ? wanted : wanted.v), "output");
    for (const name of record) {
      assertClose(ran.probes[name]!, flat(wanted[name.slice(5)]), name);
    }
  };
}

/** A stateless node: each entry of the input is one step. */
async function stateless(
  make: Make,
  graph: Json,
  input: Nested,
  wanted: Nested,
  what: string,
  options: CompileOptions = {},
): Promise<void> {
  const plan = compilePlan(graphOf(graph), options);
  assertClose((await runStream(make, plan, flat(input))).output, flat(wanted), what);
}

/** Readings of one LIF by the first word of the name that the case gives them. */
const VARIANTS: Readonly<Record<string, CompileOptions>> = {
  nir_euler_reset: {},
  nir_exact_reset: { discretization: "exact" },
  sparx_euler: { dialect: "sparx", discretization: "euler" },
  snntorch_import: { dialect: "snntorch" },
  norse: { dialect: "norse" },
  // It counts time in steps; the case reads seconds as if they were.
  sinabs: { dialect: "sinabs", dt: 1 },
  rockpool: { dialect: "rockpool" },
  spyx: { dialect: "spyx" },
  spikingjelly: { dialect: "spikingjelly" },
};

const NIR: Record<string, Run> = {
  nir_lif_euler: neuron("LIF", {}),
  nir_lif_exact: neuron("LIF", { discretization: "exact" }),
  nir_lif_vleak_vreset_exact: neuron("LIF", { discretization: "exact" }),
  nir_if_conventions: async (make, { params, input, expected }) => {
    const readings: Record<string, [number, CompileOptions]> = {
      per_step_r1_zero: [1, {}],
      dt_r1000_zero: [1000, {}],
      per_step_r1_subtract: [1, { reset: "subtract" }],
      wrong_dt_on_r1: [1, { ifGain: "r_dt" }],
    };
    for (const [name, [r, options]] of Object.entries(readings)) {
      const graph = single("IF", { r: [r], v_threshold: [params.v_threshold] }, [1]);
      const plan = compilePlan(graphOf(graph), { dt: params.dt, ...options });
      const ran = await runStream(make, plan, flat(input), ["node.v"]);
      assertEqual(ran.output, expected[name].spikes, `${name}: spikes`);
      assertClose(ran.probes["node.v"]!, expected[name].v, `${name}: v`, 2e-6);
    }
  },
  nir_li: async (make, data) => {
    await neuron("LI", {}, "euler")(make, data);
    await neuron("LI", { discretization: "exact" }, "exact")(make, data);
  },
  nir_cubalif_new_current: neuron("CubaLIF", {}),
  nir_cubalif_old_current: neuron("CubaLIF", { cubaOrder: "old" }),
  nir_cubali: neuron("CubaLI", {}),
  nir_delay: (make, { params, input, expected }) =>
    stateless(
      make,
      single("Delay", { delay: params.delay }, [3]),
      input,
      expected.output,
      "delay",
      { dt: params.dt },
    ),
  nir_scale_threshold_affine: async (make, { params, input, expected }) => {
    const { scale, threshold, weight, bias } = params;
    await stateless(make, single("Scale", { scale }, [2]), input, expected.scale, "scale");
    const graph = single("Threshold", { threshold }, [2]);
    await stateless(make, graph, input, expected.threshold, "threshold");
    const affine = single("Affine", { weight, bias }, [2], [3]);
    await stateless(make, affine, input, expected.affine, "affine");
    const linear = single("Linear", { weight }, [2], [3]);
    await stateless(make, linear, input, expected.linear, "linear");
  },
  nir_conv2d: conv("Conv2d"),
  nir_conv1d: conv("Conv1d"),
  nir_pooling: async (make, { params, input, expected }) => {
    for (const [type, key] of [["SumPool2d", "sum"], ["AvgPool2d", "avg"]] as const) {
      const [channels, height, width] = shapeOf(input[0]);
      const out = shapeOf(expected[key][0]);
      const graph = single(type, params, [channels!, height!, width!], out);
      await stateless(make, graph, input, expected[key], key);
    }
  },
  nir_flatten: async (make, { input, expected }) => {
    for (const [name, values] of Object.entries<Nested>(expected)) {
      const [, start, end] = /^start(-?\d+)_end(-?\d+)$/.exec(name)!;
      const dims = { start_dim: Number(start), end_dim: Number(end), input_type: shapeOf(input) };
      const plan = compilePlan(
        graphOf(single("Flatten", dims, shapeOf(input), shapeOf(values))),
      );
      assert.deepEqual(plan.outputShape, shapeOf(values), name);
      assertEqual((await runStream(make, plan, flat(input))).output, flat(values), name);
    }
  },
  nir_recurrent_nested: recurrent(true),
  nir_recurrent_flat_exact: recurrent(false),
  platform_variants_lif: async (make, { params, input, expected }) => {
    const graph = single("LIF", {
      tau: [params.tau],
      r: [params.r],
      v_leak: [0],
      v_threshold: [params.v_threshold],
      v_reset: [0],
    }, [1]);
    for (const [name, options] of Object.entries(VARIANTS)) {
      const plan = compilePlan(graphOf(graph), { dt: params.dt, ...options });
      const ran = await runStream(make, plan, input, ["node.v"]);
      const key = Object.keys(expected).find((each) => each.startsWith(name))!;
      const { v, v_last, spike_steps_and_counts: wanted } = expected[key];
      const fired = [...ran.output].flatMap((count, t) => count > 0 ? [[t, count]] : []);
      assert.deepEqual(fired, wanted, `${key}: spikes`);
      assertClose(ran.probes["node.v"]!, v, `${key}: v`, 2e-6);
      assertClose([ran.probes["node.v"]!.at(-1)!], [v_last], `${key}: last v`, 2e-6);
    }
  },
  // deno-lint-ignore require-await -- the others compute
  sparx_fold_affine_lif: async (_make, { params, expected }) => {
    const { weight, bias, tau, r, dt } = params;
    const size = [2];
    const lif = { type: "LIF", tau: [tau, tau], r, v_leak: [0, 0], v_threshold: [1, 1] };
    const graph = {
      nodes: {
        input: { type: "Input", shape: size },
        fc: { type: "Affine", weight, bias },
        lif,
        output: { type: "Output", shape: size },
      },
      edges: [["input", "fc"], ["fc", "lif"], ["lif", "output"]],
    };
    for (const discretization of ["exact", "euler"] as const) {
      const plan = compilePlan(graphOf(graph), { dialect: "sparx", dt, discretization });
      const op = (name: string) => plan.nodes.find((node) => node.name === name)!.op as Json;
      const wanted = expected[discretization];
      assertClose(op("fc").weights, flat(wanted.kernel_in_out), `${discretization}: kernel`);
      assertClose(op("fc").bias, wanted.bias, `${discretization}: bias`);
      const [decay, gain] = [
        op("lif").coefficients.slice(0, 2),
        op("lif").coefficients.slice(2, 4),
      ];
      assertClose(decay, [wanted.decay, wanted.decay], `${discretization}: decay`);
      assertEqual(gain, [1, 1], `${discretization}: gain`);
    }
  },
  nir_branching_sum: async (make, { params, input, expected }) => {
    const plan = compilePlan(graphOf(params.graph), { compare: "ge" });
    assertEqual((await runStream(make, plan, flat(input))).output, flat(expected.output), "output");
  },
};

function shapeOf(values: Nested): number[] {
  return typeof values === "number" ? [] : [values.length, ...shapeOf(values[0]!)];
}

function conv(type: string): Run {
  return (make, { params, input, expected }) => {
    const shape = shapeOf(input[0]);
    const graph = single(type, params, shape, shapeOf(expected.output[0]));
    return stateless(make, graph, input, expected.output, "output");
  };
}

function recurrent(nested: boolean): Run {
  return async (make, { params, input, expected }) => {
    const cases = readJson<{ cases: Json[] }>(shared("research/snn/cases.json")!).cases;
    const { graph } = cases.find(({ id }) => id === "nir_recurrent_nested").params;
    const plan = compilePlan(graphOf(nested ? graph : flatten(graph)), {
      dt: params.dt,
      discretization: params.discretization,
    });
    const hidden = nested ? "1.lif.s" : "lif.s";
    const ran = await runStream(make, plan, flat(input), [hidden]);
    assertEqual(ran.probes[hidden]!, flat(expected.hidden_spikes), "hidden spikes");
    assertEqual(ran.output, flat(expected.output_spikes), "output spikes");
  };
}

/** The nested network written flat: the same nodes, the subgraph's ends joined by hand. */
function flatten({ nodes }: Json): Json {
  const inner = nodes["1"].nodes;
  return {
    nodes: {
      input: nodes.input,
      "0": nodes["0"],
      lif: inner.lif,
      w_rec: inner.w_rec,
      "2": nodes["2"],
      "3": nodes["3"],
      output: nodes.output,
    },
    edges: [
      ["input", "0"],
      ["0", "lif"],
      ["lif", "w_rec"],
      ["w_rec", "lif"],
      ["lif", "2"],
      ["2", "3"],
      ["3", "output"],
    ],
  };
}

async function paperPlan(file: string, options: CompileOptions): Promise<Plan> {
  const path = shared(`nir/${file}`)!;
  const bytes = new Uint8Array(readFileSync(path));
  return compilePlan(await readNirBytes(bytes, { name: file }), options);
}

/** Sums over the population, one number a step. */
function countsPerStep(spikes: Float32Array, size: number): number[] {
  return Array.from(
    { length: spikes.length / size },
    (_, t) => spikes.subarray(t * size, (t + 1) * size).reduce((a, b) => a + b, 0),
  );
}

const sizeOfNode = (plan: Plan, name: string) =>
  plan.nodes.find((node) => node.name === name)!.size;

const REAL: Record<string, Run> = {
  real_lif_norse: async (make, { params, expected }) => {
    const input = new Float32Array(params.steps);
    for (const t of params.input_steps) input[t] = 1;
    for (const discretization of ["euler", "exact"] as const) {
      const plan = await paperPlan(params.file, { dt: params.dt, discretization });
      const { output, probes } = await runStream(make, plan, input, ["1.v"]);
      const wanted = expected[discretization];
      const steps = [...output].flatMap((spike, t) => spike === 1 ? [t] : []);
      assert.deepEqual(steps, wanted.spike_steps, discretization);
      const v = probes["1.v"]!;
      const at = Object.entries<number>(wanted.v_at);
      assertClose(at.map(([t]) => v[Number(t)]!), at.map(([, x]) => x), "v", 5e-6);
      assertClose([v.reduce((a, b) => a + b, 0)], [wanted.v_sum], "sum of v", 5e-6);
    }
  },
  real_cnn_sinabs: async (make, { params, expected }) => {
    const input: number[] = [];
    for (let t = 0; t < params.steps; t++) {
      for (let c = 0; c < 2; c++) {
        for (let y = 0; y < 34; y++) {
          for (let x = 0; x < 34; x++) {
            const ring = Math.abs((y - 17) ** 2 + (x - 17) ** 2 - 60) <= 45;
            input.push(ring && (2 * y + 5 * x + 7 * t + 2 * c) % 6 === 0 ? 1 : 0);
          }
        }
      }
    }
    for (const reset of ["zero", "subtract"] as const) {
      const wanted = expected[`per_step_${reset}`];
      const plan = await paperPlan(params.file, { compare: "ge", reset });
      const names = Object.keys(wanted.spikes_per_step_by_IF_node);
      const ran = await runStream(make, plan, input, names.map((name) => `${name}.s`));
      for (const name of names) {
        const counts = countsPerStep(ran.probes[`${name}.s`]!, sizeOfNode(plan, name));
        assert.deepEqual(counts, wanted.spikes_per_step_by_IF_node[name], `${reset}: node ${name}`);
      }
      assertEqual(ran.output, flat(wanted.output_spikes), `${reset}: output spikes`);
    }
  },
  real_braille_noDelay_bias_zero: braille,
  real_braille_noDelay_noBias_subtract: braille,
};

async function braille(make: Make, { params, expected }: Json): Promise<void> {
  const input: number[] = [];
  for (let t = 0; t < params.steps; t++) {
    for (let k = 0; k < 12; k++) input.push((8 * t + 3 * k) % 40 === 0 ? 1 : 0);
  }
  const files = [[params.file, "lif1.lif"]];
  const nested = params.file.replace(".nir", "_subgraph.nir");
  if (shared(`nir/${nested}`)) files.push([nested, "lif1.lif1"]);
  for (const [file, hidden] of files) {
    const plan = await paperPlan(file, { dt: params.dt, reset: params.reset });
    const { output, probes } = await runStream(make, plan, input, [`${hidden}.s`]);
    const spikes = probes[`${hidden}.s`]!;
    const size = sizeOfNode(plan, hidden);
    assert.deepEqual(countsPerStep(spikes, size), expected.hidden_spikes_per_step, file);
    const perNeuron = Array.from(
      { length: size },
      (_, i) => spikes.filter((_, k) => k % size === i).reduce((a, b) => a + b, 0),
    );
    assert.deepEqual(perNeuron, expected.hidden_spikes_per_neuron, file);
    assertEqual(output, flat(expected.output_spikes), file);
  }
}

export function sharedCases(): ConformanceCase[] {
  const path = shared("research/snn/cases.json");
  if (path === null) return [];
  const { cases } = readJson<{ cases: Json[] }>(path);
  return Object.entries({ ...NIR, ...REAL }).map(([id, run]) => ({
    name: id,
    run: (make) => run(make, cases.find((each) => each.id === id)),
  }));
}
