/** NIR's Scale: elementwise product. No state. */
import { snap } from "../base/numeric.ts";
import wgsl from "../../shaders/scale.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";

export const scale: PointwiseLayer = defineLayer({
  name: "scale",
  wgsl,
  state: [],
  coefficients: ["scale"],
  emits: "real",
  step: (x, _state, coef) => snap(Math.fround(coef[0]! * x)),
});
