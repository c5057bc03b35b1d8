/** What is said of a dialect: its choices, where the file contradicts it, and which one a file hints at. */
import { type Dialect, DIALECT_NAMES, type DialectRule } from "./dialects.ts";
import type { FlatGraph, Notes } from "./flat_graph.ts";
import type { NirField, NirNode } from "./nir.ts";
import type { CompileOptions, DialectChoice } from "./options.ts";

/**
 * The options with what the file's own metadata says of them. sparx writes the name of the exporter and
 * the discretisation beside dt.
 */
export function withMetadata(
  options: CompileOptions,
  metadata: ReadonlyMap<string, NirField>,
  notes: Notes,
): CompileOptions {
  const exporter = metadata.get("exporter");
  const named = DIALECT_NAMES.find((name) => name === exporter);
  if (named !== undefined && options.dialect === undefined) {
    notes.info("dialect_hint", `${named} wrote this file; --dialect ${named} reads it as it does`);
  }
  const written = metadata.get("discretization");
  if (options.dialect === undefined || options.discretization !== undefined) return options;
  if (written !== "euler" && written !== "exact") return options;
  notes.info("discretization_metadata", `discretization ${written}, from the file's metadata`);
  return { ...options, discretization: written };
}

export function noteChoices(chosen: readonly DialectChoice[], notes: Notes): void {
  for (const { option, value, why } of chosen) notes.info("dialect", `${option} ${value}: ${why}`);
}

/** Warns where the framework would refuse the file, or read less than it holds. */
export function noteRules(graph: FlatGraph, dialect: Dialect, dt: number, notes: Notes): void {
  for (const rule of dialect.rules) {
    for (const [name, node] of graph.nodes) {
      if (rule.types.includes(node.type) && !holds(rule, node, dt)) {
        notes.warn("dialect_contradicted", rule.text, name);
      }
    }
  }
}

function holds(rule: DialectRule, node: NirNode, dt: number): boolean {
  if (rule.holds === undefined) return false;
  const fields = [...node.fields].filter(([, field]) => typeof field !== "string");
  const values = new Map(
    fields.map(([name, field]) => [name, (field as { data: Float64Array }).data]),
  );
  const size = Math.max(1, ...[...values.values()].map((data) => data.length));
  for (let i = 0; i < size; i++) {
    const at = (field: string): number => {
      const data = values.get(field);
      return (data?.length === 1 ? data[0] : data?.[i]) ?? NaN;
    };
    if (!rule.holds({ dt, at })) return false;
  }
  return true;
}
