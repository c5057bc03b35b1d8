/**
 * The edges of one level of a graph, judged: doubles counted once, ends that name nothing refused or,
 * in a nested graph, repaired where there is one reading.
 */
import type { Notes } from "./flat_graph.ts";
import { compareNames } from "./names.ts";
import type { NirEdge, NirGraph } from "./nir.ts";
import { invalidGraph, listNames } from "./nir_error.ts";

export function resolveEdges(
  graph: NirGraph,
  prefix: string,
  strict: boolean,
  notes: Notes,
): NirEdge[] {
  const edges = distinct(graph.edges.map((edge) => plainEnds(graph, edge)), prefix, notes);
  const missing = [...new Set(edges.flat())].filter((name) => !exists(graph, name));
  if (missing.length === 0) return edges;
  missing.sort(compareNames);
  const stand = prefix === "" ? null : replacement(graph, edges, missing);
  if (stand === null || strict) {
    throw invalidGraph(
      `Edges${prefix === "" ? "" : ` of the graph "${prefix.slice(0, -1)}"`} name ` +
        `${listNames(missing)}, and no node is called so` +
        (stand === null
          ? ""
          : `; without strict, "${
            prefix + stand
          }" would take that place, the one node without edges`),
      { names: missing, nodes: [...graph.nodes.keys()].map((name) => prefix + name) },
    );
  }
  const wrong = missing[0]!;
  notes.warn(
    "repaired_edge",
    `Edges inside "${
      prefix.slice(0, -1)
    }" name "${wrong}", which does not exist; they were read as ` +
      `"${prefix + stand}", the only node without edges`,
    prefix + stand,
  );
  const swap = (name: string): string => name === wrong ? stand : name;
  return distinct(edges.map(([from, to]): NirEdge => [swap(from), swap(to)]), prefix, notes);
}

/** One reading: one name is missing, and one node has no edge. */
function replacement(
  graph: NirGraph,
  edges: readonly NirEdge[],
  missing: readonly string[],
): string | null {
  if (missing.length !== 1) return null;
  const named = new Set(edges.flat());
  const idle = [...graph.nodes].filter(([name]) => !named.has(name));
  const [only] = idle;
  if (idle.length !== 1 || only === undefined) return null;
  const [name, { type }] = only;
  return type === "Input" || type === "Output" ? null : name;
}

/** `G.port` is `G` by another name where an edge into the Input or out of the Output would run anyway. */
function plainEnds(graph: NirGraph, [from, to]: NirEdge): NirEdge {
  return [portOf(graph, from, "Output") ?? from, portOf(graph, to, "Input") ?? to];
}

/** The nested graph of whose port of that type `name` speaks, or null. */
function portOf(graph: NirGraph, name: string, type: "Input" | "Output"): string | null {
  if (graph.nodes.has(name)) return null;
  for (let dot = name.indexOf("."); dot > 0; dot = name.indexOf(".", dot + 1)) {
    const outer = name.slice(0, dot);
    if (graph.nodes.get(outer)?.graph?.nodes.get(name.slice(dot + 1))?.type === type) return outer;
  }
  return null;
}

/** A node, or `G.port` where `port` is the Input or Output of the nested graph `G`. */
function exists(graph: NirGraph, name: string): boolean {
  return graph.nodes.has(name) || portOf(graph, name, "Input") !== null ||
    portOf(graph, name, "Output") !== null;
}

function distinct(edges: readonly NirEdge[], prefix: string, notes: Notes): NirEdge[] {
  const seen = new Map<string, Set<string>>();
  return edges.filter(([from, to]) => {
    const targets = seen.get(from) ?? new Set();
    seen.set(from, targets);
    if (targets.has(to)) {
      notes.warn(
        "duplicate_edge",
        `The edge "${prefix + from}" to "${prefix + to}" is given twice and counts once`,
        prefix + to,
      );
      return false;
    }
    targets.add(to);
    return true;
  });
}
