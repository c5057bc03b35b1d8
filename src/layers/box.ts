/**
 * LIF, LI and CubaLIF written as differences, v + k·(… − v), the order in which Norse's boxes and
 * SpikingJelly round. gain = 1 − d, leak = v_leak, unscaled.
 */
import { snap } from "../base/numeric.ts";
import cuba_wgsl from "../../shaders/cuba_lif_box.wgsl" with { type: "text" };
import li_wgsl from "../../shaders/li_box.wgsl" with { type: "text" };
import lif_wgsl from "../../shaders/lif_box.wgsl" with { type: "text" };
import { defineLayer, MODE_CUBA_OLD, type PointwiseLayer } from "./define.ts";
import { afterFire, fire, lateReset } from "./fire.ts";

const f = Math.fround;

export const lifBox: PointwiseLayer = defineLayer({
  name: "lif_box",
  wgsl: lif_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["gain", "leak", "threshold", "reset"],
  emits: "spike",
  step(x, state, coef, mode) {
    const before = state[0]!;
    const drive = f(f(x + coef[1]!) - before);
    const v = lateReset(snap(f(before + f(coef[0]! * drive))), before, coef[2]!, mode);
    const spike = fire(v, coef[2]!, mode);
    state[0] = spike ? afterFire(v, coef[2]!, coef[3]!, mode) : v;
    return spike ? 1 : 0;
  },
});

export const liBox: PointwiseLayer = defineLayer({
  name: "li_box",
  wgsl: li_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["gain", "leak"],
  emits: "real",
  step(x, state, coef) {
    const before = state[0]!;
    const drive = f(f(coef[1]! - before) + x);
    const v = snap(f(before + f(coef[0]! * drive)));
    state[0] = v;
    return v;
  },
});

export const cubaLifBox: PointwiseLayer = defineLayer({
  name: "cuba_lif_box",
  wgsl: cuba_wgsl,
  state: [{ name: "i", rest: 0 }, { name: "v", rest: 0 }],
  coefficients: ["gain_syn", "w_in", "gain", "r", "leak", "threshold", "reset"],
  emits: "spike",
  step(x, state, coef, mode) {
    const [old, before] = [state[0]!, state[1]!];
    const jump = f(f(coef[4]! - old) + f(coef[1]! * x));
    const i = snap(f(old + f(coef[0]! * jump)));
    const current = f(coef[3]! * ((mode & MODE_CUBA_OLD) !== 0 ? old : i));
    const drive = f(f(current + coef[4]!) - before);
    const v = lateReset(snap(f(before + f(coef[2]! * drive))), before, coef[5]!, mode);
    const spike = fire(v, coef[5]!, mode);
    state[0] = i;
    state[1] = spike ? afterFire(v, coef[5]!, coef[6]!, mode) : v;
    return spike ? 1 : 0;
  },
});
