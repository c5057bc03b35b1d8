/**
 * Rules by which fast weights learn: twin of shaders/fast_weights.wgsl. A rule's numbers are one array:
 * four of its own, then modulator, fanout and shift, one an element of the population each.
 *
 * | rule        | its four                            |
 * | ----------- | ----------------------------------- |
 * | decaying    | k = (1-eta)^dt, 1-k                 |
 * | oja         | eta                                 |
 * | modulated   | clip, bias of the modulation        |
 * | retroactive | clip, that bias, 1-eta, eta         |
 */
import { snap } from "../base/numeric.ts";

const f = Math.fround;

/** In the order of the shader's RULE. */
export const FAST_RULES = ["decaying", "oja", "modulated", "retroactive"] as const;
export type FastRule = typeof FAST_RULES[number];

/** Own numbers before the three arrays. */
export const OWN_RATES = 4;

export interface Synapse {
  hebb: number;
  eligibility: number;
}

/** Lets one element of the trace learn, in place. `m` is the modulation, `j` the place of post. */
export function learn(
  rule: FastRule,
  rates: Float32Array,
  size: number,
  { pre, post, m, j }: { pre: number; post: number; m: number; j: number },
  synapse: Synapse,
): void {
  const r0 = rates[0]!;
  const { hebb, eligibility } = synapse;
  switch (rule) {
    case "decaying":
      synapse.hebb = snap(f(f(r0 * hebb) + f(f(rates[1]! * pre) * post)));
      break;
    case "oja": {
      const off = f(pre - f(post * hebb));
      synapse.hebb = snap(f(hebb + f(f(r0 * post) * off)));
      break;
    }
    case "modulated": {
      const eta = f(
        f(m * rates[OWN_RATES + size + j]!) + rates[OWN_RATES + 2 * size + j]!,
      );
      synapse.hebb = clip(f(hebb + f(f(eta * pre) * post)), r0);
      break;
    }
    case "retroactive":
      synapse.hebb = clip(f(hebb + f(m * eligibility)), r0);
      synapse.eligibility = snap(f(f(rates[2]! * eligibility) + f(f(rates[3]! * pre) * post)));
      break;
  }
}

function clip(x: number, most: number): number {
  return snap(Math.min(Math.max(x, -most), most));
}

/** Whether a rule needs the modulation. */
export function modulates(rule: FastRule): boolean {
  return rule === "modulated" || rule === "retroactive";
}
