/**
 * The LIF whose threshold rises with every spike, with a refractory time. The refractory count is a
 * whole number in the state and blocks the comparison; no threshold is ever infinite.
 */
import { snap } from "../base/numeric.ts";
import wgsl from "../../shaders/alif.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";
import { afterFire, fire } from "./fire.ts";

const f = Math.fround;

export const alif: PointwiseLayer = defineLayer({
  name: "alif",
  wgsl,
  state: [{ name: "v", rest: 0 }, { name: "a", rest: 0 }, { name: "r", rest: 0 }],
  coefficients: ["decay", "decay_adapt", "beta", "threshold", "refractory"],
  emits: "spike",
  step(x, state, coef, mode) {
    const a = state[1]!;
    const r = state[2]!;
    const v = snap(f(f(coef[0]! * state[0]!) + x));
    const theta = f(f(coef[2]! * a) + coef[3]!);
    const spike = fire(v, theta, mode) && !(r > 0);
    state[0] = spike ? afterFire(v, coef[3]!, 0, mode) : v;
    state[1] = snap(f(f(coef[1]! * a) + (spike ? 1 : 0)));
    const left = (spike ? f(r + coef[4]!) : r) - 1;
    state[2] = Math.min(Math.max(left, 0), coef[4]!);
    return spike ? 1 : 0;
  },
});
