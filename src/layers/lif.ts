/** NIR's LIF and LI. Discretised on the host: decay = d, gain = (1-d)·r, leak = (1-d)·v_leak. */
import { snap } from "../base/numeric.ts";
import li_wgsl from "../../shaders/li.wgsl" with { type: "text" };
import lif_wgsl from "../../shaders/lif.wgsl" with { type: "text" };
import {
  defineLayer,
  MODE_GE,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
  type PointwiseLayer,
} from "./define.ts";

const f = Math.fround;

/** Whether a membrane passes the threshold; shared by all spiking neurons. Twin of `fire`. */
export function fire(v: number, threshold: number, mode: number): boolean {
  return (mode & MODE_GE) !== 0 ? v >= threshold : v > threshold;
}

/** The membrane after a spike, in the same step. Twin of `after_fire`. */
export function afterFire(v: number, threshold: number, reset: number, mode: number): number {
  if ((mode & MODE_RESET_NONE) !== 0) return v;
  if ((mode & MODE_RESET_SUBTRACT) !== 0) return snap(f(v - threshold));
  return reset;
}

export const lif: PointwiseLayer = defineLayer({
  name: "lif",
  wgsl: lif_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["decay", "gain", "leak", "threshold", "reset"],
  emits: "spike",
  step(x, state, coef, mode) {
    const v = snap(f(f(f(coef[0]! * state[0]!) + f(coef[1]! * x)) + coef[2]!));
    const spike = fire(v, coef[3]!, mode);
    state[0] = spike ? afterFire(v, coef[3]!, coef[4]!, mode) : v;
    return spike ? 1 : 0;
  },
});

export const leakyIntegrator: PointwiseLayer = defineLayer({
  name: "li",
  wgsl: li_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["decay", "gain", "leak"],
  emits: "real",
  step(x, state, coef) {
    const v = snap(f(f(f(coef[0]! * state[0]!) + f(coef[1]! * x)) + coef[2]!));
    state[0] = v;
    return v;
  },
});
