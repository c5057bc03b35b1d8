/**
 * LIF, IF and CubaLIF that may spike several times a step, as Sinabs and Rockpool have them: what leaves
 * is the number of whole thresholds in the membrane. An IF is a LIF of decay 1.
 */
import { snap } from "../base/numeric.ts";
import cuba_wgsl from "../../shaders/cuba_lif_count.wgsl" with { type: "text" };
import lif_wgsl from "../../shaders/lif_count.wgsl" with { type: "text" };
import { advance } from "./cuba.ts";
import { defineLayer, type PointwiseLayer } from "./define.ts";
import { afterCount, clampBelow, countSpikes } from "./fire.ts";

const f = Math.fround;

export const lifCount: PointwiseLayer = defineLayer({
  name: "lif_count",
  wgsl: lif_wgsl,
  state: [{ name: "v", rest: 0 }],
  coefficients: ["decay", "gain", "leak", "threshold", "per_threshold", "reset"],
  emits: "count",
  step(x, state, coef, mode) {
    const v = snap(f(f(f(coef[0]! * state[0]!) + f(coef[1]! * x)) + coef[2]!));
    const n = countSpikes(v, coef[3]!, coef[4]!, mode);
    state[0] = clampBelow(afterCount(v, n, coef[3]!, coef[5]!, mode), coef[3]!, mode);
    return n;
  },
});

export const cubaLifCount: PointwiseLayer = defineLayer({
  name: "cuba_lif_count",
  wgsl: cuba_wgsl,
  state: [{ name: "i", rest: 0 }, { name: "v", rest: 0 }],
  coefficients: [
    "decay_syn",
    "gain_syn",
    "decay",
    "gain",
    "leak",
    "threshold",
    "per_threshold",
    "reset",
  ],
  emits: "count",
  step(x, state, coef, mode) {
    const v = advance(x, state, coef, mode);
    const n = countSpikes(v, coef[5]!, coef[6]!, mode);
    state[1] = afterCount(v, n, coef[5]!, coef[7]!, mode);
    return n;
  },
});
