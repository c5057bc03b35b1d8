/** The sum of the incoming edges, unchanged: joins several edges, and gives a model's output a node. */
import { snap } from "../base/numeric.ts";
import wgsl from "../../shaders/identity.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";

export const identity: PointwiseLayer = defineLayer({
  name: "identity",
  wgsl,
  state: [],
  coefficients: [],
  emits: "same",
  step: (x) => snap(x),
});
