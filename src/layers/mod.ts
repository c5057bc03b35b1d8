/** The table of elementwise layers, one line each. Linear layers have no entry: see engine and reference. */
import type { PointwiseLayer } from "./define.ts";
import { alif } from "./alif.ts";
import { cubaLi, cubaLif } from "./cuba.ts";
import { identity } from "./identity.ts";
import { integrateAndFire, integrator } from "./integrator.ts";
import { leakyIntegrator, lif } from "./lif.ts";
import { norm } from "./norm.ts";
import { rateRelu, rateSigmoid, rateTanh } from "./rate.ts";
import { scale } from "./scale.ts";
import { threshold } from "./threshold.ts";

export * from "./define.ts";
export { FAST_RULES, type FastRule, learn, modulates, OWN_RATES } from "./fast_weights.ts";
export { exactTanh } from "./squash.ts";

export type LayerName =
  | "lif"
  | "li"
  | "if"
  | "integrator"
  | "cuba_lif"
  | "cuba_li"
  | "threshold"
  | "scale"
  | "identity"
  | "alif"
  | "norm"
  | "rate_tanh"
  | "rate_relu"
  | "rate_sigmoid";

export const LAYERS: Readonly<Record<LayerName, PointwiseLayer>> = {
  lif, // coefficients: decay, gain, leak, threshold, reset; state v
  li: leakyIntegrator, // decay, gain, leak; state v
  if: integrateAndFire, // gain, threshold, reset; state v
  integrator, // gain; state v
  cuba_lif: cubaLif, // decay_syn, gain_syn, decay, gain, leak, threshold, reset; state i, v
  cuba_li: cubaLi, // decay_syn, gain_syn, decay, gain, leak; state i, v
  threshold, // threshold
  scale, // scale
  identity, // no coefficients: the sum of its edges
  alif, // decay, decay_adapt, beta, threshold, refractory; state v, a, r
  norm, // scale, shift
  rate_tanh: rateTanh, // decay, gain, bias; state h
  rate_relu: rateRelu,
  rate_sigmoid: rateSigmoid,
};
