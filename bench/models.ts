/** Models and inputs of the benches, seeded. */
import { compilePlan, graphOf, type Plan } from "../src/model/mod.ts";

export class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state / 2 ** 32;
  }
}

/** Dense + LIF layers and a dense + LI readout; weights such that a few per cent of neurons fire. */
export function mlp(sizes: readonly number[], seed = 1): Plan {
  const random = new Random(seed);
  const nodes: Record<string, object> = { input: { type: "Input", shape: [sizes[0]!] } };
  const edges: [string, string][] = [];
  let from = "input";
  for (let k = 1; k < sizes.length; k++) {
    const [inputs, outputs] = [sizes[k - 1]!, sizes[k]!];
    const spread = 2.5 / Math.sqrt(inputs * 0.05);
    const weights = Float32Array.from(
      { length: inputs * outputs },
      () => (random.next() - 0.5) * spread,
    );
    const all = (value: number) => new Array<number>(outputs).fill(value);
    nodes[`fc${k}`] = {
      type: "Linear",
      weight: { shape: [outputs, inputs], data: weights },
    };
    nodes[`n${k}`] = k < sizes.length - 1
      ? { type: "LIF", tau: all(2e-3), r: all(20), v_leak: all(0), v_threshold: all(2) }
      : { type: "LI", tau: all(2e-3), r: all(20), v_leak: all(0) };
    edges.push([from, `fc${k}`], [`fc${k}`, `n${k}`]);
    from = `n${k}`;
  }
  nodes["output"] = { type: "Output", shape: [sizes.at(-1)!] };
  edges.push([from, "output"]);
  return compilePlan(graphOf({ name: sizes.join("-"), nodes, edges }), { dt: 1e-4 });
}

export function spikes(random: Random, length: number, density: number): Float32Array {
  return Float32Array.from({ length }, () => random.next() < density ? 1 : 0);
}
