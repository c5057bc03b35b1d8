/**
 * Frameworks that hand values on in the step after (spyx: spikes; Lava: what weights gathered) get a
 * Delay of one step behind each such node. In a cycle that Delay is what cuts it, so feedback is not
 * later than it is there.
 */
import type { FlatGraph } from "./flat_graph.ts";
import { freeName } from "./names.ts";
import type { NirNode } from "./nir.ts";
import { scalar } from "./nir_schema.ts";
import type { ReadingOptions } from "./plan.ts";
import type { NodeShapes } from "./shapes.ts";

const LATE: Readonly<Record<ReadingOptions["late"], readonly string[]>> = {
  none: [],
  spikes: ["IF", "LIF", "CubaLIF"],
  weights: ["Affine", "Linear", "Conv1d", "Conv2d"],
};

/** The graph with the Delays, named `<node>.late`; `shapes` gets theirs. */
export function withLateNodes(
  graph: FlatGraph,
  late: ReadingOptions["late"],
  dt: number,
  shapes: Map<string, NodeShapes>,
): FlatGraph {
  const behind = new Map<string, string>();
  const nodes = new Map(graph.nodes);
  for (const [name, { type }] of graph.nodes) {
    if (!LATE[late].includes(type)) continue;
    const delay = freeName(`${name}.late`, nodes);
    const node: NirNode = { type: "Delay", fields: new Map([["delay", scalar(dt)]]) };
    nodes.set(delay, node);
    const { out } = shapes.get(name)!;
    shapes.set(delay, { in: out, out });
    behind.set(name, delay);
  }
  if (behind.size === 0) return graph;
  const edges = graph.edges.map(([from, to]) => [behind.get(from) ?? from, to] as const);
  return { ...graph, nodes, edges: [...edges, ...behind] };
}
