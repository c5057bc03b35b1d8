/**
 * What a layer is in a model built in TypeScript: something that writes nodes behind a value. Names are
 * given, or counted as Flax counts them: `Dense_0`, `Dense_1`, `LIF_0`.
 */
import type { FieldLike } from "../build.ts";
import type { PlanOp } from "../plan.ts";
import type { PlanBuilder, Value } from "./plan_builder.ts";

export interface Module {
  /** Counted by this where it has no name. */
  readonly kind: string;
  readonly name?: string;
  /** What made it: how it is stored (layer_forms.ts). A module without it can be served, not stored. */
  readonly made?: Made;
  /** Writes its nodes; `path` is its full name, by which its variables are found. */
  readonly build: (builder: PlanBuilder, value: Value, path: string) => Value;
}

/** A layer of `nn` by name, and the options that it was given. */
export interface Made {
  readonly layer: string;
  readonly options: object;
}

/** A population of neurons, which `Recurrent` can also wrap. */
export interface NeuronModule extends Module {
  readonly neuron: (builder: PlanBuilder, shape: readonly number[], path: string) => PlanOp;
}

export interface Named {
  readonly name?: string;
}

/** Numbers as any list or tensor; one number stands for all. */
export type Numbers = Exclude<FieldLike, string | boolean>;

/** Builds modules one behind the other, under `path`; `counts` goes on where chains share a path. */
export function chain(
  builder: PlanBuilder,
  value: Value,
  path: string,
  modules: readonly Module[],
  counts: Map<string, number> = new Map(),
): Value {
  return modules.reduce(
    (each, module) => module.build(builder, each, pathOf(module, path, counts)),
    value,
  );
}

/** The full name of the next module of a chain. */
export function pathOf(module: Module, path: string, counts: Map<string, number>): string {
  const count = counts.get(module.kind) ?? 0;
  if (module.name === undefined) counts.set(module.kind, count + 1);
  const own = module.name ?? `${module.kind}_${count}`;
  return path === "" ? own : `${path}.${own}`;
}

/** What every layer has: its kind, what made it, and a name where it was given one. */
export function made<O extends Named>(
  layer: string,
  options: O,
  kind: string = layer,
): { readonly kind: string; readonly made: Made; readonly name?: string } {
  const { name } = options;
  return { kind, made: { layer, options }, ...(name === undefined ? {} : { name }) };
}
