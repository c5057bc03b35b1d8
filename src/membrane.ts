/**
 * The membrane of an output neuron at one step, before its reset. The state after the step before is
 * moved into the same model whose output neuron has reset `none`, which computes the step up to its
 * spike alike and leaves the membrane as it was.
 */
import { LIMITS } from "./base/limits.ts";
import { CpuExecutor } from "./cpu/mod.ts";
import type { RowState } from "./engine/executor.ts";
import { layerNamed, MODE_RESET_NONE } from "./layers/mod.ts";
import type { Plan, PlanNode } from "./model/mod.ts";

export interface Membrane {
  /** Name of the output's node. */
  readonly node: string;
  /** Before the reset of this step. */
  readonly v: number;
  /** Null where the neuron has no threshold. */
  readonly threshold: number | null;
  /** `v` minus the threshold. */
  readonly distance: number | null;
  /** The distance in units of the last place of a f32 of the threshold's size. */
  readonly ulps: number | null;
}

export interface MembraneQuestion {
  readonly plan: Plan;
  /** The whole recording, `[steps, sampleSize]`. */
  readonly input: Float32Array;
  readonly step: number;
  /** Index in the output. */
  readonly neuron: number;
}

/** Null where what leaves the model is no neuron. */
export async function membraneAt(question: MembraneQuestion): Promise<Membrane | null> {
  const { plan, input, step, neuron } = question;
  const node = plan.nodes[plan.output]!;
  if (!node.state.some(({ name, type }) => name === "v" && type === "f32")) return null;
  const frame = LIMITS.frame.max;
  const before = new CpuExecutor(plan, { slots: 1, frame });
  const after = new CpuExecutor(withoutReset(plan), { slots: 1, frame });
  const row = (from: number, to: number) => ({
    slot: 0,
    steps: to - from,
    fresh: from === 0,
    input: input.slice(from * plan.sampleSize, to * plan.sampleSize),
  });
  for (let at = 0; at < step; at += frame) {
    await before.step([row(at, Math.min(step, at + frame))]);
  }
  const state = step > 0 ? (await before.readStates([0]))[0]! : null;
  if (state !== null) await after.writeState(0, state);
  const probe = `${node.name}.v`;
  const [result] = await after.step([{ ...row(step, step + 1), record: [probe] }]);
  const v = result!.probes[probe]![neuron]!;
  const threshold = thresholdOf(node, neuron, state);
  const distance = threshold === null ? null : v - threshold;
  const ulps = distance === null || threshold === 0
    ? null
    : Math.round(distance / ulpOf(threshold!));
  return { node: node.name, v, threshold, distance, ulps };
}

function withoutReset(plan: Plan): Plan {
  const nodes = plan.nodes.map((node): PlanNode => {
    const { op, index } = node;
    if (index !== plan.output || op.op !== "pointwise") return node;
    return { ...node, op: { ...op, mode: op.mode | MODE_RESET_NONE } };
  });
  return { ...plan, nodes };
}

/** What the membrane is compared with: the layer's threshold, and beta·a more where it adapts. */
function thresholdOf(
  { name, op, size }: PlanNode,
  neuron: number,
  before: RowState | null,
): number | null {
  if (op.op !== "pointwise") return null;
  const at = (coefficient: string): number | undefined =>
    op.coefficients[layerNamed(op.layer).coefficients.indexOf(coefficient) * size + neuron];
  const threshold = at("threshold");
  if (threshold === undefined || op.layer !== "alif") return threshold ?? null;
  const adaptation = before?.tensors[`${name}.a`]![neuron] ?? 0;
  return Math.fround(Math.fround(at("beta")! * adaptation) + threshold);
}

/** Distance to the next larger f32. */
function ulpOf(value: number): number {
  const bits = new Uint32Array(1);
  const float = new Float32Array(bits.buffer);
  float[0] = Math.abs(value);
  bits[0]!++;
  return float[0] - Math.abs(value);
}
