/**
 * Models built in TypeScript, layer by layer, with the layers and the arithmetic of sparx.
 *
 * @example
 * ```ts
 * const plan = sequential([
 *   nn.Dense({ kernel: [[0.5, -1], [1, 0.25]], bias: [0, 0.1] }),
 *   nn.LIF({ tau: 3 }),
 *   nn.LI({ tau: 4 }),
 * ], { input: [2] });
 * ```
 */
import { GanglionError } from "../../base/errors.ts";
import { sizeOf } from "../../base/numeric.ts";
import { type FieldLike, fieldOf } from "../build.ts";
import type { NirTensor } from "../nir.ts";
import type { Plan } from "../plan.ts";
import { VALUES_MAX } from "../shapes.ts";
import * as architectures from "./architectures.ts";
import * as feedforward from "./feedforward.ts";
import { chain, type Module } from "./module.ts";
import * as neurons from "./neurons.ts";
import { PlanBuilder } from "./plan_builder.ts";
import * as recurrent from "./recurrent.ts";

export type { Module, NeuronModule } from "./module.ts";
export { type LayeredModel, LAYERS_FILE, readLayers } from "./read_layers.ts";
export { writeLayers } from "./write_layers.ts";

const { refused: _, ...layers } = feedforward;

/** Every layer and whole model, under the names that sparx and Flax use. */
export const nn: typeof layers & typeof neurons & typeof recurrent & typeof architectures = {
  ...layers,
  ...neurons,
  ...recurrent,
  ...architectures,
};

/** Parameters by path: `{ Dense_0: { kernel } }`, `{ "Dense_0.kernel": … }`, or what a safetensors file holds. */
export interface NestedVariables {
  readonly [name: string]: FieldLike | NestedVariables;
}

export interface SequentialOptions {
  /** One step of input: `[F]`, or `[height, width, channels]`. */
  readonly input: readonly number[];
  readonly name?: string;
  /** In the unit of the time constants; 1 when not given. */
  readonly dt?: number;
  /**
   * Parameters that the layers do not give themselves. Collections `params` and `batch_stats` are looked
   * through, `state` is ignored; names may be joined by dots or slashes.
   */
  readonly variables?: NestedVariables;
  /** Named alike; beat what the layers give themselves. One number stands for all of a field. */
  readonly call?: NestedVariables;
  /** Refuses variables that no layer takes instead of warning. */
  readonly strict?: boolean;
}

/** Layers one behind the other as a plan, ready to serve. Throws naming layer and field. */
export function sequential(modules: readonly Module[], options: SequentialOptions): Plan {
  const { input, name = "model", dt = 1, strict = false } = options;
  const fits = (input.length === 1 || input.length === 3) &&
    input.every((axis) => Number.isInteger(axis) && axis >= 1) && sizeOf(input) <= VALUES_MAX;
  if (!fits) {
    throw new GanglionError(
      "model_invalid",
      `input must be [F] or [height, width, channels], not [${input.join(", ")}]`,
    );
  }
  if (!(dt > 0)) throw new GanglionError("usage", `dt must be positive, not ${dt}`);
  const variables = flatten(options.variables ?? {});
  const call = flatten(options.call ?? {});
  const builder = new PlanBuilder({ input, name, dt, variables, call, strict });
  const [height, width, channels] = input;
  const start = input.length === 1
    ? { node: 0, shape: input }
    : { node: 0, shape: [channels!, height!, width!], channelsLast: true };
  return builder.finish(chain(builder, start, "", modules));
}

/** Nested variables by their paths, joined by dots; collections looked through. */
export function flatten(variables: NestedVariables): Map<string, NirTensor> {
  const found = new Map<string, NirTensor>();
  const visit = (value: unknown, path: string): void => {
    if (isTensor(value)) {
      const parts = path.split(/[./]/).filter((part) => part !== "");
      if (parts[0] === "state") return;
      const own = parts[0] === "params" || parts[0] === "batch_stats" ? parts.slice(1) : parts;
      const key = own.join(".");
      const tensor = fieldOf(key, "value", value);
      if (typeof tensor !== "string") found.set(key, tensor);
      return;
    }
    for (const [key, inner] of Object.entries(value as object)) visit(inner, `${path}.${key}`);
  };
  visit(variables, "");
  return found;
}

function isTensor(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  return Array.isArray(value) || ArrayBuffer.isView(value) || ("shape" in value && "data" in value);
}
