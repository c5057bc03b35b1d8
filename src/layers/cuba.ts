/**
 * NIR's CubaLIF and CubaLI. Discretised on the host: decay_syn = a, gain_syn = (1-a)·w_in,
 * decay = b, gain = (1-b)·r, leak = (1-b)·v_leak.
 */
import { snap } from "../base/numeric.ts";
import cuba_li_wgsl from "../../shaders/cuba_li.wgsl" with { type: "text" };
import cuba_lif_wgsl from "../../shaders/cuba_lif.wgsl" with { type: "text" };
import { defineLayer, MODE_CUBA_OLD, type PointwiseLayer } from "./define.ts";
import { afterFire, fire } from "./lif.ts";

const f = Math.fround;

/** Advances current and membrane; returns the membrane before any reset. */
function advance(x: number, state: Float32Array, coef: Float32Array, mode: number): number {
  const before = state[0]!;
  const i = snap(f(f(coef[0]! * before) + f(coef[1]! * x)));
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
    const v = advance(x, state, coef, mode);
    const spike = fire(v, coef[5]!, mode);
    if (spike) state[1] = afterFire(v, coef[5]!, coef[6]!, mode);
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
