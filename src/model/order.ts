/**
 * The order in which one time step runs the nodes: sources first, ties by the bytes of the name,
 * every cycle in one contiguous stretch.
 */
import { type Arc, arcsBySource, cyclicParts, strongParts } from "./digraph.ts";
import { compareNames } from "./names.ts";

export interface OrderGraph {
  readonly names: readonly string[];
  readonly arcs: readonly Arc[];
  /** Arcs that read the step before: they tie a cycle together but order nothing. */
  readonly previous: ReadonlySet<number>;
  /** The model input, which stands first. */
  readonly input: number;
  /** Delays that cut their cycle: they run first in it. */
  readonly early: ReadonlySet<number>;
}

export interface Stretch {
  readonly cyclic: boolean;
  readonly nodes: readonly number[];
}

/** Stretches in execution order; each cycle is one, each other node stands alone. */
export function orderNodes(graph: OrderGraph): Stretch[] {
  const { names, arcs, previous, input, early } = graph;
  const part = strongParts(names.length, arcs);
  const members = new Map<number, number[]>();
  names.forEach((_, node) => members.set(part[node]!, [...members.get(part[node]!) ?? [], node]));
  const cyclic = new Set(cyclicParts(names.length, arcs).map(([node]) => part[node!]!));
  const byName = (a: number, b: number): number => compareNames(names[a]!, names[b]!);
  const before = (a: number, b: number): number =>
    Number(early.has(b)) - Number(early.has(a)) || byName(a, b);
  const inner = new Map<number, number[]>();
  for (const [id, list] of members) {
    const ordered = list.length === 1 ? list : sortMembers(list, arcs, previous, before);
    inner.set(id, ordered);
  }
  // A cycle stands in the queue under the least of its names.
  const lead = new Map([...members].map(([id, list]) => [id, [...list].sort(byName)[0]!]));
  const between = arcs.map(({ from, to }) => ({ from: part[from]!, to: part[to]! }))
    .filter(({ from, to }) => from !== to);
  const ids = sortArcs(
    members.size,
    between,
    (a, b) =>
      Number(b === part[input]) - Number(a === part[input]) || byName(lead.get(a)!, lead.get(b)!),
  );
  return ids.map((id) => ({ cyclic: cyclic.has(id), nodes: inner.get(id)! }));
}

function sortMembers(
  list: readonly number[],
  arcs: readonly Arc[],
  previous: ReadonlySet<number>,
  before: (a: number, b: number) => number,
): number[] {
  const place = new Map(list.map((node, index) => [node, index]));
  const local: Arc[] = [];
  arcs.forEach(({ from, to }, index) => {
    const [a, b] = [place.get(from), place.get(to)];
    if (a !== undefined && b !== undefined && !previous.has(index)) local.push({ from: a, to: b });
  });
  const sorted = sortArcs(list.length, local, (a, b) => before(list[a]!, list[b]!));
  return sorted.map((index) => list[index]!);
}

/** Kahn's order of an acyclic graph, the least of the ready nodes first. */
function sortArcs(
  count: number,
  arcs: readonly Arc[],
  before: (a: number, b: number) => number,
): number[] {
  const outgoing = arcsBySource(count, arcs);
  const waiting = new Int32Array(count);
  for (const { to } of arcs) waiting[to]!++;
  // Descending, so that the least is popped from the end.
  const ready: number[] = [];
  const add = (node: number): void => {
    let [low, high] = [0, ready.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (before(ready[middle]!, node) > 0) low = middle + 1;
      else high = middle;
    }
    ready.splice(low, 0, node);
  };
  for (let node = 0; node < count; node++) if (waiting[node] === 0) add(node);
  const order: number[] = [];
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order.push(node);
    for (const arc of outgoing[node]!) {
      const { to } = arcs[arc]!;
      waiting[to]!--;
      if (waiting[to] === 0) add(to);
    }
  }
  return order;
}
