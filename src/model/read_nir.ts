/**
 * The bytes of a `.nir` file → `NirGraph`, in this process. A damaged file can hang or trap the HDF5
 * library: bytes that no operator vouches for go through `readNirIsolated` (runtime/nir_process.ts).
 */
import { GanglionError } from "../base/errors.ts";
import { LIMITS } from "../base/limits.ts";
import type { NirEdge, NirField, NirGraph, NirNode } from "./nir.ts";
import { invalidGraph, invalidNode, unsupportedNode } from "./nir_error.ts";
import { type NirLimits, readTree, type TreeEntry, type TreeGroup } from "./nir_file.ts";
import { checkNode } from "./nir_schema.ts";

export interface ReadOptions {
  /** Name of the model; `model` when not given. */
  readonly name?: string;
  readonly limits?: Partial<NirLimits>;
}

/**
 * Reads a NIR file. Throws `model_unreadable` when it is no sound HDF5 file or over a limit,
 * `model_invalid` or `model_unsupported`, naming node and field, when its content is wrong.
 */
export async function readNirBytes(
  bytes: Uint8Array,
  options: ReadOptions = {},
): Promise<NirGraph> {
  const limits: NirLimits = {
    modelBytesMax: LIMITS.modelBytesMax.default,
    modelNodesMax: LIMITS.modelNodesMax.default,
    modelDepthMax: LIMITS.modelDepthMax.default,
    ...options.limits,
  };
  const tree = await readTree(bytes, limits);
  const root = tree.entries.get("node");
  if (root?.kind !== "group") {
    throw new GanglionError("model_unreadable", 'The file has no group "/node", so it is not NIR');
  }
  const reader = { limits, nodes: 0 };
  const name = options.name ?? "model";
  const type = textOf(root, "type", "/node");
  if (type === "NIRGraph") return readGraph(reader, root, name, "", 1);
  // A file may hold one bare node: a graph of that node alone.
  const nodes = new Map([[type, readPlain(type, type, root)]]);
  return { name, nodes, edges: [], metadata: new Map() };
}

interface Reader {
  readonly limits: NirLimits;
  nodes: number;
}

function readGraph(
  reader: Reader,
  group: TreeGroup,
  name: string,
  prefix: string,
  depth: number,
): NirGraph {
  const { modelDepthMax, modelNodesMax } = reader.limits;
  if (depth > modelDepthMax) {
    throw new GanglionError(
      "model_unsupported",
      `Graphs are nested deeper than modelDepthMax = ${modelDepthMax}`,
      { limit: "modelDepthMax" },
    );
  }
  const here = prefix === "" ? name : prefix.slice(0, -1);
  for (const key of group.entries.keys()) {
    if (!["type", "nodes", "edges", "metadata"].includes(key)) {
      throw unsupportedNode(here, `NIRGraph has no field "${key}"`, { field: key });
    }
  }
  const list = group.entries.get("nodes");
  if (list?.kind !== "group") throw invalidNode(here, 'NIRGraph needs the group "nodes"');
  const nodes = new Map<string, NirNode>();
  for (const [key, entry] of list.entries) {
    const full = prefix + key;
    reader.nodes++;
    if (reader.nodes > modelNodesMax) {
      throw new GanglionError(
        "model_unsupported",
        `The model has more nodes than modelNodesMax = ${modelNodesMax}`,
        { limit: "modelNodesMax" },
      );
    }
    if (entry.kind !== "group") throw invalidNode(full, "it is a dataset where a node should be");
    const type = textOf(entry, "type", full);
    if (type === "NIRGraph") {
      const graph = readGraph(reader, entry, key, `${full}.`, depth + 1);
      nodes.set(key, { type, fields: new Map(), graph });
    } else {
      nodes.set(key, readPlain(full, type, entry));
    }
  }
  const edges = readEdges(here, group.entries.get("edges"));
  return { name, nodes, edges, metadata: readMetadata(group.entries.get("metadata")) };
}

function readPlain(name: string, type: string, group: TreeGroup): NirNode {
  const fields = new Map<string, NirField>();
  for (const [key, entry] of group.entries) {
    // Metadata may stand beside any node and must not change its meaning.
    if (key !== "type" && key !== "metadata") fields.set(key, toField(name, key, entry));
  }
  return checkNode(name, type, fields);
}

function toField(node: string, field: string, entry: TreeEntry): NirField {
  if (entry.kind === "numbers") return { shape: entry.shape, data: entry.data };
  if (entry.kind === "strings" && entry.data.length === 1) return entry.data[0]!;
  // A type such as Flatten's input_type may be stored by port: {input: shape}.
  const only = entry.kind === "group" ? [...entry.entries.values()] : [];
  if (only.length === 1 && only[0]!.kind === "numbers") return toField(node, field, only[0]!);
  const what = entry.kind === "other" ? `values of type ${entry.what}` : entry.kind;
  throw unsupportedNode(node, `field "${field}" holds ${what} where numbers should be`, { field });
}

function readEdges(graph: string, entry: TreeEntry | undefined): NirEdge[] {
  if (entry === undefined) throw invalidNode(graph, 'NIRGraph needs the dataset "edges"');
  // h5py writes an empty list as an empty array of f64.
  if (entry.kind === "numbers" && entry.data.length === 0) return [];
  const pairs = entry.kind === "strings" &&
    (entry.data.length === 0 || (entry.shape.length === 2 && entry.shape[1] === 2));
  if (!pairs) throw invalidGraph('"edges" must be names in the shape [n,2]', { node: graph });
  const edges: NirEdge[] = [];
  for (let i = 0; i < entry.data.length; i += 2) edges.push([entry.data[i]!, entry.data[i + 1]!]);
  return edges;
}

/** Nested groups become keys with a slash; values of other types are left out. */
function readMetadata(entry: TreeEntry | undefined): Map<string, NirField> {
  const metadata = new Map<string, NirField>();
  const visit = (group: TreeGroup, prefix: string): void => {
    for (const [key, value] of group.entries) {
      if (value.kind === "group") visit(value, `${prefix}${key}/`);
      else if (value.kind === "numbers") metadata.set(prefix + key, value);
      else if (value.kind === "strings") metadata.set(prefix + key, value.data.join("\n"));
    }
  };
  if (entry?.kind === "group") visit(entry, "");
  return metadata;
}

function textOf(group: TreeGroup, key: string, where: string): string {
  const entry = group.entries.get(key);
  if (entry?.kind !== "strings" || entry.data.length !== 1) {
    throw invalidNode(where, `it needs the text "${key}"`, { field: key });
  }
  return entry.data[0]!;
}
