/**
 * A model as the random tests draw it: what every node means, in full. The file that is written of it
 * (file.ts) may say the same with fewer words: one value for a population, absent defaults, integers.
 * The walk (walk.ts) computes from this meaning and never sees the file.
 */
import type { CompileOptions } from "../../../src/model/mod.ts";

export type Shape = readonly number[];

/** How the numbers of a field are stored. */
export type Form = "f32" | "f64" | "i64" | "i32" | "u8";

export interface Values {
  readonly shape: Shape;
  readonly data: readonly number[];
  readonly form: Form;
}

export type Field = Values | string;

export interface SpecNode {
  readonly type: string;
  /** Values that enter and leave, time left out. */
  readonly in: Shape;
  readonly out: Shape;
  readonly fields: Readonly<Record<string, Field>>;
  readonly graph?: SpecGraph;
}

export interface SpecGraph {
  readonly nodes: ReadonlyMap<string, SpecNode>;
  readonly edges: readonly (readonly [from: string, to: string])[];
}

/** Where the reader finds dt; `flag` is the option. */
export type DtFrom = "flag" | "metadata" | "inferred" | "default";

export interface Spec {
  readonly seed: number;
  readonly graph: SpecGraph;
  readonly options: CompileOptions;
  readonly dt: number;
  readonly dtFrom: DtFrom;
  readonly steps: number;
  /** [steps, input size], f32 values. */
  readonly input: Float32Array;
}

export const sizeOf = (shape: Shape): number => shape.reduce((product, axis) => product * axis, 1);

export const sameShape = (a: Shape, b: Shape): boolean =>
  a.length === b.length && a.every((axis, i) => axis === b[i]);

/** Entries of a field that is stored as whole numbers. */
export function wholes(node: SpecNode, field: string): readonly number[] {
  const value = node.fields[field];
  if (value === undefined || typeof value === "string") throw new Error(`no numbers in ${field}`);
  return value.data;
}
