/** The canonical tensors of a row's state: their names, sizes and rest values, the same for all executors. */
import type { RowState } from "../engine/executor.ts";
import type { Plan, PlanNode, StateField } from "./plan.ts";
import { GanglionError } from "../base/errors.ts";

export interface StateTensor {
  /** `node.field`, or `node.ring` for a line of past inputs ([steps][inputs], oldest first). */
  readonly name: string;
  readonly node: PlanNode;
  readonly field: string;
  readonly size: number;
  readonly rest: number;
}

/** The past inputs that a node keeps, or null: values a step, and steps. */
export function ringOf({ op, size }: PlanNode): { size: number; steps: number } | null {
  if (op.op === "delay") return { size, steps: op.stepsMax };
  return op.op === "taps" ? { size: op.inputs, steps: op.stepsMax } : null;
}

export function stateTensors(plan: Plan): StateTensor[] {
  return plan.nodes.flatMap((node) =>
    node.state.map((field) => ({
      name: `${node.name}.${field.name}`,
      node,
      field: field.name,
      size: tensorSize(node, field),
      rest: field.rest,
    }))
  );
}

/** Values of one tensor. */
export function tensorSize(node: PlanNode, { type, words }: StateField): number {
  if (type === "f32") return words;
  if (type === "bits") return node.size;
  const ring = ringOf(node)!;
  return ring.steps * ring.size;
}

/** The state every session starts from. */
export function restState(plan: Plan): RowState {
  const tensors: Record<string, Float32Array> = {};
  for (const { name, size, rest } of stateTensors(plan)) {
    tensors[name] = new Float32Array(size).fill(rest);
  }
  return { tensors };
}

/** Throws unless `state` has exactly the plan's tensors, in their sizes. */
export function checkState(plan: Plan, state: RowState): void {
  const wanted = stateTensors(plan);
  for (const { name, size } of wanted) {
    const given = state.tensors[name];
    if (given === undefined) throw new GanglionError("invalid_body", `State lacks "${name}"`);
    if (given.length !== size) {
      throw new GanglionError(
        "invalid_body",
        `State tensor "${name}" has ${given.length} values, the model needs ${size}`,
      );
    }
  }
  const names = new Set(wanted.map((tensor) => tensor.name));
  for (const name of Object.keys(state.tensors)) {
    if (!names.has(name)) {
      throw new GanglionError("invalid_body", `State has "${name}", which the model does not know`);
    }
  }
}
