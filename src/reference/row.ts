/**
 * One row's state in the reference, and how it is copied: a step works on a copy and the copy is
 * kept only when the whole batch succeeded.
 */
import type { RowState } from "../engine/executor.ts";
import type { Plan } from "../model/plan.ts";
import { ringOf, stateTensors } from "../model/row_state.ts";
import { DelayLine } from "./delay_line.ts";

export interface NodeState {
  /** The layer's arrays in the layer's order, each [size]. */
  readonly fields: readonly Float32Array[];
  /** Output of the step before, when a cut edge reads it. */
  readonly last: Float32Array | null;
  readonly line: DelayLine | null;
}

export type HostRow = readonly NodeState[];

/** Builds a row from canonical tensors (which are copied). */
export function rowFromState(plan: Plan, state: RowState): HostRow {
  return plan.nodes.map((node) => {
    const fields: Float32Array[] = [];
    let last: Float32Array | null = null;
    let line: DelayLine | null = null;
    for (const field of node.state) {
      const values = state.tensors[`${node.name}.${field.name}`]!;
      if (field.name === "ring") line = DelayLine.fromOldestFirst(values, ringOf(node)!.size);
      else if (field.name === "last") last = values.slice();
      else fields.push(values.slice());
    }
    return { fields, last, line };
  });
}

/** The row as canonical tensors, in copies. */
export function stateFromRow(plan: Plan, row: HostRow): RowState {
  const tensors: Record<string, Float32Array> = {};
  for (const { name, node, field } of stateTensors(plan)) {
    const state = row[node.index]!;
    if (field === "ring") tensors[name] = state.line!.toOldestFirst();
    else if (field === "last") tensors[name] = state.last!.slice();
    else {
      const index = node.state.findIndex((each) => each.name === field);
      tensors[name] = state.fields[index]!.slice();
    }
  }
  return { tensors };
}

export function copyRow(row: HostRow): HostRow {
  return row.map(({ fields, last, line }) => ({
    fields: fields.map((field) => field.slice()),
    last: last?.slice() ?? null,
    line: line?.clone() ?? null,
  }));
}
