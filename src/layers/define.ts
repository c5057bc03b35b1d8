/**
 * What an elementwise layer is: a name, its state with rest values, its coefficients, a WGSL function
 * and the twin of that function in TypeScript. Everything else (bindings, loops, slots, packing)
 * belongs to the skeletons and is the same for all layers. `defineLayer` is the one door: the built-in
 * neurons come through it, and so do a user's own (docs/custom_neurons.md).
 */
import { GanglionError } from "../base/errors.ts";

export interface LayerState {
  readonly name: string;
  /** The value each element starts from; never assumed to be zero elsewhere. */
  readonly rest: number;
}

/** A parameter as people give it. Without a default it must be given. */
export interface LayerParameter {
  readonly default?: number;
  /** For people: `ms`, `mV`, `1/ms`. */
  readonly unit?: string;
  readonly min?: number;
  readonly max?: number;
  readonly about?: string;
}

export interface PointwiseLayer {
  readonly name: string;
  /**
   * Text of the shader file. It must define
   * `fn <name>_step(x: f32, state: ptr<function, array<f32, S>>, coef: ptr<function, array<f32, C>>,
   * mode: u32) -> f32` with S = max(1, states) and C = max(1, coefficients), may call `exact(f32)`
   * and `snap(f32)`, and has no bindings.
   */
  readonly wgsl: string;
  readonly state: readonly LayerState[];
  /** Names of the per-element coefficients, in the order of `coef`. */
  readonly coefficients: readonly string[];
  /**
   * `spike`: returns 0 or 1. `count`: whole numbers from 0. `real`: anything. `same`: what came in (a
   * plain sum).
   */
  readonly emits: "spike" | "count" | "real" | "same";
  /**
   * One element, one step: the twin of the WGSL function, the same order of operations, every
   * rounding spelled with `Math.fround`. Reads and writes `state`, returns what leaves.
   */
  readonly step: (x: number, state: Float32Array, coef: Float32Array, mode: number) => number;
  /** What people set; empty where the model lane computes the coefficients itself. */
  readonly parameters: Readonly<Record<string, LayerParameter>>;
  /** Parameters of one element and dt → coefficients, in f64; null as above. */
  readonly discretise:
    | ((parameters: Readonly<Record<string, number>>, dt: number) => number[])
    | null;
  /** NIR type that stands for this layer in a graph, with the parameters as its fields; or null. */
  readonly nir: string | null;
}

type Parameters = Readonly<Record<string, LayerParameter>>;
type Rule<P> = (parameters: { readonly [K in keyof P]: number }, dt: number) => number;

/** What `defineLayer` takes. State and coefficients stand in the order in which the function sees them. */
export interface LayerDefinition<P extends Parameters> {
  readonly name: string;
  readonly wgsl: string;
  /** Fields with their rest values: `{ v: -65, u: -13 }`. */
  readonly state?: Readonly<Record<string, number>> | readonly LayerState[];
  readonly parameters?: P;
  /**
   * Each coefficient by the rule that computes it from the parameters and dt, once, in f64; or bare
   * names, which only built-in layers use.
   */
  readonly coefficients?: { readonly [name: string]: Rule<P> } | readonly string[];
  readonly emits: PointwiseLayer["emits"];
  readonly step: PointwiseLayer["step"];
  readonly nir?: string;
}

const BUILT_IN_TYPES =
  /^(Input|Output|Affine|Linear|Scale|Conv[12]d|(Sum|Avg)Pool2d|Flatten|Delay|Threshold|(Cuba)?LIF?|IF?|NIRGraph)$/;

const REGISTRY = new Map<string, PointwiseLayer>();

/**
 * Checks a layer and makes it known under its name, which plans refer to. The same definition may come
 * again; another one under the same name is refused.
 *
 * @throws GanglionError `usage` naming the layer and what to mend.
 */
export function defineLayer<const P extends Parameters>(
  definition: LayerDefinition<P>,
): PointwiseLayer {
  const { name, wgsl, emits, step, nir = null } = definition;
  const parameters: Parameters = definition.parameters ?? {};
  const state = stateList(definition.state ?? []);
  const given = definition.coefficients ?? [];
  const rules = isList(given) ? null : Object.values(given) as Rule<Parameters>[];
  const coefficients = isList(given) ? given : Object.keys(given);
  const layer: PointwiseLayer = {
    name,
    wgsl,
    state,
    coefficients,
    emits,
    step,
    parameters,
    discretise: rules && ((values, dt) => rules.map((rule) => rule(values, dt))),
    nir,
  };
  checkNames(layer);
  checkShader(layer);
  checkParameters(layer);
  if (rules !== null) tryTwin(layer);
  const known = REGISTRY.get(name);
  const same = known === undefined ||
    (contentOf(known) === contentOf(layer) && String(known.step) === String(layer.step));
  if (!same) {
    throw wrong(name, "another layer has this name already; names are global, so choose another");
  }
  REGISTRY.set(name, layer);
  return layer;
}

/** The layer that a plan names. */
export function layerNamed(name: string): PointwiseLayer {
  const layer = REGISTRY.get(name);
  if (layer === undefined) {
    throw new GanglionError(
      "model_invalid",
      `The plan uses a layer "${name}" that is not defined here; import the file that defines it`,
      { layer: name },
    );
  }
  return layer;
}

/** The layer that stands for a NIR type, besides the built-in types. */
export function layerOfNirType(type: string): PointwiseLayer | undefined {
  return [...REGISTRY.values()].find(({ nir }) => nir === type);
}

/** Everything of a layer that decides what it computes, as text. */
export function contentOf(layer: PointwiseLayer): string {
  const { wgsl, state, coefficients, emits, parameters, nir } = layer;
  return JSON.stringify([wgsl, state, coefficients, emits, parameters, nir]);
}

function stateList(state: NonNullable<LayerDefinition<Parameters>["state"]>): LayerState[] {
  return isList(state) ? [...state] : Object.entries(state).map(([name, rest]) => ({ name, rest }));
}

function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value);
}

function checkNames({ name, state, coefficients, emits, nir }: PointwiseLayer): void {
  const IDENTIFIER = /^[a-z][a-z0-9_]*$/i;
  if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    throw wrong(name, "its name must be lower-case letters, digits and _, as WGSL takes it");
  }
  for (const field of [...state.map((each) => each.name), ...coefficients]) {
    if (!IDENTIFIER.test(field)) throw wrong(name, `"${field}" is no name (letters, digits, _)`);
  }
  for (
    const [what, names] of [
      ["state", state.map((each) => each.name)],
      ["coefficient", [...coefficients]],
    ] as const
  ) {
    const twice = names.find((each, i) => names.indexOf(each) !== i);
    if (twice !== undefined) throw wrong(name, `it has two of ${what} "${twice}"`);
  }
  for (const { name: field, rest } of state) {
    if (["last", "ring", "s", "y"].includes(field)) {
      throw wrong(name, `a state field cannot be called "${field}"; the engine uses that name`);
    }
    if (!Number.isFinite(Math.fround(rest))) {
      throw wrong(name, `the rest value of "${field}" is ${rest}; it must be finite in f32`);
    }
  }
  if (!["spike", "count", "real", "same"].includes(emits)) {
    throw wrong(
      name,
      `emits is "${emits}"; it is spike (0 or 1 leaves), count (whole numbers) or real (any number)`,
    );
  }
  if (nir !== null && !/^[A-Z]\w*$/.test(nir)) {
    throw wrong(name, `the NIR type "${nir}" must begin with a capital letter`);
  }
  const holder = nir === null ? undefined : layerOfNirType(nir)?.name;
  if (BUILT_IN_TYPES.test(nir ?? "") || (holder !== undefined && holder !== name)) {
    throw wrong(name, `the NIR type "${nir}" is ${holder ?? "a built-in one"} already`);
  }
}

function checkShader({ name, wgsl, state, coefficients }: PointwiseLayer): void {
  const code = wgsl.replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, "");
  const banned = /@\s*(group|binding|compute|workgroup_size)\b/.exec(code)?.[0];
  if (banned !== undefined) {
    throw wrong(name, `its WGSL has ${banned}; bindings and entry points belong to the engine`);
  }
  const head = new RegExp(String.raw`\bfn\s+${name}_step\s*\(([^)]*)\)`).exec(code);
  const signature = `fn ${name}_step(x: f32, state: ptr<function, array<f32, ${
    Math.max(1, state.length)
  }>>, coef: ptr<function, array<f32, ${Math.max(1, coefficients.length)}>>, mode: u32) -> f32`;
  if (head === null) throw wrong(name, `its WGSL must define ${signature}`);
  const sizes = [...head[1]!.matchAll(/array\s*<\s*f32\s*,\s*(\d+)u?\s*>/g)].map((m) =>
    Number(m[1])
  );
  for (
    const [k, [what, count]] of [
      ["state fields", state.length],
      ["coefficients", coefficients.length],
    ].entries() as IterableIterator<[number, [string, number]]>
  ) {
    if (sizes[k] !== undefined && sizes[k] !== Math.max(1, count)) {
      throw wrong(
        name,
        `its WGSL has an array of ${sizes[k]} for ${count} ${what}; it must be ${signature}`,
      );
    }
  }
}

function checkParameters({ name, parameters }: PointwiseLayer): void {
  for (const [key, { default: value }] of Object.entries(parameters)) {
    if (value !== undefined && !Number.isFinite(value)) {
      throw wrong(name, `the default of "${key}" is ${value}; it must be finite`);
    }
  }
}

/** Runs the twin once at rest, where all parameters have defaults, to meet its mistakes here. */
function tryTwin(layer: PointwiseLayer): void {
  const { name, state, emits, parameters, coefficients, discretise, step } = layer;
  const values = Object.entries(parameters).map(([key, { default: value }]) => [key, value]);
  if (values.some(([, value]) => value === undefined)) return;
  const coef = discretise!(Object.fromEntries(values) as Record<string, number>, 1);
  const bad = coef.findIndex((value) => !Number.isFinite(Math.fround(value)));
  if (bad >= 0) {
    throw wrong(
      name,
      `its coefficient "${coefficients[bad]}" is ${coef[bad]} with the defaults and a dt of 1`,
    );
  }
  const own = Float32Array.from(state, ({ rest }) => rest);
  const y: unknown = step(0, own, Float32Array.from(coef), 0);
  if (typeof y !== "number" || (emits === "spike" && y !== 0 && y !== 1)) {
    const wanted = emits === "spike" ? "0 or 1" : "a number";
    throw wrong(name, `its twin returned ${String(y)} at rest; it must return ${wanted}`);
  }
}

function wrong(name: string, text: string): GanglionError {
  return new GanglionError("usage", `Layer "${name}": ${text}`, { layer: name });
}

/** Mode bits that the built-in neurons understand. */
export const MODE_GE = 1; // fire at v >= threshold instead of v > threshold
export const MODE_RESET_SUBTRACT = 2; // v -= threshold
export const MODE_RESET_NONE = 4; // v is left alone (wins over subtract)
export const MODE_CUBA_OLD = 8; // the membrane sees the current of the step before
export const MODE_RESET_NEXT = 16; // the step after a spike subtracts the threshold, at its end
export const MODE_JOIN_FIRST = 32; // the input joins the current before the current decays
export const MODE_CLAMP = 64; // the membrane stops at -threshold
