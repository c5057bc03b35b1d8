/**
 * `NirGraph` → `FlatGraph`: edges judged level by level, nested graphs inlined under prefixed names
 * (`outer.inner`), missing Input and Output added. Whatever is assumed or mended leaves a note;
 * `strict` refuses the mending.
 */
import { type FlatGraph, Notes } from "./flat_graph.ts";
import { compareNames, freeName } from "./names.ts";
import type { NirEdge, NirGraph, NirNode } from "./nir.ts";
import { invalidGraph, listNames } from "./nir_error.ts";
import { resolveEdges } from "./edges.ts";
import { GanglionError } from "../base/errors.ts";

/** Wires of nested graphs can multiply edges; no honest model comes near this. */
const EDGES_MAX = 200_000;

interface Level {
  readonly graph: NirGraph;
  /** `""`, or the name of the nested graph and a dot. */
  readonly prefix: string;
  readonly strict: boolean;
  readonly notes: Notes;
}

/** Names, in the flat graph, of a level's one Input and one Output. */
interface Ports {
  readonly input: string;
  readonly output: string;
}

export function flattenGraph(graph: NirGraph, strict: boolean, notes: Notes): FlatGraph {
  const nodes = new Map<string, NirNode>();
  const edges: [string, string][] = [];
  const ports = inline({ graph, prefix: "", strict, notes }, nodes, edges);
  const inward = edges.find(([, to]) => to === ports.input);
  const outward = edges.find(([from]) => from === ports.output);
  if (inward) throw invalidGraph(`The edge from "${inward[0]}" runs into the Input "${inward[1]}"`);
  if (outward) {
    throw invalidGraph(`The edge to "${outward[1]}" leaves the Output "${outward[0]}"`);
  }
  const flat = { nodes, edges, ...ports };
  warnUnused(flat, notes);
  return flat;
}

function inline(level: Level, nodes: Map<string, NirNode>, edges: [string, string][]): Ports {
  const { prefix, notes } = level;
  const resolved = resolveEdges(level.graph, prefix, level.strict, notes);
  const { members, links } = withPorts(level, dropIsolated(level, resolved), resolved);
  const inner = new Map<string, Ports>();
  const ports: { Input?: string; Output?: string } = {};
  for (const [name, node] of members) {
    const full = prefix + name;
    if (node.graph !== undefined) {
      const below = { ...level, graph: node.graph, prefix: `${full}.` };
      inner.set(name, inline(below, nodes, edges));
      continue;
    }
    if (nodes.has(full)) {
      throw invalidGraph(`Two nodes are named "${full}" once nested graphs are laid flat`, {
        node: full,
      });
    }
    nodes.set(full, node);
    if (node.type === "Input" || node.type === "Output") ports[node.type] = full;
  }
  for (const [from, to] of links) {
    const source = inner.get(from)?.output ?? prefix + from;
    const target = inner.get(to)?.input ?? prefix + to;
    edges.push([source, target]);
  }
  if (edges.length > EDGES_MAX) throw invalidGraph(`The graph has more than ${EDGES_MAX} edges`);
  return { input: ports.Input!, output: ports.Output! };
}

/** Members without any edge are left out with a warning, unless they are all that there is. */
function dropIsolated(level: Level, edges: readonly NirEdge[]): Map<string, NirNode> {
  const { graph, prefix, notes } = level;
  if (graph.nodes.size === 0) {
    throw invalidGraph(`The graph${place(level)} holds no node; it needs one, with its edges`, {
      graph: graph.name,
    });
  }
  const touched = new Set(edges.flatMap(([from, to]) => [owner(graph, from), owner(graph, to)]));
  const kept = new Map<string, NirNode>();
  const alone: string[] = [];
  for (const [name, node] of graph.nodes) {
    if (touched.has(name)) kept.set(name, node);
    else alone.push(name);
  }
  if (kept.size === 0 && alone.length === 1) return new Map(graph.nodes);
  const types = new Set([...kept.values()].map(({ type }) => type));
  const ports = alone.filter((name) => /^(In|Out)put$/.test(graph.nodes.get(name)!.type));
  const needed = ports.filter((name) => !types.has(graph.nodes.get(name)!.type));
  if (needed.length > 0 || kept.size === 0) {
    const full = (needed.length > 0 ? needed : alone).map((name) => prefix + name);
    throw invalidGraph(`No edge touches ${listNames(full)}: join them to the graph`, {
      nodes: full,
    });
  }
  for (const name of alone) {
    notes.warn(
      "isolated_node",
      `No edge touches "${prefix + name}"; it is left out`,
      prefix + name,
    );
  }
  return kept;
}

/** `G.input` names a port of the nested graph `G`; every other name is a member itself. */
function owner(graph: NirGraph, name: string): string {
  if (graph.nodes.has(name)) return name;
  for (let dot = name.indexOf("."); dot > 0; dot = name.indexOf(".", dot + 1)) {
    if (graph.nodes.get(name.slice(0, dot))?.graph !== undefined) return name.slice(0, dot);
  }
  return name;
}

/** Makes sure of one Input and one Output: found by type, or added where one node wants it. */
function withPorts(
  level: Level,
  members: Map<string, NirNode>,
  edges: readonly NirEdge[],
): { members: Map<string, NirNode>; links: NirEdge[] } {
  const all = new Map(members);
  const links = [...edges];
  for (const type of ["Input", "Output"] as const) {
    const side = type === "Input" ? 1 : 0;
    const ports = [...members].filter(([, node]) => node.type === type).map(([name]) => name);
    const fed = new Set(edges.map((edge) => owner(level.graph, edge[side])));
    const bare = [...members.keys()].filter((name) =>
      !fed.has(name) && members.get(name)!.type !== "Input" && members.get(name)!.type !== "Output"
    ).sort(compareNames);
    if (ports.length > 1) throw several(level, type, ports.sort(compareNames));
    if (ports.length === 1) {
      if (type === "Input" && bare.length > 0) throw unfed(level, bare, ports[0]!);
      continue;
    }
    if (bare.length === 0) {
      throw invalidGraph(
        `The graph${place(level)} has no ${type}, and no node where one would belong`,
        { graph: level.graph.name },
      );
    }
    if (bare.length > 1) throw several(level, type, bare);
    const neighbour = level.prefix + bare[0]!;
    const where = type === "Input" ? "before" : "behind";
    if (level.strict) {
      throw invalidGraph(
        `The graph${place(level)} has no ${type}; without strict, one would be put ${where} ` +
          `"${neighbour}"`,
        { nodes: [neighbour] },
      );
    }
    const name = freeName(type.toLowerCase(), all);
    all.set(name, { type, fields: new Map() });
    links.push(type === "Input" ? [name, bare[0]!] : [bare[0]!, name]);
    level.notes.warn(
      `added_${type.toLowerCase()}`,
      `The graph${place(level)} has no ${type}; one was put ${where} "${neighbour}"`,
      neighbour,
    );
  }
  return { members: all, links };
}

function place(level: Level): string {
  return level.prefix === "" ? "" : ` "${level.prefix.slice(0, -1)}"`;
}

function several(level: Level, type: string, names: string[]): GanglionError {
  const full = names.map((name) => level.prefix + name);
  return new GanglionError(
    "model_unsupported",
    `The graph${place(level)} has ${names.length} ${type}s (${listNames(full)}); one is served`,
    { nodes: full },
  );
}

function unfed(level: Level, bare: string[], input: string): GanglionError {
  const full = bare.map((name) => level.prefix + name);
  return invalidGraph(
    `Nothing runs into ${listNames(full)}, while "${level.prefix + input}" is the Input: ` +
      "join them or take them out",
    { nodes: full },
  );
}

/** Nodes from which no path leads to the Output run all the same (they can be recorded). */
function warnUnused({ nodes, edges, output }: FlatGraph, notes: Notes): void {
  const sources = new Map<string, string[]>();
  for (const [from, to] of edges) {
    const list = sources.get(to);
    if (list) list.push(from);
    else sources.set(to, [from]);
  }
  const useful = new Set([output]);
  for (const name of useful) for (const from of sources.get(name) ?? []) useful.add(from);
  for (const [name, node] of nodes) {
    if (!useful.has(name) && node.type !== "Output") {
      notes.warn("unused_node", `"${name}" does not reach the Output "${output}"`, name);
    }
  }
}
