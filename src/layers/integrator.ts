/** NIR's IF and I. Discretised on the host: gain = r or r·dt. */
import { snap } from "../base/numeric.ts";
import if_wgsl from "../../shaders/if.wgsl" with { type: "text" };
import integrator_wgsl from "../../shaders/integrator.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";
import { afterFire, clampBelow, fire, lateReset } from "./fire.ts";

const f = Math.fround;

export const integrateAndFire: PointwiseLayer = defineLayer({
  name: "if",
  wgsl: if_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["gain", "threshold", "reset"],
  emits: "spike",
  step(x, state, coef, mode) {
    const before = state[0]!;
    const v = lateReset(snap(f(before + f(coef[0]! * x))), before, coef[1]!, mode);
    const spike = fire(v, coef[1]!, mode);
    const after = spike ? afterFire(v, coef[1]!, coef[2]!, mode) : v;
    state[0] = clampBelow(after, coef[1]!, mode);
    return spike ? 1 : 0;
  },
});

export const integrator: PointwiseLayer = defineLayer({
  name: "integrator",
  wgsl: integrator_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["gain"],
  emits: "real",
  step(x, state, coef) {
    const v = snap(f(state[0]! + f(coef[0]! * x)));
    state[0] = v;
    return v;
  },
});
