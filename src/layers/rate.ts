/** A leaky rate unit, with one of three activations. All three give the same bits everywhere. */
import { snap } from "../base/numeric.ts";
import rateText from "../../shaders/rate.wgsl" with { type: "text" };
import { defineLayer, type PointwiseLayer } from "./define.ts";
import { exactSigmoid, exactTanh } from "./squash.ts";

const f = Math.fround;

function rate(name: string, squash: string, squashTwin: (x: number) => number): PointwiseLayer {
  return defineLayer({
    name,
    wgsl: `fn ${name}_squash(x: f32) -> f32 {
  return ${squash};
}

${rateText.replaceAll(/\b(rate_)?(squash|step)\(/g, `${name}_$2(`)}`,
    state: [{ name: "h", rest: 0 }],
    coefficients: ["decay", "gain", "bias"],
    emits: "real",
    step(x, state, coef) {
      const drive = f(coef[1]! * squashTwin(f(x + coef[2]!)));
      const h = snap(f(f(coef[0]! * state[0]!) + drive));
      state[0] = h;
      return h;
    },
  });
}

export const rateTanh: PointwiseLayer = rate("rate_tanh", "exact_tanh(x)", exactTanh);
export const rateRelu: PointwiseLayer = rate("rate_relu", "max(x, 0.0)", (x) => Math.max(x, 0));
export const rateSigmoid: PointwiseLayer = rate("rate_sigmoid", "exact_sigmoid(x)", exactSigmoid);
