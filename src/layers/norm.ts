/** Batch normalisation at inference, as one product and one sum an element. No state. */
import { snap } from "../base/numeric.ts";
import wgsl from "../../shaders/norm.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";

const f = Math.fround;

export const norm: PointwiseLayer = defineLayer({
  name: "norm",
  wgsl,
  state: [],
  coefficients: ["scale", "shift"],
  emits: "real",
  step: (x, _state, coef) => snap(f(f(coef[0]! * x) + coef[1]!)),
});
