/** The walk's own view of a spec: one level of nodes, wires gone, sources by name. */
import type { WalkGraph } from "./walk_cycles.ts";
import { CycleError } from "./walk_cycles.ts";
import { type Spec, type SpecGraph, type SpecNode, wholes } from "./spec.ts";

export function flatOf(spec: Spec): WalkGraph {
  const nodes = new Map<string, SpecNode>();
  const edges = new Map<string, readonly [string, string]>();
  lay(spec.graph, "", nodes, edges);
  const portOf = (type: string): string =>
    [...spec.graph.nodes].find(([, node]) => node.type === type)![0];
  const [input, output] = [portOf("Input"), portOf("Output")];
  const waits = (name: string): readonly number[] | null => {
    const node = nodes.get(name)!;
    return node.type === "Delay" ? stepsOf(node, spec.dt) : null;
  };
  const isWire = (name: string): boolean => {
    if (name === input || name === output) return false;
    const { type } = nodes.get(name)!;
    if (["Input", "Output", "Flatten"].includes(type)) return true;
    return waits(name)?.every((steps) => steps === 0) ?? false;
  };
  const into = new Map<string, string[]>([...nodes.keys()].map((name) => [name, []]));
  for (const [from, to] of edges.values()) into.get(to)!.push(from);
  const behindWires = (name: string, passed: readonly string[]): string[] =>
    into.get(name)!.flatMap((from) => {
      if (!isWire(from)) return [from];
      if (passed.includes(from)) throw new CycleError([from]);
      return behindWires(from, [...passed, from]);
    });
  // A cycle of wires alone is found even where nothing reads it.
  for (const name of nodes.keys()) if (isWire(name)) behindWires(name, [name]);
  const kept = [...nodes].filter(([name]) => !isWire(name));
  return {
    nodes: new Map(kept),
    sources: new Map(kept.map(([name]) => [name, behindWires(name, [])])),
    stores: new Set(
      kept.map(([name]) => name).filter((name) => waits(name)?.every((steps) => steps >= 1)),
    ),
    input,
    output,
  };
}

/** Every plain node under its full name, and every edge once, from node to node. */
function lay(
  graph: SpecGraph,
  prefix: string,
  nodes: Map<string, SpecNode>,
  edges: Map<string, readonly [string, string]>,
): void {
  for (const [name, node] of graph.nodes) {
    if (node.graph === undefined) nodes.set(prefix + name, node);
    else lay(node.graph, `${prefix}${name}.`, nodes, edges);
  }
  for (const [from, to] of graph.edges) {
    const edge = [end(graph, prefix, from, "Output"), end(graph, prefix, to, "Input")] as const;
    edges.set(JSON.stringify(edge), edge);
  }
}

/** The plain node that an edge's end means: itself, or the port of a nested graph. */
function end(graph: SpecGraph, prefix: string, name: string, port: string): string {
  const node = graph.nodes.get(name);
  const inner = node?.graph;
  if (inner === undefined) return prefix + name; // `G.port` too, whose full name that is
  const [found] = [...inner.nodes].find(([, { type }]) => type === port)!;
  return `${prefix}${name}.${found}`;
}

/** Whole steps a Delay waits: the nearest, halves to even. */
export function stepsOf(node: SpecNode, dt: number): number[] {
  return wholes(node, "delay").map((seconds) => {
    const exact = seconds / dt;
    const below = Math.floor(exact);
    const rest = exact - below;
    return rest > 0.5 || (rest === 0.5 && below % 2 === 1) ? below + 1 : below;
  });
}
