/**
 * Takes out the nodes that compute nothing: Inputs and Outputs of nested graphs, Flatten, a Delay of no
 * step. Each edge into a wire joins each edge out of it, so a value that comes by two wires adds
 * twice. Shapes were inferred before; from here on values are flat.
 */
import type { FlatGraph } from "./flat_graph.ts";
import { invalidGraph } from "./nir_error.ts";

const EDGES_MAX = 200_000;

/** The graph without the nodes for which `isWire` holds; the model's own Input and Output stay. */
export function withoutWires(graph: FlatGraph, isWire: (name: string) => boolean): FlatGraph {
  const kept = [...graph.nodes].filter(([name]) => !isWire(name));
  const wires = [...graph.nodes.keys()].filter(isWire);
  let edges = [...graph.edges];
  for (const wire of wires) {
    const into = edges.filter(([, to]) => to === wire).map(([from]) => from);
    const out = edges.filter(([from]) => from === wire).map(([, to]) => to);
    if (into.includes(wire)) {
      throw invalidGraph(`A cycle through "${wire}" holds neither a neuron nor a Delay`, {
        node: wire,
      });
    }
    edges = edges.filter(([from, to]) => from !== wire && to !== wire);
    for (const from of into) for (const to of out) edges.push([from, to]);
    if (edges.length > EDGES_MAX) throw invalidGraph(`The graph has more than ${EDGES_MAX} edges`);
  }
  return { ...graph, nodes: new Map(kept), edges };
}
