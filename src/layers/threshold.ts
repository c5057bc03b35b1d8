/** NIR's Threshold: 1 where the input passes the threshold. No state. */
import wgsl from "../../shaders/threshold.wgsl" with { type: "text" };
import { defineLayer, MODE_GE, type PointwiseLayer } from "./define.ts";

export const threshold: PointwiseLayer = defineLayer({
  name: "threshold",
  wgsl,
  state: [],
  coefficients: ["threshold"],
  emits: "spike",
  step(x, _state, coef, mode) {
    return ((mode & MODE_GE) !== 0 ? x >= coef[0]! : x > coef[0]!) ? 1 : 0;
  },
});
