/**
 * Where cycles are cut (NUMERICS §4). In each strongly connected part the neurons are ordered by
 * their distance from the part's entries (ties, or no entry: bytes of the name). An edge that leaves
 * neuron A is cut when it reaches A or an earlier neuron through nodes that are no neurons: its
 * reader then sees A's output of the step before. A `Delay` of at least one step in a cycle is itself
 * the cut. Neurons here are all nodes that fire or integrate (Threshold too); Scale, weights, pools
 * and shorter Delays are not, and their edges are never cut by this rule.
 */
import { type Arc, arcsBySource, arcsByTarget, cyclicParts } from "./digraph.ts";
import { compareNames } from "./names.ts";
import { invalidGraph, listNames } from "./nir_error.ts";
import { GanglionError } from "../base/errors.ts";

export interface CycleGraph {
  readonly names: readonly string[];
  readonly arcs: readonly Arc[];
  readonly isNeuron: (node: number) => boolean;
  /** A Delay whose every element waits at least one step. */
  readonly isDelay: (node: number) => boolean;
}

export interface Cuts {
  /** Arcs that read the step before. */
  readonly previous: ReadonlySet<number>;
  /** Delays that cut their cycle. */
  readonly delays: ReadonlySet<number>;
}

/** `wanted` are `--cut A:B` pairs, cut before the rule looks at what is left. */
export function cutCycles(graph: CycleGraph, wanted: readonly (readonly string[])[]): Cuts {
  const { names, arcs } = graph;
  const previous = wantedCuts(graph, wanted);
  let live = arcs.map((_, index) => index).filter((index) => !previous.has(index));
  const delays = new Set<number>();
  for (const part of parts(graph, live)) {
    const members = new Set(part);
    for (const node of part.filter(graph.isDelay)) {
      delays.add(node);
      live = live.filter((index) => arcs[index]!.to !== node || !members.has(arcs[index]!.from));
    }
  }
  for (const part of parts(graph, live)) {
    for (const index of cutPart(graph, live, part)) previous.add(index);
  }
  const left = parts(graph, live.filter((index) => !previous.has(index)))[0];
  if (left !== undefined) throw undelayed(left.map((node) => names[node]!));
  return { previous, delays };
}

/** The error about a cycle of these nodes, which nothing delays. */
export function undelayed(nodes: readonly string[]): GanglionError {
  return invalidGraph(
    `The cycle through ${listNames(nodes)} holds neither a neuron nor a Delay of at least one ` +
      "step: its value would depend on itself",
    { nodes },
  );
}

function parts({ names, arcs }: CycleGraph, live: readonly number[]): number[][] {
  return cyclicParts(names.length, live.map((index) => arcs[index]!));
}

/** The edges to cut inside one part. */
function cutPart(graph: CycleGraph, live: readonly number[], part: readonly number[]): number[] {
  const { arcs, isNeuron } = graph;
  const members = new Set(part);
  const inside = live.filter((index) =>
    members.has(arcs[index]!.from) && members.has(arcs[index]!.to)
  );
  const entries = live.map((index) => arcs[index]!).filter(({ from, to }) =>
    members.has(to) && !members.has(from)
  ).map(({ to }) => to);
  const rank = new Map(
    orderNeurons(graph, part, inside, entries).map((node, place) => [node, place]),
  );
  const earliest = earliestBehind(graph, inside, rank);
  return inside.filter((index) => {
    const { from, to } = arcs[index]!;
    return isNeuron(from) && earliest.get(to)! <= rank.get(from)!;
  });
}

/** The part's neurons in the order in which a step runs them; `entries` is where values come in. */
function orderNeurons(
  { names, arcs, isNeuron }: CycleGraph,
  part: readonly number[],
  inside: readonly number[],
  entries: readonly number[],
): number[] {
  const local = inside.map((index) => arcs[index]!);
  const outgoing = arcsBySource(names.length, local);
  const distance = new Map(entries.map((node) => [node, 0]));
  for (const [node, steps] of distance) {
    for (const arc of outgoing[node]!) {
      const { to } = local[arc]!;
      if (!distance.has(to)) distance.set(to, steps + 1);
    }
  }
  const far = (node: number): number => distance.get(node) ?? 0;
  return part.filter(isNeuron).sort((a, b) =>
    far(a) - far(b) || compareNames(names[a]!, names[b]!)
  );
}

/** For each node of a part, the rank of the earliest neuron that it is or reaches without passing one. */
function earliestBehind(
  { names, arcs, isNeuron }: CycleGraph,
  inside: readonly number[],
  rank: ReadonlyMap<number, number>,
): Map<number, number> {
  const local = inside.map((index) => arcs[index]!);
  const incoming = arcsByTarget(names.length, local);
  const earliest = new Map<number, number>();
  for (const [neuron, place] of rank) {
    const work = [neuron];
    if (!earliest.has(neuron)) earliest.set(neuron, place);
    for (const node of work) {
      for (const arc of incoming[node]!) {
        const { from } = local[arc]!;
        if (isNeuron(from) || earliest.has(from)) continue;
        earliest.set(from, place);
        work.push(from);
      }
    }
  }
  // Nodes that reach no neuron lie on a cycle that the caller refuses.
  for (const { from, to } of local) {
    for (const node of [from, to]) if (!earliest.has(node)) earliest.set(node, Infinity);
  }
  return earliest;
}

function wantedCuts(graph: CycleGraph, wanted: readonly (readonly string[])[]): Set<number> {
  const { names, arcs } = graph;
  const cycles = cyclicParts(names.length, arcs);
  const part = new Map(cycles.flatMap((list, id) => list.map((node) => [node, id] as const)));
  const chosen = new Set<number>();
  for (const [a, b] of wanted) {
    const found = arcs.flatMap(({ from, to }, index) =>
      names[from] === a && names[to] === b && part.has(from) && part.get(from) === part.get(to)
        ? [index]
        : []
    );
    for (const index of found) chosen.add(index);
    if (found.length > 0) continue;
    const possible = arcs.filter(({ from, to }) =>
      part.has(from) && part.get(from) === part.get(to)
    )
      .map(({ from, to }) => `${names[from]}:${names[to]}`);
    throw new GanglionError(
      "usage",
      `No edge ${a}:${b} lies in a cycle` +
        (possible.length === 0
          ? "; the model has no cycle"
          : `; those that do: ${listNames(possible)}`),
      { possible },
    );
  }
  return chosen;
}
