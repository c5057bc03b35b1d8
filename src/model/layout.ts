/**
 * Which nodes the plan has, in which order, and which edges read the step before. What must hold
 * afterwards: the model input is node 0; nodes with weights, pools and delays have one edge (several
 * are joined in a `Sum` node, `<node>.sum`); the model's output is a node of its own.
 */
import { layerOfNirType } from "../layers/mod.ts";
import { cutCycles } from "./cycles.ts";
import type { Arc } from "./digraph.ts";
import type { FlatGraph, Notes } from "./flat_graph.ts";
import { compareNames, freeName } from "./names.ts";
import { invalidNode } from "./nir_error.ts";
import { orderNodes, type Stretch } from "./order.ts";
import type { PlanBlock, PlanEdge } from "./plan.ts";

export interface LaidOutNode {
  readonly name: string;
  readonly type: string;
  readonly inputs: readonly PlanEdge[];
}

export interface Layout {
  readonly nodes: readonly LaidOutNode[];
  readonly blocks: readonly PlanBlock[];
  readonly output: number;
  /** Delays that cut their cycle: they read the step before and so wait one step less. */
  readonly cutDelays: ReadonlySet<string>;
}

interface Edge extends Arc {
  previous: boolean;
}

interface Draft {
  names: string[];
  types: string[];
  edges: Edge[];
}

const ONE_EDGE = new Set([
  "Affine",
  "Linear",
  "Conv1d",
  "Conv2d",
  "SumPool2d",
  "AvgPool2d",
  "Delay",
]);
const NEURONS = new Set(["I", "IF", "LI", "LIF", "CubaLI", "CubaLIF", "Threshold"]);

/** Whether nodes of a type fire or integrate, so that a cycle may be cut behind them. */
export const isNeuron = (type: string): boolean =>
  NEURONS.has(type) || layerOfNirType(type) !== undefined;

export function layOut(
  graph: FlatGraph,
  delays: ReadonlyMap<string, Uint32Array>,
  wanted: readonly (readonly string[])[],
  notes: Notes,
): Layout {
  const draft = draftOf(graph);
  const cutDelays = cut(draft, delays, wanted, notes);
  const source = ownOutput(draft, graph);
  joinEdges(draft, cutDelays, new Set([...draft.names, ...graph.nodes.keys()]));
  const stretches = orderNodes({
    names: draft.names,
    arcs: draft.edges,
    previous: new Set(draft.edges.flatMap(({ previous }, index) => previous ? [index] : [])),
    input: draft.names.indexOf(graph.input),
    early: new Set([...cutDelays].map((name) => draft.names.indexOf(name))),
  });
  return finish(draft, stretches, source, cutDelays);
}

function draftOf(graph: FlatGraph): Draft {
  const names = [...graph.nodes.keys()].sort(compareNames);
  const index = new Map(names.map((name, place) => [name, place]));
  const edges = graph.edges.map(([from, to]): Edge => ({
    from: index.get(from)!,
    to: index.get(to)!,
    previous: false,
  }));
  const fed = new Set(edges.map(({ to }) => names[to]));
  for (const name of names) {
    if (!fed.has(name) && name !== graph.input) throw invalidNode(name, "no value reaches it");
  }
  return { names, types: names.map((name) => graph.nodes.get(name)!.type), edges };
}

/** Marks the cut edges; returns the delays that are cuts themselves. */
function cut(
  draft: Draft,
  delays: ReadonlyMap<string, Uint32Array>,
  wanted: readonly (readonly string[])[],
  notes: Notes,
): Set<string> {
  const { names, types, edges } = draft;
  const cuts = cutCycles({
    names,
    arcs: edges,
    isNeuron: (node) => isNeuron(types[node]!),
    isDelay: (node) => delays.get(names[node]!)?.every((steps) => steps >= 1) ?? false,
  }, wanted);
  for (const index of cuts.previous) {
    const edge = edges[index]!;
    edge.previous = true;
    notes.info(
      "cut_edge",
      `"${names[edge.to]}" sees what "${names[edge.from]}" gave in the step before`,
      names[edge.to],
    );
  }
  for (const node of cuts.delays) {
    notes.info("cut_delay", "This Delay cuts its cycle: no other edge of it needs to", names[node]);
  }
  return new Set([...cuts.delays].map((node) => names[node]!));
}

/** The name of the node whose values leave: the Output's only source, or the Output as a sum. */
function ownOutput(draft: Draft, graph: FlatGraph): string {
  const output = draft.names.indexOf(graph.output);
  const into = draft.edges.filter(({ to }) => to === output);
  const [only] = into;
  if (into.length !== 1 || only!.previous || draft.names[only!.from] === graph.input) {
    return graph.output;
  }
  const source = draft.names[only!.from]!;
  draft.names.splice(output, 1);
  draft.types.splice(output, 1);
  const shift = (node: number): number => node > output ? node - 1 : node;
  draft.edges = draft.edges.filter(({ to }) => to !== output).map((edge) => ({
    from: shift(edge.from),
    to: shift(edge.to),
    previous: edge.previous,
  }));
  return source;
}

/** Gives nodes that take one edge a `Sum` for their several, and cutting delays their late edge. */
function joinEdges(draft: Draft, cutDelays: ReadonlySet<string>, taken: Set<string>): void {
  const count = draft.names.length;
  for (let node = 0; node < count; node++) {
    if (!ONE_EDGE.has(draft.types[node]!)) continue;
    const name = draft.names[node]!;
    const into = draft.edges.filter(({ to }) => to === node);
    let last = into[0]!;
    if (into.length > 1) {
      const sum = draft.names.length;
      const sumName = freeName(`${name}.sum`, taken);
      taken.add(sumName);
      draft.names.push(sumName);
      draft.types.push("Sum");
      last = { from: sum, to: node, previous: false };
      draft.edges = draft.edges.map((edge) => edge.to === node ? { ...edge, to: sum } : edge);
      draft.edges.push(last);
    }
    // A Delay that reads the step before delays by one step already. Its ring holds one entry less, and
    // it can run first in its cycle: what it gives does not depend on what it gets in the same step.
    if (cutDelays.has(name)) last.previous = true;
  }
}

function finish(
  draft: Draft,
  stretches: readonly Stretch[],
  source: string,
  cutDelays: ReadonlySet<string>,
): Layout {
  const order = stretches.flatMap(({ nodes }) => nodes);
  const place = new Map(order.map((node, index) => [node, index]));
  const nodes = order.map((node): LaidOutNode => ({
    name: draft.names[node]!,
    type: draft.types[node]!,
    inputs: draft.edges.filter(({ to }) => to === node)
      .map(({ from, previous }) => ({ from: place.get(from)!, previous }))
      .sort((a, b) => a.from - b.from || Number(a.previous) - Number(b.previous)),
  }));
  const blocks: { kind: PlanBlock["kind"]; nodes: number[] }[] = [];
  let index = 0;
  for (const { cyclic, nodes: members } of stretches) {
    const own = members.map(() => index++);
    if (own[0] === 0) continue; // the model input, which no block runs
    const last = blocks.at(-1);
    if (!cyclic && last?.kind === "feedforward") last.nodes.push(...own);
    else blocks.push({ kind: cyclic ? "recurrent" : "feedforward", nodes: own });
  }
  return { nodes, blocks, output: nodes.findIndex(({ name }) => name === source), cutDelays };
}
