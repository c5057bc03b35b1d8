/**
 * The graph after nesting is gone: one level of uniquely named nodes. What must hold: exactly one
 * Input and one Output at the top (`input`, `output`), every edge end exists, the names of nested
 * nodes are prefixed. The Inputs and Outputs of nested graphs are still here as wires.
 */
import type { NirNode } from "./nir.ts";
import type { PlanNote } from "./plan.ts";

export interface FlatGraph {
  readonly nodes: ReadonlyMap<string, NirNode>;
  /** May hold an edge twice only when wires made it so; what a file says twice counts once. */
  readonly edges: readonly (readonly [from: string, to: string])[];
  readonly input: string;
  readonly output: string;
}

/** Where assumptions, repairs and warnings are gathered while a model is compiled. */
export class Notes {
  readonly list: PlanNote[] = [];

  info(code: string, text: string, node?: string): void {
    this.list.push({ level: "info", code, text, ...(node === undefined ? {} : { node }) });
  }

  warn(code: string, text: string, node?: string): void {
    this.list.push({ level: "warning", code, text, ...(node === undefined ? {} : { node }) });
  }
}
