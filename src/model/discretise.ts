/**
 * Parameters → coefficients of one time step (NUMERICS §2.4): computed in f64, rounded to f32 once,
 * −0 and subnormals as +0. What comes out is finite; errors name the node and what to do.
 */
import { canonicalise, roundHalfEven } from "../base/numeric.ts";
import { type LayerName, layerOfNirType, LAYERS, type PointwiseLayer } from "../layers/mod.ts";
import { reader, recipeOf, type Step } from "./coefficients.ts";
import { definedLayerOp } from "./defined_layer.ts";
import type { NirNode } from "./nir.ts";
import { invalidNode } from "./nir_error.ts";
import { tensorOf } from "./nir_schema.ts";
import type { PointwiseOp } from "./plan.ts";
import { VALUES_MAX } from "./shapes.ts";

const LAYER_OF: Readonly<Record<string, LayerName>> = {
  LIF: "lif",
  LI: "li",
  IF: "if",
  I: "integrator",
  CubaLIF: "cuba_lif",
  CubaLI: "cuba_li",
  Threshold: "threshold",
  Scale: "scale",
};

/**
 * The layer that runs a NIR type read by the standard (a dialect may choose another), or undefined for
 * those that are no elementwise layer.
 */
export const layerOf = (type: string): LayerName | undefined => LAYER_OF[type];

/** A neuron, Threshold or Scale of `size` elements as an elementwise op. `folded`: see `recipeOf`. */
export function pointwiseOp(
  name: string,
  node: NirNode,
  size: number,
  step: Step,
  folded = false,
): PointwiseOp {
  const own = layerOfNirType(node.type);
  if (own !== undefined) return definedOp(name, node, size, own, step);
  const { layer, mode, coefficients: make } = recipeOf(name, node, step, folded);
  const wanted = LAYERS[layer].coefficients;
  const coefficients = new Float32Array(wanted.length * size);
  wanted.forEach((key, row) => {
    const value = make[key]!;
    for (let i = 0; i < size; i++) {
      const rounded = Math.fround(value(i));
      if (!Number.isFinite(rounded)) {
        throw invalidNode(name, `its coefficient ${key} is ${rounded} at element ${i} in f32`, {
          coefficient: key,
          element: i,
        });
      }
      coefficients[row * size + i] = rounded;
    }
  });
  return { op: "pointwise", layer, mode, coefficients: canonicalise(coefficients) };
}

/** A layer of a user's own: its fields are its parameters. */
function definedOp(
  name: string,
  node: NirNode,
  size: number,
  layer: PointwiseLayer,
  { dt }: Step,
): PointwiseOp {
  const read = Object.keys(layer.parameters).map((key) =>
    [key, reader(tensorOf(node, key))] as const
  );
  const valuesAt = (i: number) => Object.fromEntries(read.map(([key, at]) => [key, at(i)]));
  return definedLayerOp(name, layer, size, valuesAt, dt);
}

/** Steps that a Delay of `size` elements waits: delay/dt, halves to even. */
export function delaySteps(name: string, node: NirNode, size: number, step: Step): Uint32Array {
  const delay = reader(tensorOf(node, "delay"));
  const steps = new Uint32Array(size);
  let worst = 0;
  let longest = 0;
  for (let i = 0; i < size; i++) {
    const exact = delay(i) / step.dt;
    if (!(exact >= 0)) {
      throw invalidNode(name, `delay must not be negative, but is ${delay(i)} s`, {
        field: "delay",
      });
    }
    const rounded = roundHalfEven(exact);
    longest = Math.max(longest, rounded);
    if (!(longest * size <= VALUES_MAX)) {
      throw invalidNode(
        name,
        `a delay of ${delay(i)} s is ${rounded} steps of ${step.dt} s; it would hold more than ` +
          `${VALUES_MAX} values`,
        { field: "delay" },
      );
    }
    worst = Math.max(worst, Math.abs(exact - rounded));
    steps[i] = rounded;
  }
  if (worst > 1e-3) {
    const off = worst.toPrecision(2);
    step.notes.warn(
      "delay_rounded",
      `A delay is ${off} of a step off a whole number of steps`,
      name,
    );
  }
  return steps;
}
