/**
 * The membrane of an output neuron at one step, before its reset. The state after the step before is
 * moved into the same model read with reset `none`, which computes the step up to its spike alike and
 * leaves the membrane as it was.
 */
import { LIMITS } from "./base/limits.ts";
import { CpuExecutor } from "./cpu/mod.ts";
import { LAYERS } from "./layers/mod.ts";
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
  /** The same model, read with reset `none`. */
  readonly withoutReset: Plan;
  /** The whole recording, `[steps, sampleSize]`. */
  readonly input: Float32Array;
  readonly step: number;
  /** Index in the output. */
  readonly neuron: number;
}

/** Null where what leaves the model is no neuron. */
export async function membraneAt(question: MembraneQuestion): Promise<Membrane | null> {
  const { plan, withoutReset, input, step, neuron } = question;
  const node = plan.nodes[plan.output]!;
  if (!node.state.some(({ name, type }) => name === "v" && type === "f32")) return null;
  const frame = LIMITS.frame.max;
  const before = new CpuExecutor(plan, { slots: 1, frame });
  const after = new CpuExecutor(withoutReset, { slots: 1, frame });
  const row = (from: number, to: number) => ({
    slot: 0,
    steps: to - from,
    fresh: from === 0,
    input: input.slice(from * plan.sampleSize, to * plan.sampleSize),
  });
  for (let at = 0; at < step; at += frame) {
    await before.step([row(at, Math.min(step, at + frame))]);
  }
  if (step > 0) await after.writeState(0, await before.readState(0));
  const probe = `${node.name}.v`;
  const [result] = await after.step([{ ...row(step, step + 1), record: [probe] }]);
  const v = result!.probes[probe]![neuron]!;
  const threshold = thresholdOf(node, neuron);
  const distance = threshold === null ? null : v - threshold;
  const ulps = distance === null || threshold === 0
    ? null
    : Math.round(distance / ulpOf(threshold!));
  return { node: node.name, v, threshold, distance, ulps };
}

/** A neuron's own threshold, from the coefficients of its layer. */
function thresholdOf({ op, size }: PlanNode, neuron: number): number | null {
  if (op.op !== "pointwise") return null;
  const row = LAYERS[op.layer].coefficients.indexOf("threshold");
  return row < 0 ? null : op.coefficients[row * size + neuron]!;
}

/** Distance to the next larger f32. */
function ulpOf(value: number): number {
  const bits = new Uint32Array(1);
  const float = new Float32Array(bits.buffer);
  float[0] = Math.abs(value);
  bits[0]!++;
  return float[0] - Math.abs(value);
}
