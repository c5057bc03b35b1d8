/**
 * Parameters → coefficients of one time step (NUMERICS §2.4): computed in f64, rounded to f32 once,
 * −0 and subnormals as +0. What comes out is finite; errors name the node and what to do.
 * `euler`: d = 1 - dt/tau; `exact`: d = exp(-dt/tau); in both, k = 1 - d.
 */
import { canonicalise, roundHalfEven } from "../base/numeric.ts";
import {
  type LayerName,
  LAYERS,
  MODE_CUBA_OLD,
  MODE_GE,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
} from "../layers/mod.ts";
import type { Notes } from "./flat_graph.ts";
import type { NirNode, NirTensor } from "./nir.ts";
import { invalidNode } from "./nir_error.ts";
import { tensorOf } from "./nir_schema.ts";
import type { Settings } from "./options.ts";
import type { PointwiseOp } from "./plan.ts";
import { VALUES_MAX } from "./shapes.ts";

export interface Step {
  readonly dt: number;
  readonly settings: Settings;
  readonly notes: Notes;
}

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

/** The layer that a NIR type is run by, or undefined for those that are no elementwise layer. */
export const layerOf = (type: string): LayerName | undefined => LAYER_OF[type];

/** Coefficients by element, under the layer's names. */
type Coefficients = Readonly<Record<string, (element: number) => number>>;

/** A neuron, Threshold or Scale of `size` elements as an elementwise op. */
export function pointwiseOp(name: string, node: NirNode, size: number, step: Step): PointwiseOp {
  const layer = LAYER_OF[node.type]!;
  const wanted = LAYERS[layer].coefficients;
  const make = coefficientsOf(name, node, step);
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
  return {
    op: "pointwise",
    layer,
    mode: modeOf(layer, step.settings),
    coefficients: canonicalise(coefficients),
  };
}

function coefficientsOf(name: string, node: NirNode, step: Step): Coefficients {
  const at = (field: string): (i: number) => number => reader(tensorOf(node, field));
  const { settings, dt } = step;
  switch (node.type) {
    case "Scale":
      return { scale: at("scale") };
    case "Threshold":
      return { threshold: at("threshold") };
    case "I":
      return { gain: product(at("r"), () => dt) };
    case "IF": {
      const perStep = gainIsPerStep(name, node, step);
      return { gain: perStep ? at("r") : product(at("r"), () => dt), ...firing(at, settings) };
    }
    case "LI":
    case "LIF":
      return { ...leaky(name, node, "tau", at, step), ...firing(at, settings) };
    default: {
      const syn = decays(name, node, "tau_syn", step);
      return {
        decay_syn: syn.decay,
        gain_syn: product(syn.gain, at("w_in")),
        ...leaky(name, node, "tau_mem", at, step),
        ...firing(at, settings),
      };
    }
  }
}

type FieldReader = (field: string) => (i: number) => number;

function leaky(
  name: string,
  node: NirNode,
  tau: string,
  at: FieldReader,
  step: Step,
): Coefficients {
  const { decay, gain } = decays(name, node, tau, step);
  return { decay, gain: product(gain, at("r")), leak: product(gain, at("v_leak")) };
}

/** Threshold and reset; asked for lazily, since LI and CubaLI have neither. */
function firing(at: FieldReader, { reset }: Settings): Coefficients {
  return {
    threshold: (i) => at("v_threshold")(i),
    reset: (i) => reset === "v_reset" ? at("v_reset")(i) : 0,
  };
}

function decays(name: string, node: NirNode, field: string, { dt, settings }: Step) {
  const { data } = tensorOf(node, field);
  const euler = settings.discretization === "euler";
  for (const tau of data) {
    if (!(tau > 0)) {
      throw invalidNode(name, `${field} must be positive, not ${tau}`, { field });
    }
    if (euler && tau < dt) {
      throw invalidNode(
        name,
        `${field} = ${tau} s is shorter than a step of ${dt} s, which euler cannot follow; ` +
          "give a shorter --dt, or --discretization exact",
        { field, tau, dt },
      );
    }
  }
  const tau = reader(tensorOf(node, field));
  return euler ? { decay: (i: number) => 1 - dt / tau(i), gain: (i: number) => dt / tau(i) } : {
    decay: (i: number) => Math.exp(-dt / tau(i)),
    gain: (i: number) => -Math.expm1(-dt / tau(i)),
  };
}

/** Whether an IF adds r a step (files of most frameworks) or r·dt (the letter of NIR). */
function gainIsPerStep(name: string, node: NirNode, { dt, settings, notes }: Step): boolean {
  if (settings.ifGain !== "auto") return settings.ifGain === "r";
  const { data } = tensorOf(node, "r");
  if (data.every((r) => r === 1)) {
    notes.info("if_gain", "Every r is 1, so an input of 1 raises v by 1 a step (gain r)", name);
    return true;
  }
  const perSecond = data.every((r) => Math.abs(r * dt - 1) <= 1e-3);
  const text = "v rises by r·dt a step";
  if (perSecond) notes.info("if_gain", `Every r is 1/dt, so ${text}`, name);
  else {
    notes.warn("if_gain", `r is neither 1 nor 1/dt; ${text}. Choose with the option ifGain`, name);
  }
  return false;
}

function modeOf(layer: LayerName, { compare, reset, cubaOrder }: Settings): number {
  const fires = LAYERS[layer].emits === "spike";
  const resets = fires && layer !== "threshold";
  const cuba = layer === "cuba_lif" || layer === "cuba_li";
  return (fires && compare === "ge" ? MODE_GE : 0) |
    (resets && reset === "subtract" ? MODE_RESET_SUBTRACT : 0) |
    (resets && reset === "none" ? MODE_RESET_NONE : 0) |
    (cuba && cubaOrder === "old" ? MODE_CUBA_OLD : 0);
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

/** Element i, or the one element that stands for all. */
function reader({ data }: NirTensor): (i: number) => number {
  return data.length === 1 ? () => data[0]! : (i) => data[i]!;
}

function product(a: (i: number) => number, b: (i: number) => number): (i: number) => number {
  return (i) => a(i) * b(i);
}
