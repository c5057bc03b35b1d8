/**
 * The one-neuron traces published with the NIR paper, when they lie beside the repository: which reading
 * of the same LIF gives which platform's spikes and membrane. docs/numerics.md has this as a table.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type CompileOptions, compilePlan, graphOf } from "../../src/model/mod.ts";
import { type ConformanceCase, runStream, shared } from "./run.ts";

interface Trace {
  readonly options: CompileOptions;
  /** A weight before the neuron, which the platform had there. */
  readonly weight?: number;
  /** Platform's membrane ÷ ours. */
  readonly scale: number;
  /** Largest difference of membranes after scaling; Infinity where only the spikes are explained. */
  readonly tolerance: number;
  readonly spikes: readonly number[];
}

const USUAL = [460, 510, 710, 760];
const SUBTRACTING = [450, 500, 710, 760];
const LATE = [461, 511, 711, 761];

export const TRACES: Readonly<Record<string, Trace>> = {
  snntorch: { options: { dialect: "snntorch" }, scale: 1, tolerance: 1e-7, spikes: USUAL },
  norse: { options: { dialect: "norse" }, scale: 1, tolerance: 1e-7, spikes: USUAL },
  nengo: { options: { discretization: "exact" }, scale: 10, tolerance: 1e-7, spikes: USUAL },
  spinnaker2: { options: {}, scale: 24.9951, tolerance: 1e-7, spikes: USUAL },
  // Solved between the steps: the reset falls inside a step and the membrane has moved on by its end.
  exact: { options: { discretization: "exact" }, scale: 1, tolerance: 7e-3, spikes: USUAL },
  // The input column of the file holds the weight already.
  sinabs: { options: { dialect: "sinabs" }, scale: 1, tolerance: 1e-7, spikes: SUBTRACTING },
  rockpool: {
    options: { dialect: "rockpool" },
    weight: 0.04,
    scale: 1,
    tolerance: 1e-7,
    spikes: SUBTRACTING,
  },
  lava_cpu_float: {
    options: { dialect: "lava" },
    weight: 1,
    scale: 1,
    tolerance: 1e-7,
    spikes: LATE,
  },
  // 12-bit decay, integer membranes.
  lava_cpu_fixed: {
    options: { dialect: "lava" },
    weight: 1,
    scale: 15_914.8,
    tolerance: 9e-4,
    spikes: LATE,
  },
  // As above, with a membrane that starts again from 128 after a spike.
  lava_loihi_fixed: {
    options: { dialect: "lava" },
    weight: 1,
    scale: 15_914.8,
    tolerance: 9e-3,
    spikes: LATE,
  },
  spyx: { options: { dialect: "spyx" }, weight: 0.04, scale: 1, tolerance: 1e-7, spikes: LATE },
};

export function traceCases(): ConformanceCase[] {
  return Object.entries(TRACES).flatMap(([platform, trace]) => {
    const path = shared(`nir/traces/lif_${platform}.csv`);
    if (path === null) return [];
    return [{
      name: `trace of ${platform}`,
      run: async (make) => {
        const rows = readFileSync(path, "utf8").trim().split("\n").map((line) =>
          line.split(",").map(Number)
        );
        const column = (k: number) => rows.map((row) => row[k]!);
        const spikesOf = (values: ArrayLike<number>) =>
          Array.from(values).flatMap((x, t) => x > 0 ? [t] : []);
        assert.deepEqual(spikesOf(column(2)), trace.spikes, "spikes of the platform");
        const plan = compilePlan(graphOf(graphFor(trace)), { dt: 1e-4, ...trace.options });
        const { output, probes } = await runStream(make, plan, column(0), ["lif.v"]);
        assert.deepEqual(spikesOf(output), trace.spikes, "our spikes");
        const v = probes["lif.v"]!;
        const worst = column(1).reduce(
          (most, x, t) => Math.max(most, Math.abs(x / trace.scale - v[t]!)),
          0,
        );
        assert.ok(worst <= trace.tolerance, `membranes differ by ${worst}`);
      },
    }];
  });
}

function graphFor({ weight }: Trace): Parameters<typeof graphOf>[0] {
  const lif = { type: "LIF", tau: [0.0025], r: [1], v_leak: [0], v_threshold: [0.1] };
  const input = { type: "Input", shape: [1] };
  const output = { type: "Output", shape: [1] };
  if (weight === undefined) {
    return { nodes: { input, lif, output }, edges: [["input", "lif"], ["lif", "output"]] };
  }
  return {
    nodes: { input, fc: { type: "Linear", weight: [[weight]] }, lif, output },
    edges: [["input", "fc"], ["fc", "lif"], ["lif", "output"]],
  };
}
