/**
 * A `NirGraph` from plain objects, for models built in TypeScript and for tests. The same checks as
 * for a file.
 *
 * @example
 * ```ts
 * const graph = graphOf({
 *   nodes: {
 *     input: { type: "Input", shape: [2] },
 *     fc: { type: "Affine", weight: [[1, 0.5], [0, 2]], bias: [0, 0] },
 *     lif: { type: "LIF", tau: [0.01, 0.01], r: [1, 1], v_leak: [0, 0], v_threshold: [1, 1] },
 *     output: { type: "Output", shape: [2] },
 *   },
 *   edges: [["input", "fc"], ["fc", "lif"], ["lif", "output"]],
 * });
 * ```
 */
import { LIMITS } from "../base/limits.ts";
import type { NirEdge, NirField, NirGraph, NirNode, NirTensor } from "./nir.ts";
import { invalidGraph, invalidNode, unsupportedNode } from "./nir_error.ts";
import { checkNode } from "./nir_schema.ts";

export type NestedNumbers = number | readonly NestedNumbers[];

/** Numbers in any form: nested lists, a typed array (one axis), or flat data with its shape. */
export type FieldLike =
  | string
  | boolean
  | NestedNumbers
  | Float32Array
  | Float64Array
  | Int32Array
  | Uint32Array
  | { readonly shape: readonly number[]; readonly data: ArrayLike<number> };

export interface NodeLike {
  readonly type: string;
  readonly [field: string]: FieldLike | Readonly<Record<string, NodeLike>> | readonly NirEdge[];
}

export interface GraphLike {
  readonly name?: string;
  readonly nodes: Readonly<Record<string, object>>;
  readonly edges: readonly (readonly string[])[];
  readonly metadata?: Readonly<Record<string, FieldLike>>;
}

/** Builds and checks a graph; throws as `readNirBytes` does. */
export function graphOf(graph: GraphLike): NirGraph {
  return build(graph, graph.name ?? "model", "", 1);
}

function build(graph: GraphLike, name: string, prefix: string, depth: number): NirGraph {
  if (depth > LIMITS.modelDepthMax.default) throw invalidGraph("Graphs are nested too deep");
  const nodes = new Map<string, NirNode>();
  for (const [key, node] of Object.entries(graph.nodes)) {
    const full = prefix + key;
    const { type, ...rest } = node as { type?: unknown };
    if (typeof type !== "string") throw invalidNode(full, "it needs a type");
    if (type === "NIRGraph") {
      const nested = build(rest as unknown as GraphLike, key, `${full}.`, depth + 1);
      nodes.set(key, { type, fields: new Map(), graph: nested });
      continue;
    }
    const fields = new Map<string, NirField>();
    for (const [field, value] of Object.entries(rest)) {
      if (value !== undefined && field !== "metadata") {
        fields.set(field, fieldOf(full, field, value));
      }
    }
    nodes.set(key, checkNode(full, type, fields));
  }
  const edges = graph.edges.map((edge): NirEdge => {
    if (edge.length !== 2) throw invalidGraph(`An edge has two ends, not ${edge.length}: ${edge}`);
    return [String(edge[0]), String(edge[1])];
  });
  const metadata = Object.entries(graph.metadata ?? {}).map(([key, value]): [string, NirField] => [
    key,
    fieldOf("metadata", key, value),
  ]);
  return { name, nodes, edges, metadata: new Map(metadata) };
}

/** A value in any of the forms of `FieldLike` as a field; throws naming node and field. */
export function fieldOf(node: string, field: string, value: unknown): NirField {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") {
    return { shape: [], data: Float64Array.of(Number(value)) };
  }
  if (value instanceof Float32Array || value instanceof Float64Array) {
    return { shape: [value.length], data: value };
  }
  if (ArrayBuffer.isView(value) && "length" in value) {
    const data = Float64Array.from(value as unknown as ArrayLike<number>);
    return { shape: [data.length], data };
  }
  if (Array.isArray(value)) return nested(node, field, value);
  if (typeof value === "object" && value !== null && "shape" in value && "data" in value) {
    const { shape, data } = value as { shape: number[]; data: ArrayLike<number> };
    const typed = data instanceof Float32Array || data instanceof Float64Array;
    return { shape: [...shape], data: typed ? data : Float64Array.from(data) };
  }
  throw unsupportedNode(node, `field "${field}" is neither numbers nor a word`, { field });
}

function nested(node: string, field: string, value: readonly unknown[]): NirTensor {
  const shape: number[] = [];
  for (let level: unknown = value; Array.isArray(level); level = level[0]) {
    shape.push(level.length);
  }
  const flat: number[] = [];
  const visit = (item: unknown, axis: number): void => {
    const list = Array.isArray(item);
    if (list !== (axis < shape.length) || (list && item.length !== shape[axis])) {
      throw invalidNode(node, `field "${field}" is a ragged list`, { field });
    }
    if (list) { for (const each of item) visit(each, axis + 1); }
    else if (typeof item === "number" || typeof item === "boolean") flat.push(Number(item));
    else throw invalidNode(node, `field "${field}" holds something that is no number`, { field });
  };
  visit(value, 0);
  return { shape, data: Float64Array.from(flat) };
}
