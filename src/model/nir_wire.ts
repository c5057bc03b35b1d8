/**
 * `NirGraph` ↔ bytes, for handing a graph from one process to another: magic, length of the header,
 * JSON header, then the numbers, each array at a multiple of 8. Both ends are this program in the same
 * version; nothing is stored in this form.
 */
import { GanglionError } from "../base/errors.ts";
import type { NirEdge, NirField, NirGraph, NirNode } from "./nir.ts";

const MAGIC = "GanglNIR";
const ALIGN = 8;

type WireField = string | {
  readonly shape: readonly number[];
  readonly wide: boolean;
  readonly at: number;
  readonly length: number;
};
type WireFields = readonly (readonly [string, WireField])[];

interface WireGraph {
  readonly name: string;
  readonly nodes: readonly {
    readonly name: string;
    readonly type: string;
    readonly fields: WireFields;
    readonly graph: WireGraph | null;
  }[];
  readonly edges: readonly NirEdge[];
  readonly metadata: WireFields;
}

export function encodeGraph(graph: NirGraph): Uint8Array {
  const arrays: (Float32Array | Float64Array)[] = [];
  let end = 0;
  const fields = (given: ReadonlyMap<string, NirField>): WireFields =>
    [...given].map(([name, field]) => {
      if (typeof field === "string") return [name, field];
      const { shape, data } = field;
      const at = end;
      arrays.push(data);
      end = align(end + data.byteLength);
      return [name, { shape, wide: data instanceof Float64Array, at, length: data.length }];
    });
  const wire = (given: NirGraph): WireGraph => ({
    name: given.name,
    nodes: [...given.nodes].map(([name, node]) => ({
      name,
      type: node.type,
      fields: fields(node.fields),
      graph: node.graph === undefined ? null : wire(node.graph),
    })),
    edges: given.edges,
    metadata: fields(given.metadata),
  });
  const header = new TextEncoder().encode(JSON.stringify(wire(graph)));
  const base = align(MAGIC.length + 8 + header.length);
  const bytes = new Uint8Array(base + end);
  bytes.set(new TextEncoder().encode(MAGIC));
  new DataView(bytes.buffer).setUint32(MAGIC.length, header.length, true);
  bytes.set(header, MAGIC.length + 8);
  let at = base;
  for (const { buffer, byteOffset, byteLength } of arrays) {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at = align(at + byteLength);
  }
  return bytes;
}

/** Throws `model_unreadable` for bytes that `encodeGraph` did not make. */
export function decodeGraph(bytes: Uint8Array): NirGraph {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = new TextDecoder();
  if (text.decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) {
    throw new GanglionError("model_unreadable", "The reading process answered with other bytes");
  }
  const length = view.getUint32(MAGIC.length, true);
  const start = MAGIC.length + 8;
  const wire = JSON.parse(text.decode(bytes.subarray(start, start + length))) as WireGraph;
  const base = bytes.byteOffset + align(start + length);
  const fields = (given: WireFields): Map<string, NirField> =>
    new Map(given.map(([name, field]) => {
      if (typeof field === "string") return [name, field];
      const from = base + field.at;
      const part = bytes.buffer.slice(from, from + field.length * (field.wide ? 8 : 4));
      const data = field.wide ? new Float64Array(part) : new Float32Array(part);
      return [name, { shape: field.shape, data } as NirField];
    }));
  const graph = (given: WireGraph): NirGraph => ({
    name: given.name,
    nodes: new Map(given.nodes.map((node): [string, NirNode] => {
      const plain = { type: node.type, fields: fields(node.fields) };
      return [node.name, node.graph === null ? plain : { ...plain, graph: graph(node.graph) }];
    })),
    edges: given.edges,
    metadata: fields(given.metadata),
  });
  return graph(wire);
}

function align(at: number): number {
  return Math.ceil(at / ALIGN) * ALIGN;
}
