/**
 * A random model: a chain that branches, joins, nests to depth 3 and runs back on itself. What must hold
 * of every draw: the nodes' shapes fit along every edge, and the file has one reading. Whether its
 * cycles may run is not seen to: the walk judges that, and the model lane must agree.
 */
import type { CompileOptions } from "../../../src/model/mod.ts";
import { Dice } from "../../support/dice.ts";
import { type Draw, drawNode, type Gains } from "./draw_node.ts";
import { CycleError, edgesInCycles, isNeuron } from "./walk_cycles.ts";
import { flatOf } from "./walk_flat.ts";
import {
  type DtFrom,
  sameShape,
  type Shape,
  sizeOf,
  type Spec,
  type SpecGraph,
  type SpecNode,
} from "./spec.ts";

const DEPTH_MAX = 3;
const STEPS = [10, 20] as const;

const SHAPES: readonly Shape[] = [[1], [3], [5], [6], [2, 7], [3, 4], [1, 6, 5], [2, 5, 4], [
  3,
  3,
  4,
]];
const ODD_NAMES = [
  (n: number) => `${n}`,
  (n: number) => `lif${n}.w_rec`,
  (n: number) => `n${n}`,
  (n: number) => `n${n}`,
  (n: number) => `${String.fromCharCode(122 - n % 26)}${n}`,
  (n: number) => `n${n - 1}.sum`,
  (n: number) => `入 ${n}`,
  (n: number) => `😀${n}`,
  (n: number) => `｡${n}`,
  (n: number) => `"${n}" 'x`,
  (n: number) => `__proto__${n === 0 ? "" : n}`,
];

interface Namer {
  readonly dice: Dice;
  count: number;
}

export function drawSpec(seed: number): Spec {
  const dice = new Dice(seed);
  const dtFrom = dice.pick<DtFrom>(["flag", "flag", "flag", "metadata", "inferred", "default"]);
  const dt = dtFrom === "default" ? 1e-4 : dice.pick([1e-3, 1e-4, 5e-3, 2 ** -10]);
  const options = drawOptions(dice, dtFrom === "flag" ? dt : undefined);
  const gains: Gains = dtFrom === "default"
    ? "one"
    : dtFrom === "inferred"
    ? "inverse"
    : dice.pick<Gains>(["lively", "lively", "lively", "inverse", "one"]);
  const draw: Draw = {
    dice,
    dt,
    gains,
    ifGain: options.ifGain ?? "auto",
    exact: options.discretization === "exact",
    flattenBatch: options.flattenBatch ?? false,
  };
  const shape = dice.pick(SHAPES);
  const names = { dice, count: 0 };
  const graph = drawGraph(draw, names, shape, 1);
  if (dtFrom === "inferred") seeToInference(draw, names, graph, shape);
  const steps = dice.int(...STEPS);
  const input = drawInput(dice, steps, sizeOf(shape));
  const spec = { seed, graph, options, dt, dtFrom, steps, input };
  return dice.chance(0.1) ? withCut(dice, spec) : spec;
}

/** The same model with an edge of one of its cycles cut on request. */
function withCut(dice: Dice, spec: Spec): Spec {
  try {
    const edges = edgesInCycles(flatOf(spec));
    return edges.length === 0
      ? spec
      : { ...spec, options: { ...spec.options, cut: [dice.pick(edges)] } };
  } catch (error) {
    if (error instanceof CycleError) return spec;
    throw error;
  }
}

function drawOptions(dice: Dice, dt: number | undefined): CompileOptions {
  const sometimes = <T>(make: () => T): T | undefined => dice.chance(0.3) ? make() : undefined;
  const options = {
    dt,
    discretization: sometimes(() => "exact" as const),
    compare: sometimes(() => "ge" as const),
    reset: sometimes(() => dice.pick(["zero", "subtract", "none", "v_reset"] as const)),
    ifGain: sometimes(() => dice.pick(["r", "r_dt"] as const)),
    cubaOrder: sometimes(() => "old" as const),
    flattenBatch: sometimes(() => true),
  };
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as CompileOptions;
}

interface Member {
  readonly name: string;
  readonly node: SpecNode;
}

function drawGraph(draw: Draw, names: Namer, shape: Shape, depth: number): SpecGraph {
  const { dice } = draw;
  const nodes = new Map<string, SpecNode>();
  const edges: [string, string][] = [];
  const heads: Member[] = [];
  const add = (name: string, node: SpecNode): Member => {
    nodes.set(name, node);
    const member = { name, node };
    heads.push(member);
    return member;
  };
  const port = (type: string, at: Shape): SpecNode => ({ type, in: at, out: at, fields: {} });
  let last = add(portName(names, "input"), port("Input", shape));
  const count = depth === 1 ? dice.int(1, 8) : dice.int(0, 4);
  for (let k = 0; k < count; k++) {
    const source = dice.chance(0.75) ? last : dice.pick(heads.slice(-3));
    const nest = depth < DEPTH_MAX && dice.chance(0.14);
    const node = nest
      ? nested(draw, names, source.node.out, depth)
      : drawNode(draw, source.node.out);
    last = add(nodeName(names), node);
    edges.push([source.name, last.name]);
    if (dice.chance(0.3)) {
      const more = heads.filter((head) => head !== last && sameShape(head.node.out, node.in));
      if (more.length > 0) edges.push([dice.pick(more).name, last.name]);
    }
  }
  runBack(dice, heads.slice(1), edges);
  const output = portName(names, "output");
  nodes.set(output, port("Output", last.node.out));
  edges.push([last.name, output]);
  const also = heads.slice(0, -1).filter((head) => sameShape(head.node.out, last.node.out));
  if (also.length > 0 && dice.chance(0.25)) edges.push([dice.pick(also).name, output]);
  if (dice.chance(0.1)) edges.push(dice.pick(edges)); // counts once
  return { nodes: shuffled(dice, [...nodes]), edges: withPorts(dice, nodes, distinctLast(edges)) };
}

/** A graph of its own as one node. */
function nested(draw: Draw, names: Namer, shape: Shape, depth: number): SpecNode {
  const graph = drawGraph(draw, names, shape, depth + 1);
  const output = [...graph.nodes.values()].find(({ type }) => type === "Output")!;
  return { type: "NIRGraph", in: shape, out: output.in, fields: {}, graph };
}

/** Edges from anywhere to anywhere that fits: self-edges, cycles that overlap, shortcuts. */
function runBack(dice: Dice, members: readonly Member[], edges: [string, string][]): void {
  if (members.length === 0 || dice.chance(0.35)) return;
  const firing = members.filter(({ node }) => isNeuron(node.type));
  for (let tries = dice.int(1, 4); tries > 0; tries--) {
    // From neurons mostly, since a cycle without one is seldom allowed.
    const from = dice.pick(firing.length > 0 && dice.chance(0.8) ? firing : members);
    const fits = members.filter(({ node }) => sameShape(node.in, from.node.out));
    if (fits.length > 0) edges.push([from.name, dice.pick(fits).name]);
  }
}

/** Chance makes some edges twice; only what was repeated on purpose may stay so. */
function distinctLast(edges: readonly [string, string][]): [string, string][] {
  const seen = new Set<string>();
  return edges.filter((edge, index) => {
    const key = JSON.stringify(edge);
    const fresh = !seen.has(key);
    seen.add(key);
    return fresh || index === edges.length - 1;
  });
}

/** Now and then an edge to a nested graph names its port. */
function withPorts(
  dice: Dice,
  nodes: ReadonlyMap<string, SpecNode>,
  edges: readonly [string, string][],
): [string, string][] {
  const named = (name: string, type: string): string => {
    const inner = nodes.get(name)?.graph;
    if (inner === undefined || !dice.chance(0.3)) return name;
    const port = [...inner.nodes].find(([, node]) => node.type === type)!;
    return `${name}.${port[0]}`;
  };
  return shuffledList(
    dice,
    edges.map(([from, to]) => [named(from, "Output"), named(to, "Input")]),
  );
}

function nodeName(names: Namer): string {
  return names.dice.pick(ODD_NAMES)(names.count++);
}

function portName(names: Namer, plain: string): string {
  return names.dice.chance(0.8) ? plain : nodeName(names);
}

function shuffledList<T>(dice: Dice, list: readonly T[]): T[] {
  const rest = [...list];
  for (let i = rest.length - 1; i > 0; i--) {
    const j = dice.int(0, i);
    [rest[i], rest[j]] = [rest[j]!, rest[i]!];
  }
  return rest;
}

const shuffled = <T>(dice: Dice, entries: readonly [string, T][]): Map<string, T> =>
  new Map(shuffledList(dice, entries));

/** dt can be inferred only where a leaky neuron says so: one is put beside the input. */
function seeToInference(draw: Draw, names: Namer, graph: SpecGraph, shape: Shape): void {
  const input = [...graph.nodes].find(([, { type }]) => type === "Input")![0];
  const name = nodeName(names);
  const values = (value: number) => ({
    shape,
    data: new Array<number>(sizeOf(shape)).fill(value),
    form: "f64" as const,
  });
  const fields = { tau: values(4 * draw.dt), r: values(4), v_leak: values(0) };
  const node: SpecNode = { type: "LI", in: shape, out: shape, fields };
  (graph.nodes as Map<string, SpecNode>).set(name, node);
  (graph.edges as [string, string][]).push([input, name]);
}

/** Spikes, real values and silence, a stretch of each. */
function drawInput(dice: Dice, steps: number, size: number): Float32Array {
  const input = new Float32Array(steps * size);
  for (let t = 0; t < steps; t++) {
    const make = dice.pick([
      () => dice.chance(0.5) ? 1 : 0,
      () => dice.chance(0.3) ? 1 : 0,
      () => Math.fround(dice.float(-0.5, 2)),
      () => 0,
    ]);
    for (let i = 0; i < size; i++) input[t * size + i] = make();
  }
  return input;
}
