/**
 * Recurrent layers as snnTorch's and spyx's importers see them: a nested graph of an Input, an Output, one
 * neuron and one layer of weights is a neuron with weights from itself to itself, whatever its edges.
 * That matters for spyx's own files, in which the Input feeds the weights instead of the neuron.
 */
import type { Notes } from "./flat_graph.ts";
import type { NirEdge, NirGraph } from "./nir.ts";

const NEURONS = ["IF", "LIF", "CubaLIF"];
const WEIGHTS = ["Affine", "Linear"];

export function rewireRecurrences(graph: NirGraph, notes: Notes, prefix = ""): NirGraph {
  const nodes = [...graph.nodes].map(([name, node]) => {
    if (node.graph === undefined) return [name, node] as const;
    const inner = rewireRecurrences(node.graph, notes, `${prefix}${name}.`);
    return [name, { ...node, graph: rewired(inner, prefix + name, notes) }] as const;
  });
  return { ...graph, nodes: new Map(nodes) };
}

function rewired(graph: NirGraph, name: string, notes: Notes): NirGraph {
  const only = (types: readonly string[]): string | undefined => {
    const found = [...graph.nodes].filter(([, { type }]) => types.includes(type));
    return found.length === 1 ? found[0]![0] : undefined;
  };
  const parts = [only(["Input"]), only(["Output"]), only(NEURONS), only(WEIGHTS)];
  if (graph.nodes.size !== 4 || parts.includes(undefined)) return graph;
  const [input, output, neuron, weights] = parts as [string, string, string, string];
  if (!graph.edges.some(([from, to]) => from === input && to === weights)) return graph;
  const meant: NirEdge[] = [[input, neuron], [neuron, weights], [weights, neuron], [
    neuron,
    output,
  ]];
  notes.warn(
    "rewired_recurrence",
    `The Input of "${name}" feeds its weights; as its framework does, it was read as feeding the neuron`,
    name,
  );
  return { ...graph, edges: meant };
}
