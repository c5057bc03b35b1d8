/** A layer that carries its own rules (`defineLayer`) → an elementwise op, its parameters checked. */
import { canonicalise } from "../base/numeric.ts";
import type { PointwiseLayer } from "../layers/mod.ts";
import { invalidNode } from "./nir_error.ts";
import type { PointwiseOp } from "./plan.ts";

/** `valuesAt(i)` gives the parameters of element i; all that the layer has. */
export function definedLayerOp(
  name: string,
  layer: PointwiseLayer,
  size: number,
  valuesAt: (element: number) => Readonly<Record<string, number>>,
  dt: number,
): PointwiseOp {
  const count = layer.coefficients.length;
  const coefficients = new Float32Array(count * size);
  for (let i = 0; i < size; i++) {
    const values = valuesAt(i);
    for (const [key, rule] of Object.entries(layer.parameters)) {
      const { min = -Infinity, max = Infinity, unit = "" } = rule;
      const value = values[key]!;
      if (!(value >= min && value <= max)) {
        throw invalidNode(
          name,
          `${key} must be ${rangeText(rule.min, rule.max)}, not ${value} ${unit}`.trimEnd(),
          { field: key, element: i },
        );
      }
    }
    const made = layer.discretise?.(values, dt) ?? [];
    for (let k = 0; k < count; k++) {
      const rounded = Math.fround(made[k]!);
      if (!Number.isFinite(rounded)) {
        const which = layer.coefficients[k]!;
        throw invalidNode(name, `its coefficient ${which} is ${made[k]} at element ${i}`, {
          coefficient: which,
          element: i,
        });
      }
      coefficients[k * size + i] = rounded;
    }
  }
  return {
    op: "pointwise",
    layer: layer.name,
    mode: 0,
    coefficients: canonicalise(coefficients),
  };
}

function rangeText(min: number | undefined, max: number | undefined): string {
  if (min === undefined) return `at most ${max}`;
  return max === undefined ? `at least ${min}` : `from ${min} to ${max}`;
}
