/**
 * Which layer a NIR node becomes under the reading options, and its coefficients of one time step by
 * element, in f64 (NUMERICS §2.4). `euler`: d = 1 - dt/tau; `exact`: d = exp(-dt/tau); k = 1 - d.
 */
import {
  type LayerName,
  LAYERS,
  MODE_CLAMP,
  MODE_CUBA_OLD,
  MODE_GE,
  MODE_JOIN_FIRST,
  MODE_RESET_NEXT,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
} from "../layers/mod.ts";
import { DIALECTS, near } from "./dialects.ts";
import type { Notes } from "./flat_graph.ts";
import type { NirNode, NirTensor } from "./nir.ts";
import { invalidNode } from "./nir_error.ts";
import { tensorOf } from "./nir_schema.ts";
import type { Settings } from "./options.ts";

export interface Step {
  readonly dt: number;
  readonly settings: Settings;
  readonly notes: Notes;
}

type Value = (element: number) => number;

export interface Recipe {
  readonly layer: LayerName;
  readonly mode: number;
  /** Under the layer's names. */
  readonly coefficients: Readonly<Record<string, Value>>;
}

const UNIT: Value = () => 1;
const ZERO: Value = () => 0;

/** A neuron, Threshold or Scale. `folded`: its gain is in the weights before it. */
export function recipeOf(name: string, node: NirNode, step: Step, folded: boolean): Recipe {
  const reader = new NodeReader(name, node, step);
  const made = recipe(reader, folded);
  return { ...made, mode: modeOf(made.layer, node.type, step.settings) };
}

/** What multiplies the input of a LIF, LI or IF, when the weights before it may take that over; else null. */
export function gainOf(name: string, node: NirNode, step: Step): Value | null {
  if (step.settings.gain !== "fold" || !["LIF", "LI", "IF"].includes(node.type)) return null;
  const reader = new NodeReader(name, node, step);
  return node.type === "IF"
    ? ifGain(reader, true)
    : product(reader.decays("tau").gain, reader.at("r"));
}

/** Where a node's state starts, by field; what is not there starts where the layer says. */
export function restsOf(name: string, node: NirNode, step: Step): Readonly<Record<string, number>> {
  const field = step.settings.rest;
  if (field === "zero" || !node.fields.has(field)) return {};
  const { data } = tensorOf(node, field);
  const rest = Math.fround(data[0]!);
  if (data.some((value) => Math.fround(value) !== rest)) {
    step.notes.warn(
      "rest_zero",
      `${field} is not one value; the neuron starts at 0, not there`,
      name,
    );
    return {};
  }
  return field === "v_leak" && node.type.startsWith("Cuba") ? { i: rest, v: rest } : { v: rest };
}

function recipe(reader: NodeReader, folded: boolean): Omit<Recipe, "mode"> {
  const { node, step } = reader;
  switch (node.type) {
    case "Scale":
      return { layer: "scale", coefficients: { scale: reader.at("scale") } };
    case "Threshold":
      return { layer: "threshold", coefficients: { threshold: reader.at("threshold") } };
    case "I":
      return {
        layer: "integrator",
        coefficients: { gain: product(reader.at("r"), () => step.dt) },
      };
    case "IF":
      return ifRecipe(reader, folded);
    case "LI":
    case "LIF":
      return leakyRecipe(reader, folded);
    default:
      return cubaRecipe(reader);
  }
}

function ifRecipe(reader: NodeReader, folded: boolean): Omit<Recipe, "mode"> {
  const gain = folded ? UNIT : ifGain(reader);
  const firing = firingOf(reader, UNIT);
  return reader.many
    ? { layer: "lif_count", coefficients: { decay: UNIT, gain, leak: ZERO, ...firing } }
    : { layer: "if", coefficients: { gain, ...firing } };
}

function leakyRecipe(reader: NodeReader, folded: boolean): Omit<Recipe, "mode"> {
  const { node, step: { settings } } = reader;
  const { decay, gain: k } = reader.decays("tau");
  const [r, leak] = [reader.at("r"), reader.at("v_leak")];
  const fires = node.type === "LIF";
  const many = fires && reader.many;
  const unscaled = settings.gain === "no_r" || (settings.gain === "file" && reader.isUnit("r"));
  if (settings.form === "box" && unscaled && !many) {
    const coefficients = { gain: k, leak };
    if (!fires) return { layer: "li_box", coefficients };
    return { layer: "lif_box", coefficients: { ...coefficients, ...firingOf(reader, UNIT) } };
  }
  // In these units the file's gain is 1.
  const unit = settings.gain === "threshold" && fires ? tidyUnit(product(k, r)) : UNIT;
  const gains: Record<Settings["gain"], Value> = {
    file: product(k, r),
    fold: folded ? UNIT : product(k, r),
    no_r: k,
    unit: UNIT,
    threshold: fires ? UNIT : product(k, r),
  };
  const coefficients = {
    decay,
    gain: gains[settings.gain],
    leak: settings.gain === "unit" ? leak : quotient(product(k, leak), unit),
  };
  if (!fires) return { layer: "li", coefficients };
  const layer = many ? "lif_count" : "lif";
  return { layer, coefficients: { ...coefficients, ...firingOf(reader, unit) } };
}

function cubaRecipe(reader: NodeReader): Omit<Recipe, "mode"> {
  const { node, step: { settings } } = reader;
  const syn = reader.decays("tau_syn");
  const mem = reader.decays("tau_mem");
  const [r, wIn, leak] = [reader.at("r"), reader.at("w_in"), reader.at("v_leak")];
  const fires = node.type === "CubaLIF";
  const many = fires && reader.many;
  const plain = settings.gain === "file" || settings.gain === "no_r";
  if (settings.form === "box" && settings.gain === "no_r" && fires && !many) {
    const gains = { gain_syn: syn.gain, w_in: wIn, gain: mem.gain, r };
    return { layer: "cuba_lif_box", coefficients: { ...gains, leak, ...firingOf(reader, UNIT) } };
  }
  const [gainSyn, gain] = [product(syn.gain, wIn), product(mem.gain, r)];
  const scaled = plain || settings.gain === "fold" || (settings.gain === "threshold" && !fires);
  const unit = settings.gain === "threshold" && fires ? tidyUnit(product(gainSyn, gain)) : UNIT;
  const coefficients = {
    decay_syn: syn.decay,
    gain_syn: scaled ? gainSyn : UNIT,
    decay: mem.decay,
    gain: scaled ? gain : UNIT,
    leak: settings.gain === "unit" ? leak : quotient(product(mem.gain, leak), unit),
  };
  if (!fires) return { layer: "cuba_li", coefficients };
  const layer = many ? "cuba_lif_count" : "cuba_lif";
  return { layer, coefficients: { ...coefficients, ...firingOf(reader, unit) } };
}

/** Threshold and reset in the membrane's unit. */
function firingOf(
  { node, name, many, step, at, data }: NodeReader,
  unit: Value,
): Record<string, Value> {
  if (!node.fields.has("v_threshold")) return {};
  if (many && data("v_threshold").some((threshold) => !(threshold > 0))) {
    throw invalidNode(name, "v_threshold must be positive where a step may give several spikes", {
      field: "v_threshold",
    });
  }
  const threshold = quotient(at("v_threshold"), unit);
  return {
    threshold,
    per_threshold: (i: number) => 1 / Math.fround(threshold(i)),
    reset: step.settings.reset === "v_reset" ? quotient(at("v_reset"), unit) : ZERO,
  };
}

/** What an IF's input is multiplied by: 1, r a step (files of most frameworks) or r·dt (the letter of NIR). */
function ifGain(
  { name, node, at, step: { dt, settings, notes } }: NodeReader,
  quiet = false,
): Value {
  if (settings.gain === "unit" || settings.gain === "no_r") return UNIT;
  const perStep = at("r");
  const perSecond = product(perStep, () => dt);
  if (settings.ifGain !== "auto") return settings.ifGain === "r" ? perStep : perSecond;
  const { data } = tensorOf(node, "r");
  const unit = data.every((r) => r === 1);
  if (quiet) return unit ? perStep : perSecond;
  if (unit) {
    notes.info("if_gain", "Every r is 1, so an input of 1 raises v by 1 a step (gain r)", name);
    return perStep;
  }
  const text = "v rises by r·dt a step";
  if (data.every((r) => Math.abs(r * dt - 1) <= 1e-3)) {
    notes.info("if_gain", `Every r is 1/dt, so ${text}`, name);
  } else {
    notes.warn("if_gain", `r is neither 1 nor 1/dt; ${text}. Choose with the option ifGain`, name);
  }
  return perSecond;
}

/** A node's fields, by element. */
class NodeReader {
  readonly name: string;
  readonly node: NirNode;
  readonly step: Step;
  /** Whether a step may give several spikes. */
  readonly many: boolean;

  constructor(name: string, node: NirNode, step: Step) {
    this.name = name;
    this.node = node;
    this.step = step;
    this.many = step.settings.spikes === "many";
  }

  readonly data = (field: string): Float32Array | Float64Array => tensorOf(this.node, field).data;
  readonly at = (field: string): Value => reader(tensorOf(this.node, field));

  isUnit(field: string): boolean {
    return this.data(field).every((value) => value === 1);
  }

  decays(field: string): { decay: Value; gain: Value } {
    const { name, step: { dt, settings } } = this;
    const euler = settings.discretization === "euler";
    for (const tau of this.data(field)) {
      if (!(tau > 0)) {
        throw invalidNode(name, `${field} must be positive, not ${tau}`, { field });
      }
      if (euler && tau < dt) {
        const { dialect } = settings;
        const hint = dialect === "none" ? undefined : DIALECTS[dialect].shortTau;
        throw invalidNode(
          name,
          `${field} = ${tau} s is shorter than a step of ${dt} s, which euler cannot follow; ` +
            `give a shorter --dt, or --discretization exact${
              hint === undefined ? "" : `. ${hint}`
            }`,
          { field, tau, dt },
        );
      }
    }
    const tau = this.at(field);
    return euler ? { decay: (i) => 1 - dt / tau(i), gain: (i) => dt / tau(i) } : {
      decay: (i) => Math.exp(-dt / tau(i)),
      gain: (i) => -Math.expm1(-dt / tau(i)),
    };
  }
}

function modeOf(layer: LayerName, type: string, settings: Settings): number {
  const { compare, cubaOrder, synapse, clamp } = settings;
  const fires = ["spike", "count"].includes(LAYERS[layer].emits);
  const resets = fires && type !== "Threshold";
  const cuba = type === "CubaLIF" || type === "CubaLI";
  // spyx's CuBaLIF takes the threshold off before the decay, which is the step's end before.
  const early = settings.late === "spikes" && cuba;
  const reset = early && settings.reset === "subtract_next" ? "subtract" : settings.reset;
  return (fires && compare === "ge" ? MODE_GE : 0) |
    (resets && reset === "subtract" ? MODE_RESET_SUBTRACT : 0) |
    (resets && reset === "subtract_next" ? MODE_RESET_NEXT : 0) |
    (resets && reset === "none" ? MODE_RESET_NONE : 0) |
    (cuba && cubaOrder === "old" ? MODE_CUBA_OLD : 0) |
    (cuba && synapse === "before" && layer !== "cuba_lif_box" ? MODE_JOIN_FIRST : 0) |
    (type === "IF" && clamp ? MODE_CLAMP : 0);
}

/** Element i, or the one element that stands for all. */
export function reader({ data }: NirTensor): Value {
  return data.length === 1 ? () => data[0]! : (i) => data[i]!;
}

/** A gain that is 1 but for rounding counts as 1, as in snnTorch's importer. */
function tidyUnit(gain: Value): Value {
  return (i) => near(gain(i), 1) ? 1 : gain(i);
}

function product(a: Value, b: Value): Value {
  return (i) => a(i) * b(i);
}

function quotient(a: Value, b: Value): Value {
  return (i) => a(i) / b(i);
}
