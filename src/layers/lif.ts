/** NIR's LIF and LI. Discretised on the host: decay = d, gain = (1-d)·r, leak = (1-d)·v_leak. */
import { snap } from "../base/numeric.ts";
import li_wgsl from "../../shaders/li.wgsl" with { type: "text" };
import lif_wgsl from "../../shaders/lif.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";
import { afterFire, fire, lateReset } from "./fire.ts";

const f = Math.fround;

export const lif: PointwiseLayer = defineLayer({
  name: "lif",
  wgsl: lif_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["decay", "gain", "leak", "threshold", "reset"],
  emits: "spike",
  step(x, state, coef, mode) {
    const before = state[0]!;
    const decayed = snap(f(f(f(coef[0]! * before) + f(coef[1]! * x)) + coef[2]!));
    const v = lateReset(decayed, before, coef[3]!, mode);
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
