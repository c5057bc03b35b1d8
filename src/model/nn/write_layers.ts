/**
 * Layers → `model.json` and the variables beside it: names, words and single numbers in the text, lists of
 * numbers as tensors `layer.field`, in the precision in which they were given. What is read back
 * (read_layers.ts) computes the same bits.
 */
import { GanglionError } from "../../base/errors.ts";
import { fieldOf } from "../build.ts";
import type { NirTensor } from "../nir.ts";
import { type Fields, type Form, LAYER_FORMS } from "./layer_forms.ts";
import { type Module, pathOf } from "./module.ts";
import { LAYERS_VERSION } from "./read_layers.ts";

export interface StoredLayers {
  /** The text of `model.json`. */
  readonly text: string;
  /** Tensors by name, in the order of the layers; those that stood there already come first. */
  readonly variables: ReadonlyMap<string, NirTensor>;
}

export interface LayersToStore {
  readonly modules: readonly Module[];
  readonly input: readonly number[];
  readonly dt: number;
  /** What the layers find by their names. */
  readonly variables: ReadonlyMap<string, NirTensor>;
}

/** Throws `model_unsupported` for a module that `nn` did not make. */
export function writeLayers({ modules, input, dt, variables }: LayersToStore): StoredLayers {
  const tensors = new Map(variables);
  const layers = writeChain(modules, "", new Map(), tensors);
  const text = `${JSON.stringify({ version: LAYERS_VERSION, input, dt, layers }, null, 2)}\n`;
  return { text, variables: tensors };
}

type Tensors = Map<string, NirTensor>;

function writeChain(
  modules: readonly Module[],
  path: string,
  counts: Map<string, number>,
  tensors: Tensors,
): object[] {
  return modules.map((module) => writeLayer(module, pathOf(module, path, counts), tensors));
}

function writeLayer({ kind, name, made }: Module, path: string, tensors: Tensors): object {
  const form = made && LAYER_FORMS[made.layer];
  if (form === undefined) {
    throw new GanglionError(
      "model_unsupported",
      `The layer "${path}" (${kind}) was not made by nn, so it has no stored form; build it of ` +
        "layers of nn, or of defineLayer and nn.Neuron",
      { node: path },
    );
  }
  return {
    layer: made!.layer,
    ...(name === undefined ? {} : { name }),
    ...writeOptions(made!.options as Options, form.fields, path, tensors),
  };
}

type Options = Readonly<Record<string, unknown>>;

function writeOptions(
  options: Options,
  forms: Fields,
  path: string,
  tensors: Tensors,
): Record<string, unknown> {
  // Chains in one layer count their layers together.
  const counts = new Map<string, number>();
  const given = Object.entries(forms).filter(([name]) => options[name] !== undefined);
  return Object.fromEntries(
    given.map(([name, form]) => [
      name,
      writeOption(options[name], form, { path, name, counts, tensors }),
    ]),
  );
}

interface Place {
  readonly path: string;
  readonly name: string;
  readonly counts: Map<string, number>;
  readonly tensors: Tensors;
}

/** The option's JSON; undefined where a tensor holds it. */
function writeOption(value: unknown, form: Form, { path, name, counts, tensors }: Place): unknown {
  switch (form.form) {
    case "number":
      if (Number.isFinite(value)) return value;
      throw new GanglionError("usage", `The layer "${path}" has the ${name} ${String(value)}`);
    case "numbers":
      return value === false ? false : writeNumbers(value, path, form.variable, tensors);
    case "layers":
      return writeChain(value as readonly Module[], path, counts, tensors);
    case "neuron":
      return writeLayer(value as Module, `${path}.neuron`, tensors);
    case "group":
      return writeOptions(value as Options, form.fields, path, tensors);
    case "parameters":
      return Object.fromEntries(
        Object.entries(value as Options).map(([key, each]) => [
          key,
          writeNumbers(each, path, key, tensors),
        ]),
      );
    default:
      return value;
  }
}

function writeNumbers(value: unknown, path: string, field: string, tensors: Tensors): unknown {
  if (Number.isFinite(value)) return value;
  tensors.set(`${path}.${field}`, fieldOf(path, field, value) as NirTensor);
  return undefined;
}
