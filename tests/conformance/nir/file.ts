/**
 * A spec → the bytes of a `.nir` file. What may be left out or said shorter sometimes is: absent
 * defaults, one value for a whole population (0-d or of one element), single numbers for pairs, gzip,
 * the newest HDF5 layout, no Input where one node wants it.
 */
import { Dice } from "../../support/dice.ts";
import { edges as edgeList, type Leaf, text, type Tree, writeH5 } from "../../model/h5_write.ts";
import type { Field, Spec, SpecGraph, SpecNode, Values } from "./spec.ts";

const ABSENT: Readonly<Record<string, number>> = {
  v_reset: 0,
  w_in: 1,
  stride: 1,
  padding: 0,
  dilation: 1,
  groups: 1,
};
/** Fields that have one value an element of the population; one may stand for all. */
const POPULATION = new Set(
  ["tau", "tau_syn", "tau_mem", "r", "v_leak", "v_threshold", "v_reset", "w_in"]
    .concat("threshold", "scale", "delay"),
);
/** Types whose own fields say what enters them, when those fields are written in full. */
const SAYS_SHAPE = new Set(["Affine", "Linear", "Flatten", "Conv1d", "Conv2d"]);

interface Writer {
  readonly dice: Dice;
  /** Nodes that an Input feeds, which may have to say its shape. */
  readonly first: ReadonlySet<SpecNode>;
}

export async function writeSpec(spec: Spec): Promise<Uint8Array> {
  const latest = new Dice(spec.seed + 0x1abe1).chance(0.1);
  return await writeH5(specTree(spec), latest ? "latest" : undefined);
}

/** The groups and datasets of the file. */
export function specTree(spec: Spec): Tree {
  const dice = new Dice(spec.seed + 0x5eed);
  const graph = dice.chance(0.15) ? withoutInput(spec.graph) : spec.graph;
  const writer: Writer = { dice, first: new Set(firstReaders(spec.graph)) };
  const node: Record<string, Tree[string]> = { ...graphTree(writer, graph) };
  const metadata: Record<string, Tree[string]> = {};
  if (spec.dtFrom === "metadata") metadata["dt"] = { data: spec.dt, dtype: "<d", shape: [] };
  if (dice.chance(0.2)) metadata["author"] = text("nobody");
  if (Object.keys(metadata).length > 0) node["metadata"] = metadata;
  const version = text(dice.pick(["0.1.1", "0.2.0", "1.0.7"]));
  return { version, node };
}

function* firstReaders(graph: SpecGraph): Generator<SpecNode> {
  for (const [from, to] of graph.edges) {
    const reader = graph.nodes.get(to);
    if (graph.nodes.get(from)?.type === "Input" && reader !== undefined) yield reader;
  }
  for (const { graph: inner } of graph.nodes.values()) if (inner) yield* firstReaders(inner);
}

/** The same graph as a chain that starts without Input, where that has one reading. */
function withoutInput(graph: SpecGraph): SpecGraph {
  const [input] = [...graph.nodes].find(([, { type }]) => type === "Input")!;
  const readers = new Set(graph.edges.filter(([from]) => from === input).map(([, to]) => to));
  const [first] = readers;
  if (readers.size !== 1 || !SAYS_SHAPE.has(graph.nodes.get(first!)?.type ?? "")) return graph;
  const others = graph.edges.filter(([from]) => from !== input);
  if (others.length === 0 || others.some(([, to]) => to === first)) return graph;
  return { nodes: new Map([...graph.nodes].filter(([name]) => name !== input)), edges: others };
}

function graphTree(writer: Writer, graph: SpecGraph): Tree {
  const { dice } = writer;
  const lonely = graph.nodes.size > 2 && dice.chance(0.05);
  const nodes = [...graph.nodes].map(([name, node]): [string, Tree] => [
    name,
    node.graph === undefined ? nodeTree(writer, node, graph, name) : graphTree(writer, node.graph),
  ]);
  // A node without edges is left out by the reader.
  if (lonely) nodes.push(["by itself", { type: text("Scale"), scale: leaf(dice, scalar(2)) }]);
  return {
    type: text("NIRGraph"),
    // `fromEntries` and not an assignment: a node may be called `__proto__`.
    nodes: Object.fromEntries(nodes),
    edges: edgeList(...graph.edges.map(([from, to]): [string, string] => [from, to])),
  };
}

function nodeTree(writer: Writer, node: SpecNode, graph: SpecGraph, name: string): Tree {
  const { dice } = writer;
  if (node.type === "Input" || node.type === "Output") {
    const known = node.type === "Output" || readerSaysShape(graph, name);
    const shape = { shape: [node.in.length], data: node.in, form: "i64" as const };
    const absent = known && dice.chance(0.1);
    return { type: text(node.type), ...(absent ? {} : { shape: leaf(dice, shape) }) };
  }
  const fields = Object.entries(node.fields).filter(([field, value]) =>
    !(mayBeAbsent(writer, node, field, value) && dice.chance(0.5))
  );
  // Where one value may stand for all, at least one field of some nodes still tells the shape.
  const spread = dice.chance(0.3);
  return {
    type: text(node.type),
    ...Object.fromEntries(
      fields.map(([field, value]) => [field, fieldLeaf(dice, node, field, value, spread)]),
    ),
  };
}

/** Whether an Input's only reader fixes the shape, so that the Input need not say it. */
function readerSaysShape(graph: SpecGraph, input: string): boolean {
  const readers = graph.edges.filter(([from]) => from === input).map(([, to]) => to);
  return readers.length === 1 && SAYS_SHAPE.has(graph.nodes.get(readers[0]!)?.type ?? "");
}

function mayBeAbsent(writer: Writer, node: SpecNode, field: string, value: Field): boolean {
  const { type, fields } = node;
  if (field === "input_shape" || field === "input_type") return !writer.first.has(node);
  if (typeof value === "string") return false;
  if (field === "start_dim") return value.data[0] === 1;
  if (field === "end_dim") return value.data[0] === -1;
  if (type.endsWith("Pool2d") && field === "stride") return false;
  const usual = ABSENT[field];
  return usual !== undefined && field in fields && value.data.every((each) => each === usual);
}

function fieldLeaf(
  dice: Dice,
  { type }: SpecNode,
  field: string,
  value: Field,
  spread: boolean,
): Leaf {
  if (typeof value === "string") return text(value);
  const alike = value.data.every((each) => each === value.data[0]);
  const one = scalar(value.data[0]!, value.form);
  if (POPULATION.has(field)) {
    if (spread && alike) return leaf(dice, dice.chance(0.5) ? one : { ...one, shape: [1] });
    return leaf(dice, value);
  }
  // A pair, or the only number of Conv1d and Flatten, may be a plain number.
  const plain = value.form !== "f32" && value.data.length <= 2 && alike &&
    !["weight", "bias", "scale"].includes(field) &&
    (field !== "input_shape" || type === "Conv1d") && field !== "input_type";
  return leaf(dice, plain && dice.chance(0.5) ? one : value);
}

function scalar(value: number, form: Values["form"] = "f64"): Values {
  return { shape: [], data: [value], form };
}

function leaf(dice: Dice, { shape, data, form }: Values): Leaf {
  const gzip = shape.length > 0 && dice.chance(0.25);
  switch (form) {
    case "i64":
      return { data: BigInt64Array.from(data.map(BigInt)), shape, gzip };
    case "i32":
      return { data: Int32Array.from(data), shape, gzip };
    case "u8":
      return { data: Uint8Array.from(data), shape, gzip };
    default: {
      const dtype = form === "f32" ? "<f" : "<d";
      if (shape.length === 0) return { data: data[0]!, shape, dtype };
      const typed = form === "f32" ? Float32Array.from(data) : Float64Array.from(data);
      return { data: typed, shape, gzip };
    }
  }
}
