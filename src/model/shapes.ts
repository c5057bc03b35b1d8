/**
 * The shape that enters and leaves every node, time left out. Shapes are pushed along the edges from
 * what the nodes say of themselves; then every edge is checked. What must hold afterwards: both ends
 * of every edge agree, and the number of values of the whole model is under a cap, so that later
 * passes may allocate. Errors name the node, both shapes and what to do.
 */
import type { FlatGraph, Notes } from "./flat_graph.ts";
import { convGeometry, convInput, poolGeometry } from "./geometry.ts";
import { denseShapes, flattened, type NodeShapes, sameShape } from "./node_shapes.ts";
import type { NirNode } from "./nir.ts";
import { invalidNode, shapeText } from "./nir_error.ts";
import { populationFields } from "./nir_fields.ts";
import { tensorOf, wholesOf } from "./nir_schema.ts";

export type { NodeShapes };

export interface ShapeOptions {
  readonly flattenBatch: boolean;
  readonly strict: boolean;
}

/** Values that leave all nodes in one step, together. Far above any model that fits a device. */
export const VALUES_MAX = 2 ** 26;

export function inferShapes(
  given: FlatGraph,
  options: ShapeOptions,
  notes: Notes,
): Map<string, NodeShapes> {
  const graph = options.strict ? given : withoutBatchAxis(given, notes);
  const inputs = pushShapes(graph, options);
  const shapes = new Map<string, NodeShapes>();
  let total = 0;
  for (const [name, node] of graph.nodes) {
    const shape = inputs.get(name);
    if (shape === undefined) {
      throw invalidNode(name, `its shape cannot be inferred; give ${hint(node)} a shape`);
    }
    const out = outputShape(name, node, shape, options);
    total += count(name, out);
    if (total > VALUES_MAX) {
      throw invalidNode(name, `the model has more than ${VALUES_MAX} values a step`, {
        shape: out,
      });
    }
    shapes.set(name, { in: shape, out });
    noteSpread(name, node, out, notes);
  }
  checkEdges(graph, shapes, options, notes);
  return shapes;
}

/**
 * Exporters that were given a sample with its batch write that axis into the Input, and the Output: an axis
 * of 1 that nobody behind the Input takes.
 */
function withoutBatchAxis(graph: FlatGraph, notes: Notes): FlatGraph {
  const input = graph.nodes.get(graph.input)!;
  const declared = input.type === "Input" ? declaredShape(graph.input, input) : null;
  if (declared === null || declared.length < 2 || declared[0] !== 1) return graph;
  const rest = declared.slice(1);
  const readers = graph.edges.filter(([from]) => from === graph.input).map(([, to]) => to);
  const takeRest = readers.every((name) => {
    const own = ownInput(name, graph.nodes.get(name)!);
    return own !== null && sameShape(own, rest);
  });
  if (!takeRest || readers.length === 0) return graph;
  notes.warn(
    "batch_axis",
    `The Input declares ${shapeText(declared)}, but what follows takes ${
      shapeText(rest)
    }: the first ` +
      "axis was read as that of the batch and left out",
    graph.input,
  );
  const nodes = new Map(graph.nodes);
  nodes.set(graph.input, withShape(input, rest));
  const output = graph.nodes.get(graph.output)!;
  const out = output.type === "Output" ? declaredShape(graph.output, output) : null;
  if (out !== null && out.length > 1 && out[0] === 1) {
    nodes.set(graph.output, withShape(output, out.slice(1)));
  }
  return { ...graph, nodes };
}

function withShape(node: NirNode, shape: readonly number[]): NirNode {
  const data = Float64Array.from(shape);
  return { ...node, fields: new Map([...node.fields, ["shape", { shape: [data.length], data }]]) };
}

/** What enters each node, as far as it can be known. */
function pushShapes(graph: FlatGraph, options: ShapeOptions): Map<string, readonly number[]> {
  const inputs = new Map<string, readonly number[]>();
  const targets = new Map<string, string[]>();
  for (const [from, to] of graph.edges) targets.set(from, [...targets.get(from) ?? [], to]);
  const work: string[] = [];
  const learn = (name: string, shape: readonly number[] | null): void => {
    if (shape === null || inputs.has(name)) return;
    inputs.set(name, shape);
    work.push(name);
  };
  for (const [name, node] of graph.nodes) learn(name, ownInput(name, node));
  const spread = (): void => {
    for (let name = work.pop(); name !== undefined; name = work.pop()) {
      const out = outputShape(name, graph.nodes.get(name)!, inputs.get(name)!, options);
      for (const to of targets.get(name) ?? []) learn(to, out);
    }
  };
  spread();
  // An Input that says no shape takes what the node behind it wants.
  const first = targets.get(graph.input)?.[0];
  if (first !== undefined) {
    const node = graph.nodes.get(first)!;
    const lone = populationFields(node.type).length > 0 ? onlyElement(node) : null;
    learn(graph.input, inputs.get(first) ?? lone);
    spread();
  }
  // What no Input reaches has the shape of its own parameters.
  for (const [name, node] of graph.nodes) {
    if (populationFields(node.type).length > 0) learn(name, onlyElement(node));
    spread();
  }
  return inputs;
}

/** The input shape that a node's own fields fix, or null. */
function ownInput(name: string, node: NirNode): readonly number[] | null {
  switch (node.type) {
    case "Input":
    case "Output":
      return node.type === "Input" ? declaredShape(name, node) : null;
    case "Affine":
    case "Linear":
      return denseShapes(name, node).in;
    case "Conv1d":
    case "Conv2d":
      return convInput(name, node).shape;
    case "Flatten":
      return wholesOf(node, "input_type");
    case "SumPool2d":
    case "AvgPool2d":
      return null;
    default:
      return population(name, node);
  }
}

/** The shape that leaves a node which receives `shape`. */
function outputShape(
  name: string,
  node: NirNode,
  shape: readonly number[],
  options: ShapeOptions,
): readonly number[] {
  switch (node.type) {
    case "Affine":
    case "Linear":
      return denseShapes(name, node).out;
    case "Conv1d":
    case "Conv2d": {
      const { outChannels, outSize } = convGeometry(name, node, shape);
      return node.type === "Conv1d" ? [outChannels, outSize[1]] : [outChannels, ...outSize];
    }
    case "SumPool2d":
    case "AvgPool2d": {
      const { channels, outSize } = poolGeometry(name, node, shape);
      return [channels, ...outSize];
    }
    case "Flatten":
      return flattened(name, node, shape, options.flattenBatch);
    case "Output":
      return declaredShape(name, node) ?? shape;
    default:
      return shape;
  }
}

function declaredShape(name: string, node: NirNode): readonly number[] | null {
  const shape = wholesOf(node, "shape");
  if (shape?.some((axis) => axis < 1)) {
    throw invalidNode(name, `its shape ${shapeText(shape)} must be positive`, { field: "shape" });
  }
  return shape;
}

/** The one shape of a population's parameters; null when all have one element (they are spread). */
function population(name: string, node: NirNode): readonly number[] | null {
  let found: { field: string; shape: readonly number[] } | null = null;
  for (const field of populationFields(node.type)) {
    const { shape, data } = tensorOf(node, field);
    if (data.length === 1) continue;
    if (found === null) found = { field, shape };
    else if (!sameShape(found.shape, shape)) {
      throw invalidNode(
        name,
        `${found.field} has the shape ${shapeText(found.shape)} and ${field} ${
          shapeText(shape)
        }; ` +
          "all parameters of a node have one shape",
        { field },
      );
    }
  }
  return found?.shape ?? null;
}

function onlyElement(node: NirNode): readonly number[] {
  const ranks = populationFields(node.type).map((field) => tensorOf(node, field).shape);
  return ranks.reduce((longest, shape) => shape.length > longest.length ? shape : longest, [1]);
}

/** Says so when one value stands for a whole population. */
function noteSpread(name: string, node: NirNode, shape: readonly number[], notes: Notes): void {
  if (shape.every((axis) => axis === 1)) return;
  const fields = populationFields(node.type).filter((field) => {
    const tensor = tensorOf(node, field);
    // What the schema put in for an absent field is no news.
    const absent = field === "v_reset" || field === "w_in";
    return tensor.data.length === 1 && !(absent && tensor.shape.length === 0);
  });
  if (fields.length > 0) {
    notes.info(
      "broadcast",
      `One value of ${fields.join(", ")} stands for all of ${shapeText(shape)}`,
      name,
    );
  }
}

function checkEdges(
  graph: FlatGraph,
  shapes: Map<string, NodeShapes>,
  options: ShapeOptions,
  notes: Notes,
): void {
  for (const [from, to] of graph.edges) {
    const left = shapes.get(from)!.out;
    const target = graph.nodes.get(to)!;
    const right = target.type === "Output" ? shapes.get(to)!.out : shapes.get(to)!.in;
    if (sameShape(left, right)) continue;
    const same = count(from, left) === count(to, right);
    if (target.type === "Output" && same && !options.strict) {
      notes.warn(
        "reshaped_output",
        `"${to}" declares ${shapeText(right)} but "${from}" gives ${shapeText(left)}: the same ` +
          `values, served as ${shapeText(right)}`,
        to,
      );
      continue;
    }
    throw invalidNode(
      to,
      `it ${target.type === "Output" ? "declares" : "takes"} ${shapeText(right)}, but "${from}" ` +
        `gives ${shapeText(left)}` + advice(same, target, options),
      { from, gives: left, takes: right },
    );
  }
}

function advice(same: boolean, target: NirNode, options: ShapeOptions): string {
  if (!same) return "; mend one of the two nodes";
  if (target.type === "Output") {
    return options.strict ? "; without strict, it would be reshaped" : "";
  }
  return "; put a Flatten between them";
}

function hint({ type }: NirNode): string {
  return type === "Input" || type === "Output" ? "it" : "the Input";
}

/** Product of a shape that cannot overflow: it stops at the cap. */
function count(name: string, shape: readonly number[]): number {
  let product = 1;
  for (const axis of shape) {
    product *= axis;
    if (!(product <= VALUES_MAX)) {
      throw invalidNode(name, `its shape ${shapeText(shape)} has more than ${VALUES_MAX} values`, {
        shape,
      });
    }
  }
  return product;
}
