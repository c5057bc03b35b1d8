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
  /** Writes its nodes; `path` is its full name, by which its variables are found. */
  readonly build: (builder: PlanBuilder, value: Value, path: string) => Value;
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
  return modules.reduce((each, module) => {
    const count = counts.get(module.kind) ?? 0;
    if (module.name === undefined) counts.set(module.kind, count + 1);
    const own = module.name ?? `${module.kind}_${count}`;
    return module.build(builder, each, path === "" ? own : `${path}.${own}`);
  }, value);
}

/** `{ name }` where there is one, since an absent key is not an undefined one. */
export function named(options: Named): Named {
  return options.name === undefined ? {} : { name: options.name };
}
