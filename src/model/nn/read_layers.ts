/**
 * `model.json`: a model of layers as a file. Text → layers, with what `sequential` needs beside them.
 * Written by people and by programs that nobody vouches for: every field is checked against
 * layer_forms.ts before a layer is made, and errors (`model_invalid`) name it by its path.
 */
import { GanglionError } from "../../base/errors.ts";
import { FieldReader } from "../../base/field_reader.ts";
import { LIMITS } from "../../base/limits.ts";
import { type Fields, type Form, LAYER_FORMS } from "./layer_forms.ts";
import type { Module } from "./module.ts";

export const LAYERS_FILE = "model.json";
export const LAYERS_VERSION = 1;

/** What `sequential` takes, but for the variables, which stand in a file of their own. */
export interface LayeredModel {
  readonly modules: readonly Module[];
  readonly input: readonly number[];
  readonly dt: number;
}

interface LayerLimits {
  readonly modelNodesMax: number;
  readonly modelDepthMax: number;
}

const NAME_LENGTH_MAX = 200;
const AXES_MAX = 8;

/** Reads the text of a `model.json`. `file` is how errors call it. Throws `model_invalid`. */
export function readLayers(
  text: string,
  file: string = LAYERS_FILE,
  limits: Partial<LayerLimits> = {},
): LayeredModel {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw new GanglionError("model_invalid", `${file} is not JSON: ${(error as Error).message}`);
  }
  const fields = new FieldReader(json, file, "model_invalid");
  fields.only(["version", "input", "dt", "layers"], "a model of layers");
  if (fields.whole("version", 1, Number.MAX_SAFE_INTEGER, LAYERS_VERSION) > LAYERS_VERSION) {
    throw fields.wrong("version", `must be ${LAYERS_VERSION}, the newest that is known`);
  }
  const {
    modelNodesMax = LIMITS.modelNodesMax.default,
    modelDepthMax = LIMITS.modelDepthMax.default,
  } = limits;
  const dt = fields.number("dt", 1);
  if (!(dt > 0)) throw fields.wrong("dt", "must be positive");
  const reader = { modelNodesMax, modelDepthMax, layers: 0 };
  return { modules: readChain(reader, fields, "layers", 1), input: readInput(fields), dt };
}

interface Reader extends LayerLimits {
  layers: number;
}

function readInput(fields: FieldReader): readonly number[] {
  const input = fields.raw("input");
  if (Array.isArray(input) && input.every((axis) => Number.isSafeInteger(axis))) return input;
  throw fields.wrong("input", "must be the shape of a step, [F] or [height, width, channels]");
}

function readChain(reader: Reader, fields: FieldReader, name: string, depth: number): Module[] {
  return fields.list(name).map((layer) => readLayer(reader, layer, depth));
}

function readLayer(reader: Reader, fields: FieldReader, depth: number): Module {
  reader.layers++;
  const { modelNodesMax, modelDepthMax } = reader;
  if (reader.layers > modelNodesMax) throw over("modelNodesMax", modelNodesMax, "more layers");
  if (depth > modelDepthMax) throw over("modelDepthMax", modelDepthMax, "layers nested deeper");
  const layer = fields.choice("layer", Object.keys(LAYER_FORMS));
  const { fields: forms, needed, make } = LAYER_FORMS[layer]!;
  fields.only(["layer", "name", ...Object.keys(forms)], layer);
  const missing = needed.find((name) => !fields.has(name));
  if (missing !== undefined) throw fields.wrong(missing, `is what ${layer} needs`);
  const name = fields.has("name") ? { name: readName(fields, "name") } : {};
  const options = { ...name, ...readOptions(reader, fields, forms, depth) };
  return make(options as never);
}

function over(limit: keyof LayerLimits, max: number, what: string): GanglionError {
  return new GanglionError("model_unsupported", `The model has ${what} than ${limit} = ${max}`, {
    limit,
  });
}

function readOptions(
  reader: Reader,
  fields: FieldReader,
  forms: Fields,
  depth: number,
): Record<string, unknown> {
  const given = Object.entries(forms).filter(([name]) => fields.has(name));
  return Object.fromEntries(
    given.map(([name, form]) => [name, readOption(reader, fields, name, form, depth)]),
  );
}

function readOption(
  reader: Reader,
  fields: FieldReader,
  name: string,
  form: Form,
  depth: number,
): unknown {
  const value = fields.raw(name);
  switch (form.form) {
    case "number":
      return fields.number(name);
    case "word":
      return fields.choice(name, form.words);
    case "text":
      return readName(fields, name);
    case "numbers":
      if (isNumbers(value) || (form.none && value === false)) return value;
      throw fields.wrong(name, `must be a number or nested lists${form.none ? ", or false" : ""}`);
    case "pair":
      if (isNumber(value) || isPair(value)) return value;
      throw fields.wrong(name, "must be a number, or one for height and one for width");
    case "padding": {
      const pairs = Array.isArray(value) && value.length === 2 && value.every(isPair);
      if (value === "SAME" || value === "VALID" || isNumber(value) || pairs) return value;
      throw fields.wrong(
        name,
        'must be "SAME", "VALID", a number, or [before, after] for each axis',
      );
    }
    case "layers":
      return readChain(reader, fields, name, depth + 1);
    case "neuron": {
      const neuron = readLayer(reader, fields.inner(name), depth + 1);
      if ("neuron" in neuron) return neuron;
      throw fields.wrong(name, `must be a population of neurons, and ${neuron.kind} is none`);
    }
    case "group": {
      const inner = fields.inner(name);
      inner.only(Object.keys(form.fields), name);
      return readOptions(reader, inner, form.fields, depth);
    }
    case "parameters": {
      const inner = fields.inner(name);
      for (const key of inner.names()) {
        if (!isNumbers(inner.raw(key))) throw inner.wrong(key, "must be a number or nested lists");
      }
      return value;
    }
  }
}

function readName(fields: FieldReader, name: string): string {
  const value = fields.raw(name);
  if (typeof value === "string" && value !== "" && value.length <= NAME_LENGTH_MAX) return value;
  throw fields.wrong(name, `must be a name of at most ${NAME_LENGTH_MAX} characters`);
}

const isNumber = (value: unknown): value is number =>
  typeof value === "number" && Number.isFinite(value);

const isPair = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && value.every(isNumber);

function isNumbers(value: unknown, axes = 0): boolean {
  if (!Array.isArray(value)) return isNumber(value);
  return axes < AXES_MAX && value.every((each) => isNumbers(each, axes + 1));
}
