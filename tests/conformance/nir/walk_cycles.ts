/**
 * The walk's own reading of the rule for cycles, the slow way: who reaches whom, then the order of the
 * neurons in each part, then every edge by itself.
 */
import type { SpecNode } from "./spec.ts";

export interface WalkGraph {
  readonly nodes: ReadonlyMap<string, SpecNode>;
  /** Sources of every node; one that comes by two wires stands twice. */
  readonly sources: ReadonlyMap<string, readonly string[]>;
  /** Delays of which every element waits at least a step: they answer from their past. */
  readonly stores: ReadonlySet<string>;
  readonly input: string;
  readonly output: string;
}

/** A cycle that nothing delays. */
export class CycleError extends Error {
  constructor(names: readonly string[]) {
    super(`nothing delays the cycle through ${names.join(", ")}`);
  }
}

const NEURONS = new Set(["I", "IF", "LI", "LIF", "CubaLI", "CubaLIF", "Threshold"]);

export const isNeuron = (type: string): boolean => NEURONS.has(type);

type Arc = readonly [from: string, to: string];

/** Every edge that some way leads back along. */
export function edgesInCycles(graph: WalkGraph): Arc[] {
  const arcs = [...graph.sources].flatMap(([to, list]) => list.map((from): Arc => [from, to]));
  const reach = reachOf([...graph.nodes.keys()], arcs);
  return arcs.filter(([from, to]) => from === to || reach.get(to)!.has(from));
}

/** The edges that read the step before, as JSON of [from, to]; `wanted` are cut before all others. */
export function cutEdges(graph: WalkGraph, wanted: readonly (readonly string[])[]): Set<string> {
  const names = [...graph.nodes.keys()];
  const late = new Set(wanted.map((arc) => JSON.stringify(arc)));
  const arcs = names.flatMap((to) =>
    graph.stores.has(to) ? [] : graph.sources.get(to)!.map((from): Arc => [from, to])
  ).filter((arc) => !late.has(JSON.stringify(arc)));
  const reach = reachOf(names, arcs);
  const together = (a: string, b: string): boolean => reach.get(a)!.has(b) && reach.get(b)!.has(a);
  const fires = (name: string): boolean => isNeuron(graph.nodes.get(name)!.type);
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name) || !together(name, name)) continue;
    const part = names.filter((other) => together(name, other));
    for (const member of part) seen.add(member);
    const inside = arcs.filter(([from, to]) => part.includes(from) && part.includes(to));
    const entries = part.filter((member) =>
      arcs.some(([from, to]) => to === member && !part.includes(from))
    );
    const distance = distancesFrom(entries, inside);
    const order = part.filter(fires).sort((a, b) =>
      (distance.get(a) ?? 0) - (distance.get(b) ?? 0) ||
      Buffer.compare(Buffer.from(a), Buffer.from(b))
    );
    for (const [from, to] of inside) {
      if (!fires(from)) continue;
      const place = order.indexOf(from);
      const met = neuronsBehind(to, inside, fires);
      if (met.some((neuron) => order.indexOf(neuron) <= place)) {
        late.add(JSON.stringify([from, to]));
      }
    }
  }
  const left = arcs.filter((arc) => !late.has(JSON.stringify(arc)));
  const loops = names.filter((name) => reachOf(names, left).get(name)!.has(name));
  if (loops.length > 0) throw new CycleError(loops);
  return late;
}

/** Whom each node reaches over at least one arc. */
function reachOf(
  names: readonly string[],
  arcs: readonly Arc[],
): Map<string, Set<string>> {
  const next = new Map(names.map((name) => [name, new Set<string>()]));
  for (const [from, to] of arcs) next.get(from)!.add(to);
  return new Map(names.map((name) => {
    const reached = new Set(next.get(name)!);
    for (const each of reached) for (const further of next.get(each)!) reached.add(further);
    return [name, reached];
  }));
}

function distancesFrom(
  entries: readonly string[],
  arcs: readonly Arc[],
): Map<string, number> {
  const distance = new Map(entries.map((name) => [name, 0]));
  for (const [name, steps] of distance) {
    for (const [from, to] of arcs) {
      if (from === name && !distance.has(to)) distance.set(to, steps + 1);
    }
  }
  return distance;
}

/** The neurons that `start` is, or reaches through nodes that are none. */
function neuronsBehind(
  start: string,
  arcs: readonly Arc[],
  fires: (name: string) => boolean,
): string[] {
  const seen = new Set([start]);
  for (const name of seen) {
    if (fires(name)) continue;
    for (const [from, to] of arcs) if (from === name) seen.add(to);
  }
  return [...seen].filter(fires);
}
