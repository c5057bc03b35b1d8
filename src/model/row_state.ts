/** The canonical tensors of a row's state: their names, sizes and rest values, the same for all executors. */
import type { RowState } from "../engine/executor.ts";
import type { Plan, PlanNode } from "./plan.ts";
import { GanglionError } from "../base/errors.ts";

export interface StateTensor {
  /** `node.field`, or `node.ring` for a delay line ([stepsMax][size], oldest first). */
  readonly name: string;
  readonly node: PlanNode;
  readonly field: string;
  readonly size: number;
  readonly rest: number;
}

export function stateTensors(plan: Plan): StateTensor[] {
  return plan.nodes.flatMap((node) =>
    node.state.map((field) => ({
      name: `${node.name}.${field.name}`,
      node,
      field: field.name,
      size: node.op.op === "delay" && field.name === "ring"
        ? node.op.stepsMax * node.size
        : node.size,
      rest: field.rest,
    }))
  );
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
