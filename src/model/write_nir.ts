/**
 * `NirGraph` → the bytes of a `.nir` file that the official package reads too. What must hold: reading
 * it back and compiling it with the same options computes the same bits. What NIR wants and a graph may
 * leave open is filled in: shapes of Inputs, Outputs, convolutions and Flattens; one value for a whole
 * population becomes one an element; numbers of a 2-d window become pairs; a convolution without bias
 * gets zeros. Edges are written as they were read, mended ones too.
 */
import { resolveEdges } from "./edges.ts";
import { flattenGraph } from "./graph.ts";
import { Notes } from "./flat_graph.ts";
import { sizeOf } from "../base/numeric.ts";
import type { NirField, NirGraph, NirNode, NirTensor } from "./nir.ts";
import { invalidNode } from "./nir_error.ts";
import { fieldsOf, populationFields } from "./nir_fields.ts";
import { tensorOf } from "./nir_schema.ts";
import { type WriteTree, writeTree, type WriteValue } from "./nir_tree_write.ts";
import { type CompileOptions, settle } from "./options.ts";
import { inferShapes, type NodeShapes } from "./shapes.ts";

/** The release of the `nir` package whose layout is written. */
const NIR_VERSION = "1.0.8";

/** Fields that are one number an axis of a 2-d window. */
const PAIRS = ["stride", "padding", "dilation", "kernel_size"];

/**
 * The file of a graph. Throws as `compilePlan` does for a graph that cannot be compiled.
 *
 * @param options `flattenBatch` and `strict` as the graph is read with; a `dt` is kept as metadata.
 */
export async function writeNirBytes(
  graph: NirGraph,
  options: CompileOptions = {},
): Promise<Uint8Array> {
  const settings = settle(options);
  const notes = new Notes();
  const shapes = inferShapes(flattenGraph(graph, settings.strict, notes), settings, notes);
  const metadata = new Map(graph.metadata);
  if (options.dt !== undefined) {
    metadata.set("dt", { shape: [], data: Float64Array.of(options.dt) });
  }
  return await writeTree({
    version: text(NIR_VERSION),
    node: graphTree({ ...graph, metadata }, "", shapes),
  });
}

type Shapes = ReadonlyMap<string, NodeShapes>;

function graphTree(graph: NirGraph, prefix: string, shapes: Shapes): WriteTree {
  const edges = resolveEdges(graph, prefix, false, new Notes());
  const nodes = [...graph.nodes].map(([name, node]): [string, WriteTree] => {
    const full = prefix + name;
    if (name === "" || name === "." || name.includes("/")) {
      throw invalidNode(full, "its name cannot stand in a file: it is empty, a dot or has a slash");
    }
    if (node.graph !== undefined) return [name, graphTree(node.graph, `${full}.`, shapes)];
    return [name, nodeTree(node, shapes.get(full))];
  });
  return {
    type: text("NIRGraph"),
    nodes: Object.fromEntries(nodes),
    edges: edges.length === 0
      ? { kind: "floats", shape: [0], data: new Float64Array(0) }
      : { kind: "texts", shape: [edges.length, 2], data: edges.flat() },
    ...(graph.metadata.size === 0 ? {} : { metadata: metadataTree(graph.metadata) }),
  };
}

function nodeTree(node: NirNode, shapes: NodeShapes | undefined): WriteTree {
  const fields = new Map(node.fields);
  for (const [name, field] of missingFields(node, shapes)) {
    if (!fields.has(name)) fields.set(name, field);
  }
  const rules = fieldsOf(node.type)!;
  const population = populationFields(node.type);
  const tree: Record<string, WriteTree | WriteValue> = { type: text(node.type) };
  for (const [name, field] of fields) {
    if (typeof field === "string") tree[name] = text(field);
    else if (rules.get(name)!.form !== "numbers") tree[name] = wholes(node.type, name, field);
    else if (population.includes(name) && shapes !== undefined) {
      tree[name] = { kind: "floats", ...spread(field, shapes.out) };
    } else tree[name] = { kind: "floats", ...field };
  }
  return tree;
}

/** What NIR wants of a node beside what the graph says, where it is known. */
function missingFields(node: NirNode, shapes: NodeShapes | undefined): [string, NirField][] {
  const { type } = node;
  if (shapes === undefined) return [];
  if (type === "Input" || type === "Output") return [["shape", wholeTensor(shapes.out)]];
  if (type === "Flatten") return [["input_type", wholeTensor(shapes.in)]];
  if (type !== "Conv1d" && type !== "Conv2d") return [];
  const size = shapes.in.slice(1); // without the channels
  const weight = tensorOf(node, "weight");
  return [
    [
      "input_shape",
      type === "Conv1d" ? { shape: [], data: Float64Array.from(size) } : wholeTensor(size),
    ],
    ["bias", { shape: [weight.shape[0]!], data: new Float32Array(weight.shape[0]!) }],
  ];
}

/** One value for a whole population as one an element. */
function spread(field: NirTensor, shape: readonly number[]): NirTensor {
  if (field.data.length !== 1) return field;
  const Floats = field.data instanceof Float32Array ? Float32Array : Float64Array;
  return { shape, data: new Floats(sizeOf(shape)).fill(field.data[0]!) };
}

/** Axes of a 2-d window as pairs, of a 1-d one as plain numbers. */
function wholes(type: string, name: string, { shape, data }: NirTensor): WriteValue {
  const single = data.length === 1;
  if (single && PAIRS.includes(name) && type !== "Conv1d") {
    return { kind: "wholes", shape: [2], data: Float64Array.of(data[0]!, data[0]!) };
  }
  if (single && type === "Conv1d") return { kind: "wholes", shape: [], data };
  return { kind: "wholes", shape, data };
}

function wholeTensor(values: readonly number[]): NirTensor {
  return { shape: [values.length], data: Float64Array.from(values) };
}

/** Keys with a slash were nested groups. */
function metadataTree(metadata: ReadonlyMap<string, NirField>): WriteTree {
  type Entries = Record<string, WriteTree | WriteValue>;
  // Without a prototype, for a name in a file may be any text.
  const root = Object.create(null) as Entries;
  for (const [path, field] of metadata) {
    const names = path.split("/");
    let group = root;
    for (const name of names.slice(0, -1)) {
      group = (group[name] ??= Object.create(null) as Entries) as Entries;
    }
    group[names.at(-1)!] = typeof field === "string" ? text(field) : { kind: "floats", ...field };
  }
  return root;
}

function text(value: string): WriteValue {
  return { kind: "texts", shape: [], data: [value] };
}
