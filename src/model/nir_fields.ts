/**
 * Which fields each NIR primitive has, and what an absent one means. One table; a field of a file
 * that is not in it is refused, since ignoring it could change what the model computes.
 */

import { layerOfNirType } from "../layers/mod.ts";

/** `numbers`: any numbers. `whole`: whole numbers. `padding`: whole numbers, `same` or `valid`. */
export type FieldForm = "numbers" | "whole" | "padding";

export interface FieldRule {
  readonly form: FieldForm;
  /**
   * What stands for an absent field: a number, `none` (it is left out and inferred or not used), or
   * nothing at all, when the field is required.
   */
  readonly absent?: number | "none";
}

const numbers: FieldRule = { form: "numbers" };
const optional: FieldRule = { form: "numbers", absent: "none" };
const whole: FieldRule = { form: "whole" };
const wholeOr = (absent: number | "none"): FieldRule => ({ form: "whole", absent });

const conv = {
  input_shape: wholeOr("none"),
  weight: numbers,
  stride: wholeOr(1),
  padding: { form: "padding", absent: 0 },
  dilation: wholeOr(1),
  groups: wholeOr(1),
  bias: optional,
} satisfies Record<string, FieldRule>;

const pool = { kernel_size: whole, stride: whole, padding: wholeOr(0) };

const leaky = { tau: numbers, r: numbers, v_leak: numbers };
const cuba = {
  tau_syn: numbers,
  tau_mem: numbers,
  r: numbers,
  v_leak: numbers,
  w_in: { form: "numbers", absent: 1 },
} satisfies Record<string, FieldRule>;
const spiking = {
  v_threshold: numbers,
  v_reset: { form: "numbers", absent: 0 },
} satisfies Record<string, FieldRule>;

const FIELDS = {
  Input: { shape: wholeOr("none") },
  Output: { shape: wholeOr("none") },
  Affine: { weight: numbers, bias: numbers },
  Linear: { weight: numbers },
  Scale: { scale: numbers },
  Conv1d: conv,
  Conv2d: conv,
  SumPool2d: pool,
  AvgPool2d: pool,
  Flatten: { input_type: wholeOr("none"), start_dim: wholeOr(1), end_dim: wholeOr(-1) },
  Delay: { delay: numbers },
  Threshold: { threshold: numbers },
  I: { r: numbers },
  IF: { r: numbers, ...spiking },
  LI: leaky,
  LIF: { ...leaky, ...spiking },
  CubaLI: cuba,
  CubaLIF: { ...cuba, ...spiking },
} satisfies Record<string, Readonly<Record<string, FieldRule>>>;

/** The rules of a type's fields by name, or undefined when no such type is served. */
export function fieldsOf(type: string): ReadonlyMap<string, FieldRule> | undefined {
  return TABLE.get(type) ?? definedFields(type);
}

/** The parameters of a layer that was defined with this NIR type. */
function definedFields(type: string): ReadonlyMap<string, FieldRule> | undefined {
  const layer = layerOfNirType(type);
  if (layer === undefined) return undefined;
  return new Map(
    Object.entries(layer.parameters).map(([name, { default: absent }]) => [
      name,
      absent === undefined ? numbers : { form: "numbers", absent },
    ]),
  );
}

/** Every type that is served but `NIRGraph` and those of layers that a user defined. */
export function knownTypes(): string[] {
  return [...TABLE.keys()];
}

const TABLE: ReadonlyMap<string, ReadonlyMap<string, FieldRule>> = new Map(
  Object.entries(FIELDS).map(([type, rules]) => [type, new Map(Object.entries(rules))]),
);

/** Fields that are one value an element of the population, by type. */
export function populationFields(type: string): string[] {
  if (type === "Scale") return ["scale"];
  if (type === "Threshold") return ["threshold"];
  if (type === "Delay") return ["delay"];
  const neuron = ["I", "IF", "LI", "LIF", "CubaLI", "CubaLIF"].includes(type);
  if (neuron) return [...TABLE.get(type)!.keys()];
  return TABLE.has(type) ? [] : [...definedFields(type)?.keys() ?? []];
}
