/**
 * NIR's CubaLIF and CubaLI. Discretised on the host: decay_syn = a, gain_syn = (1-a)·w_in,
 * decay = b, gain = (1-b)·r, leak = (1-b)·v_leak.
 */
import { snap } from "../base/numeric.ts";
import cuba_li_wgsl from "../../shaders/cuba_li.wgsl" with { type: "text" };
import cuba_lif_wgsl from "../../shaders/cuba_lif.wgsl" with { type: "text" };
import { defineLayer, MODE_CUBA_OLD, MODE_JOIN_FIRST, type PointwiseLayer } from "./define.ts";
import { afterFire, fire, lateReset } from "./fire.ts";

const f = Math.fround;

/** Advances current and membrane; returns the membrane before any reset. */
export function advance(x: number, state: Float32Array, coef: Float32Array, mode: number): number {
  const before = state[0]!;
  const jump = f(coef[1]! * x);
  const joinFirst = (mode & MODE_JOIN_FIRST) !== 0;
  const i = snap(joinFirst ? f(coef[0]! * f(before + jump)) : f(f(coef[0]! * before) + jump));
  const drive = (mode & MODE_CUBA_OLD) !== 0 ? before : i;
  const v = snap(f(f(f(coef[2]! * state[1]!) + f(coef[3]! * drive)) + coef[4]!));
  state[0] = i;
  state[1] = v;
  return v;
}

export const cubaLif: PointwiseLayer = defineLayer({
  name: "cuba_lif",
  wgsl: cuba_lif_wgsl,
  state: [{ name: "i", rest: 0 }, { name: "v", rest: 0 }],
  coefficients: ["decay_syn", "gain_syn", "decay", "gain", "leak", "threshold", "reset"],
  emits: "spike",
  step(x, state, coef, mode) {
    const before = state[1]!;
    const v = lateReset(advance(x, state, coef, mode), before, coef[5]!, mode);
    const spike = fire(v, coef[5]!, mode);
    state[1] = spike ? afterFire(v, coef[5]!, coef[6]!, mode) : v;
    return spike ? 1 : 0;
  },
});

export const cubaLi: PointwiseLayer = defineLayer({
  name: "cuba_li",
  wgsl: cuba_li_wgsl,
  state: [{ name: "i", rest: 0 }, { name: "v", rest: 0 }],
  coefficients: ["decay_syn", "gain_syn", "decay", "gain", "leak"],
  emits: "real",
  step: advance,
});
