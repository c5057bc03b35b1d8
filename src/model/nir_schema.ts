/**
 * Raw nodes → `NirNode`s. What must hold afterwards: the type is known, every field belongs to it and
 * has its form, required ones are there, absent ones have their default, numbers are finite and
 * canonical (−0 and values that f32 holds only as subnormals are +0). Errors name node and field.
 */
import { GanglionError } from "../base/errors.ts";
import { firstNonFinite } from "../base/numeric.ts";
import type { NirField, NirNode, NirTensor } from "./nir.ts";
import { invalidNode, listNames, shapeText, unsupportedNode } from "./nir_error.ts";
import { type FieldRule, fieldsOf, knownTypes } from "./nir_fields.ts";

const SUBNORMAL_BELOW = 2 ** -126;

/** Checks one plain node (every type but `NIRGraph`) and fills in defaults. */
export function checkNode(
  node: string,
  type: string,
  raw: ReadonlyMap<string, NirField>,
): NirNode {
  const rules = fieldsOf(type);
  if (rules === undefined) {
    throw unsupportedNode(node, `the type "${type}" is not served; served are ${knownTypes()}`, {
      type,
    });
  }
  const fields = new Map<string, NirField>();
  for (const name of raw.keys()) {
    if (!rules.has(name)) {
      throw unsupportedNode(
        node,
        `${type} has no field "${name}"; it has ${listNames([...rules.keys()])}`,
        { type, field: name },
      );
    }
  }
  for (const [name, rule] of rules) {
    const value = raw.get(name);
    if (value !== undefined) fields.set(name, checkField(node, name, value, rule));
    else if (typeof rule.absent === "number") fields.set(name, scalar(rule.absent));
    else if (rule.absent === undefined) {
      throw invalidNode(node, `${type} needs the field "${name}"`, { type, field: name });
    }
  }
  return { type, fields };
}

/** Checks one field against its rule; used for a node as read and for values put in its place. */
export function checkField(
  node: string,
  field: string,
  value: NirField,
  rule: FieldRule,
): NirField {
  const facts = { field };
  if (typeof value === "string") {
    if (rule.form === "padding" && (value === "same" || value === "valid")) return value;
    throw invalidNode(node, `field "${field}" cannot be the word "${value}"`, facts);
  }
  const { shape, data } = value;
  const count = shape.reduce((product, axis) => product * axis, 1);
  if (shape.some((axis) => !Number.isInteger(axis) || axis < 0) || count !== data.length) {
    throw invalidNode(
      node,
      `field "${field}" has ${data.length} values, which do not fill the shape ${shapeText(shape)}`,
      facts,
    );
  }
  if (count === 0) throw invalidNode(node, `field "${field}" is empty`, facts);
  const at = firstNonFinite(data);
  if (at >= 0) {
    throw invalidNode(node, `field "${field}" holds ${data[at]} at position ${at}`, {
      ...facts,
      position: at,
    });
  }
  if (rule.form !== "numbers") {
    const odd = data.find((each) => !Number.isSafeInteger(each));
    if (odd !== undefined) {
      throw invalidNode(node, `field "${field}" must hold whole numbers, not ${odd}`, facts);
    }
  }
  return canonical(value);
}

/** The same numbers with −0 and subnormals as +0; copies only where something changes. */
function canonical(tensor: NirTensor): NirTensor {
  const { shape, data } = tensor;
  let out: Float32Array | Float64Array | null = null;
  for (let i = 0; i < data.length; i++) {
    const value = data[i]!;
    if (Math.abs(value) < SUBNORMAL_BELOW && !Object.is(value, 0)) {
      out ??= data.slice();
      out[i] = 0;
    }
  }
  return out === null ? tensor : { shape, data: out };
}

export function scalar(value: number): NirTensor {
  return { shape: [], data: Float64Array.of(value) };
}

/** A field that the schema made sure of. */
export function tensorOf(node: NirNode, field: string): NirTensor {
  const value = node.fields.get(field);
  if (value === undefined || typeof value === "string") {
    throw new GanglionError("internal", `The field "${field}" of a ${node.type} is missing`);
  }
  return value;
}

/** A field of whole numbers as a plain list, or null when it is absent. */
export function wholesOf(node: NirNode, field: string): number[] | null {
  const value = node.fields.get(field);
  return value === undefined || typeof value === "string" ? null : Array.from(value.data);
}
