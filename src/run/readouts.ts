/**
 * Readouts: a stream of outputs → one score a class, kept up step by step, so that it does not matter
 * how the stream is cut. Sums are kept in f64 and rounded when they are read.
 */

export const READOUTS = ["max", "sum", "mean", "softmax_sum"] as const;
export type ReadoutName = typeof READOUTS[number];

/** A readout between two steps. */
export interface SavedReadout {
  readonly readout: string;
  readonly steps: number;
  /** One sum or maximum a class. */
  readonly scores: Float64Array;
}

export class Readout {
  readonly name: ReadoutName;
  readonly classes: number;
  #scores: Float64Array;
  #steps = 0;

  constructor(name: ReadoutName, classes: number) {
    this.name = name;
    this.classes = classes;
    this.#scores = new Float64Array(classes);
  }

  /** Steps taken in since the start. */
  get steps(): number {
    return this.#steps;
  }

  /** Takes in whole steps, `[steps, classes]`. */
  push(outputs: Float32Array): void {
    for (let at = 0; at < outputs.length; at += this.classes) {
      this.#pushStep(outputs.subarray(at, at + this.classes));
    }
  }

  /** The scores after the steps so far; all 0 before the first. */
  scores(): Float32Array {
    const divisor = this.name === "mean" ? Math.max(1, this.#steps) : 1;
    return Float32Array.from(this.#scores, (score) => score / divisor);
  }

  /** The class with the highest score, the lower one of equals; null before the first step. */
  prediction(): number | null {
    return this.#steps === 0 ? null : bestOf(this.scores());
  }

  /** Begins again, as with a new session. */
  reset(): void {
    this.#scores.fill(0);
    this.#steps = 0;
  }

  /** All that it goes on from, as data. */
  save(): SavedReadout {
    return { readout: this.name, steps: this.#steps, scores: this.#scores.slice() };
  }

  /** Goes on from what another one of the same kind saved. */
  load({ steps, scores }: SavedReadout): void {
    this.#steps = steps;
    this.#scores = scores.slice();
  }

  #pushStep(step: Float32Array): void {
    const scores = this.#scores;
    if (this.name === "max") {
      const first = this.#steps === 0;
      step.forEach((value, i) => scores[i] = first ? value : Math.max(scores[i]!, value));
    } else if (this.name === "softmax_sum") {
      addSoftmax(step, scores);
    } else {
      step.forEach((value, i) => scores[i]! += value);
    }
    this.#steps++;
  }
}

function addSoftmax(step: Float32Array, scores: Float64Array): void {
  const top = step.reduce((most, value) => Math.max(most, value), -Infinity);
  const powers = Float64Array.from(step, (value) => Math.exp(value - top));
  const sum = powers.reduce((total, power) => total + power, 0);
  powers.forEach((power, i) => scores[i]! += power / sum);
}

/** Position of the largest score, the first of equals. */
export function bestOf(scores: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < scores.length; i++) if (scores[i]! > scores[best]!) best = i;
  return best;
}
