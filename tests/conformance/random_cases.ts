/**
 * Random graphs, with several and overlapping cycles, delays, branches and all neuron types, through the
 * whole model lane: every executor must give the reference's bits. Seeded; a seed that the model lane
 * refuses (a cycle without neuron or Delay) gives way to the next.
 */
import assert from "node:assert/strict";
import { GanglionError } from "../../src/base/errors.ts";
import { compilePlan, graphOf, type Plan } from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { assertSameBits } from "../contract/cases.ts";
import { Random } from "../support/plans.ts";
import { type ConformanceCase, runStream } from "./run.ts";

const CASES = 16;
const SIZE = 5;
const STEPS = 30;

function randomPlan(seed: number): Plan | null {
  const random = new Random(seed);
  const all = (low: number, high: number) => [...random.floats(SIZE, low, high)];
  const makers: Record<string, () => object> = {
    Linear: () => ({
      type: "Linear",
      weight: { shape: [SIZE, SIZE], data: random.floats(SIZE * SIZE, -0.7, 0.8) },
    }),
    Affine: () => ({
      type: "Affine",
      weight: { shape: [SIZE, SIZE], data: random.floats(SIZE * SIZE, -0.7, 0.8) },
      bias: all(-0.1, 0.1),
    }),
    Scale: () => ({ type: "Scale", scale: all(-1, 1) }),
    Delay: () => ({ type: "Delay", delay: all(0, 4).map((x) => Math.round(x) * 1e-3) }),
    LIF: () => ({
      type: "LIF",
      tau: all(4e-3, 9e-3),
      r: all(2, 6),
      v_leak: all(0, 0.1),
      v_threshold: all(0.4, 1),
    }),
    IF: () => ({ type: "IF", r: all(1, 1), v_threshold: all(0.6, 2) }),
    LI: () => ({ type: "LI", tau: all(4e-3, 9e-3), r: all(0.5, 1), v_leak: all(0, 0.1) }),
    CubaLIF: () => ({
      type: "CubaLIF",
      tau_syn: all(3e-3, 6e-3),
      tau_mem: all(4e-3, 9e-3),
      r: all(2, 5),
      v_leak: all(0, 0.1),
      v_threshold: all(0.4, 1),
      w_in: all(1, 2),
    }),
    Threshold: () => ({ type: "Threshold", threshold: all(0.1, 0.5) }),
  };
  const kinds = Object.keys(makers);
  const count = random.int(4, 11);
  const nodes: Record<string, object> = {
    input: { type: "Input", shape: [SIZE] },
    output: { type: "Output", shape: [SIZE] },
  };
  const edges: [string, string][] = [["input", "n0"]];
  for (let k = 0; k < count; k++) {
    nodes[`n${k}`] = makers[kinds[random.int(0, kinds.length - 1)]!]!();
    // A chain, so that everything is reached, and then edges anywhere, most of them backwards.
    if (k > 0) edges.push([`n${random.int(Math.max(0, k - 2), k - 1)}`, `n${k}`]);
  }
  edges.push([`n${count - 1}`, "output"]);
  for (let extra = random.int(1, 5); extra > 0; extra--) {
    edges.push([`n${random.int(0, count - 1)}`, `n${random.int(0, count - 1)}`]);
  }
  try {
    return compilePlan(graphOf({ name: `random ${seed}`, nodes, edges }), { dt: 1e-3 });
  } catch (error) {
    assert.ok(error instanceof GanglionError, String(error));
    return null;
  }
}

export function randomCases(): ConformanceCase[] {
  const cases: ConformanceCase[] = [];
  for (let seed = 1; cases.length < CASES; seed++) {
    const plan = randomPlan(seed);
    if (plan === null) continue;
    const late = plan.nodes.flatMap(({ inputs }) => inputs).filter(({ previous }) => previous);
    cases.push({
      name: `random graph ${seed}: ${plan.nodes.length} nodes, ${late.length} late edges`,
      run: async (make) => {
        const random = new Random(seed);
        const input = random.floats(STEPS * SIZE, -0.5, 2);
        const reference = new ReferenceExecutor(plan, { slots: 1, frame: STEPS });
        const [wanted] = await reference.step([{ slot: 0, steps: STEPS, fresh: true, input }]);
        const { output } = await runStream(make, plan, input);
        assertSameBits(output, wanted!.output, "output");
      },
    });
  }
  return cases;
}
