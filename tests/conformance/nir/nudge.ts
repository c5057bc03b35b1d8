/**
 * The same spec with every real parameter moved by about half an f32 ulp. Where its walk leaves that of
 * the spec, a cycle makes more of every rounding in each step, and f32 cannot be held to float64.
 */
import { Dice } from "../../support/dice.ts";
import type { Field, Spec, SpecGraph } from "./spec.ts";

const HALF_ULP = 6e-8;
const MOVED = new Set(
  ["weight", "bias", "scale", "tau", "tau_syn", "tau_mem", "v_leak", "v_threshold", "v_reset"]
    .concat("w_in", "threshold"),
);

export function nudged(spec: Spec): Spec {
  return { ...spec, graph: nudgedGraph(new Dice(spec.seed), spec.graph) };
}

function nudgedGraph(dice: Dice, graph: SpecGraph): SpecGraph {
  const move = (field: string, value: Field): Field =>
    typeof value === "string" || !MOVED.has(field)
      ? value
      : { ...value, data: value.data.map((x) => x * (1 + dice.float(-HALF_ULP, HALF_ULP))) };
  const nodes = [...graph.nodes].map(([name, node]) => {
    const fields = Object.fromEntries(
      Object.entries(node.fields).map(([field, value]) => [field, move(field, value)]),
    );
    const inner = node.graph === undefined ? {} : { graph: nudgedGraph(dice, node.graph) };
    return [name, { ...node, fields, ...inner }] as const;
  });
  return { nodes: new Map(nodes), edges: graph.edges };
}
