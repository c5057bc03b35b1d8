/**
 * A model as NIR describes it: nodes with fields, edges, nested graphs. What must hold in every
 * `NirGraph`: each node's type is known, its fields are those the type has, numbers are finite and
 * canonical. Both makers, `readNirBytes` and `graphOf`, see to that (`nir_schema.ts`). Edges are as
 * given: `graph.ts` judges them.
 */

/** Numbers with a shape, row-major. Integers and booleans of a file become f64. */
export interface NirTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array;
}

/** A field of a node: numbers, or a word such as the padding `same`. */
export type NirField = NirTensor | string;

export interface NirNode {
  readonly type: string;
  readonly fields: ReadonlyMap<string, NirField>;
  /** The nested graph of a node of type `NIRGraph`; absent in every other. */
  readonly graph?: NirGraph;
}

export type NirEdge = readonly [from: string, to: string];

export interface NirGraph {
  /** Name of the model, for people; the file's base name, say. */
  readonly name: string;
  readonly nodes: ReadonlyMap<string, NirNode>;
  readonly edges: readonly NirEdge[];
  /** Free entries beside the graph; only `dt` of the root means something here. */
  readonly metadata: ReadonlyMap<string, NirField>;
}
