/**
 * What travels on the edges that leave each node: spikes, small counts, or any numbers. Nodes that only
 * pass on (sums, products, sum and max pools, delays) take the least kind that holds all that comes in; in a cycle that
 * is found by raising kinds until nothing changes.
 */
import { layerNamed } from "../layers/mod.ts";
import type { EdgeKind, PlanOp } from "./plan.ts";

export interface KindNode {
  readonly op: PlanOp;
  readonly inputs: readonly { readonly from: number }[];
}

const HEIGHT: Readonly<Record<EdgeKind, number>> = { spike: 0, count: 1, real: 2, input: 2 };

export function edgeKinds(nodes: readonly KindNode[]): EdgeKind[] {
  const kinds = nodes.map(({ op }): EdgeKind => {
    if (op.op === "input") return "input";
    return passesOn(op) ? "spike" : op.op === "pointwise" ? emitted(op.layer) : "real";
  });
  for (let changed = true; changed;) {
    changed = false;
    nodes.forEach(({ op, inputs }, index) => {
      if (!passesOn(op)) return;
      const sums = op.op === "pool" || op.op === "max_pool" ||
        (inputs.length > 1 && op.op !== "connect");
      const height = Math.max(sums ? 1 : 0, ...inputs.map(({ from }) => HEIGHT[kinds[from]!]));
      if (height <= HEIGHT[kinds[index]!]) return;
      kinds[index] = height === 1 ? "count" : "real";
      changed = true;
    });
  }
  return kinds;
}

function passesOn(op: PlanOp): boolean {
  return ["delay", "permute", "connect", "max_pool"].includes(op.op) ||
    (op.op === "pool" && op.scale === null) ||
    (op.op === "pointwise" && layerNamed(op.layer).emits === "same");
}

function emitted(layer: string): EdgeKind {
  const { emits } = layerNamed(layer);
  return emits === "spike" || emits === "count" ? emits : "real";
}
