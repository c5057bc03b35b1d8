/**
 * What a careful person writes by hand for an MLP of LIF layers and a leaky readout: typed arrays,
 * event lists, no plan, no server. One thread. The honest baseline of the engine benches.
 */
import type { Plan } from "../src/model/mod.ts";

interface Layer {
  readonly inputs: number;
  readonly outputs: number;
  readonly weights: Float32Array; // [inputs][outputs]
  readonly decay: Float32Array;
  readonly gain: Float32Array;
  readonly threshold: Float32Array | null;
}

export class PlainNetwork {
  readonly #layers: Layer[] = [];
  readonly #membranes: Float32Array[][]; // [slot][layer]
  readonly #events: Int32Array[];
  readonly #current: Float32Array[];

  constructor(plan: Plan, slots: number) {
    for (const node of plan.nodes) {
      if (node.op.op === "dense") {
        const next = plan.nodes[node.index + 1]!;
        if (next.op.op !== "pointwise") throw new Error("an MLP only");
        const { coefficients, layer } = next.op;
        const of = (k: number) => coefficients.subarray(k * next.size, (k + 1) * next.size);
        this.#layers.push({
          inputs: node.op.inputs,
          outputs: node.op.outputs,
          weights: node.op.weights,
          decay: of(0),
          gain: of(1),
          threshold: layer === "lif" ? of(3) : null,
        });
      }
    }
    this.#membranes = Array.from(
      { length: slots },
      () => this.#layers.map(({ outputs }) => new Float32Array(outputs)),
    );
    this.#events = [plan.sampleSize, ...this.#layers.map(({ outputs }) => outputs)]
      .map((size) => new Int32Array(size));
    this.#current = this.#layers.map(({ outputs }) => new Float32Array(outputs));
  }

  /** The same without event lists: every weight is multiplied by its input. */
  denseFrame(slot: number, input: Float32Array, steps: number): Float32Array {
    const width = input.length / steps;
    const last = this.#layers.at(-1)!.outputs;
    const output = new Float32Array(steps * last);
    for (let t = 0; t < steps; t++) {
      let x = input.subarray(t * width, (t + 1) * width);
      this.#layers.forEach(({ inputs, outputs, weights, decay, gain, threshold }, k) => {
        const current = this.#current[k]!.fill(0);
        for (let j = 0; j < inputs; j++) {
          const value = x[j]!;
          for (let i = 0; i < outputs; i++) current[i]! += value * weights[j * outputs + i]!;
        }
        const v = this.#membranes[slot]![k]!;
        for (let i = 0; i < outputs; i++) {
          const next = decay[i]! * v[i]! + gain[i]! * current[i]!;
          const fires = threshold !== null && next > threshold[i]!;
          v[i] = fires ? 0 : next;
          current[i] = fires ? 1 : 0;
        }
        x = current;
      });
      output.set(this.#membranes[slot]!.at(-1)!, t * last);
    }
    return output;
  }

  /** One frame of one slot; returns [steps, outputs]. */
  frame(slot: number, input: Float32Array, steps: number): Float32Array {
    const width = input.length / steps;
    const last = this.#layers.at(-1)!.outputs;
    const output = new Float32Array(steps * last);
    for (let t = 0; t < steps; t++) {
      let events = this.#events[0]!;
      let count = 0;
      for (let j = 0; j < width; j++) if (input[t * width + j] !== 0) events[count++] = j;
      for (let k = 0; k < this.#layers.length; k++) {
        const { outputs, weights, decay, gain, threshold } = this.#layers[k]!;
        const current = this.#current[k]!;
        current.fill(0);
        for (let e = 0; e < count; e++) {
          const at = events[e]! * outputs;
          for (let i = 0; i < outputs; i++) current[i]! += weights[at + i]!;
        }
        const v = this.#membranes[slot]![k]!;
        events = this.#events[k + 1]!;
        count = 0;
        for (let i = 0; i < outputs; i++) {
          let x = decay[i]! * v[i]! + gain[i]! * current[i]!;
          if (threshold !== null && x > threshold[i]!) {
            x = 0;
            events[count++] = i;
          }
          v[i] = x;
        }
      }
      output.set(this.#membranes[slot]!.at(-1)!, t * last);
    }
    return output;
  }
}
