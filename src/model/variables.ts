/** Other parameters in the place of a graph's own, as `{ node: { field: numbers } }`. */
import { type FieldLike, fieldOf } from "./build.ts";
import type { NirField, NirGraph, NirNode } from "./nir.ts";
import { invalidGraph, invalidNode, listNames } from "./nir_error.ts";
import { fieldsOf } from "./nir_fields.ts";
import { checkField } from "./nir_schema.ts";

export type Variables = Readonly<Record<string, Readonly<Record<string, FieldLike>>>>;

/**
 * The graph with fields replaced; nested nodes are named `outer.inner`. A top-level key `state` is
 * ignored, as everywhere. Throws for a node or field that is not there.
 */
export function applyVariables(graph: NirGraph, variables: Variables): NirGraph {
  const open = new Map(Object.entries(variables).filter(([name]) => name !== "state"));
  const changed = replaceIn(graph, "", open);
  const left = [...open.keys()];
  if (left.length > 0) {
    throw invalidGraph(`The model has no node ${listNames(left)} to set variables of`, {
      nodes: left,
    });
  }
  return changed;
}

function replaceIn(
  graph: NirGraph,
  prefix: string,
  open: Map<string, Readonly<Record<string, FieldLike>>>,
): NirGraph {
  const nodes = new Map<string, NirNode>();
  for (const [key, node] of graph.nodes) {
    const name = prefix + key;
    const fields = open.get(name);
    if (node.graph !== undefined) {
      nodes.set(key, { ...node, graph: replaceIn(node.graph, `${name}.`, open) });
    } else if (fields === undefined) nodes.set(key, node);
    else {
      nodes.set(key, replaceFields(name, node, fields));
      open.delete(name);
    }
  }
  return { ...graph, nodes };
}

function replaceFields(
  name: string,
  node: NirNode,
  values: Readonly<Record<string, FieldLike>>,
): NirNode {
  const fields = new Map<string, NirField>(node.fields);
  const rules = fieldsOf(node.type)!;
  for (const [field, value] of Object.entries(values)) {
    const rule = rules.get(field);
    if (rule === undefined) {
      throw invalidNode(name, `${node.type} has no field "${field}" to set`, { field });
    }
    fields.set(field, checkField(name, field, fieldOf(name, field, value), rule));
  }
  return { ...node, fields };
}
