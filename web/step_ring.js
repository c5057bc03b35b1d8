// @ts-check
/** The last time steps of some values, and which steps those are: what a scope shows and no more. */

/** Steps that are held. */
export const HELD_STEPS = 4096;
/** Rows that are kept of one band; a picture has no room for more. */
export const ROWS_MAX = 512;

export class StepRing {
  #values;
  #steps = new Float64Array(HELD_STEPS).fill(-1);

  /** @param {number} size values a step; only the first `ROWS_MAX` are kept */
  constructor(size) {
    this.size = size;
    this.rows = Math.min(size, ROWS_MAX);
    this.#values = new Float32Array(this.rows * HELD_STEPS);
  }

  /**
   * @param {number} start the first step
   * @param {ArrayLike<number>} values [steps][size]
   */
  put(start, values) {
    const steps = values.length / this.size;
    for (let t = 0; t < steps; t++) {
      const at = (start + t) % HELD_STEPS;
      this.#steps[at] = start + t;
      for (let i = 0; i < this.rows; i++) {
        this.#values[at * this.rows + i] = values[t * this.size + i] ?? 0;
      }
    }
  }

  /** Where a step's values lie in `values`, or -1 when it is not held. @param {number} step */
  at(step) {
    const at = ((step % HELD_STEPS) + HELD_STEPS) % HELD_STEPS;
    return this.#steps[at] === step ? at * this.rows : -1;
  }

  get values() {
    return this.#values;
  }

  /**
   * Sum over all rows for a range of steps, and how many of those steps are held.
   * @param {number} from
   * @param {number} to exclusive
   */
  total(from, to) {
    let [sum, steps] = [0, 0];
    for (let step = from; step < to; step++) {
      const at = this.at(step);
      if (at < 0) continue;
      steps++;
      for (let i = 0; i < this.rows; i++) sum += this.#values[at + i] ?? 0;
    }
    return { sum, steps };
  }

  /** Sum of one row. @param {number} row @param {number} from @param {number} to exclusive */
  rowTotal(row, from, to) {
    let sum = 0;
    for (let step = from; step < to; step++) {
      const at = this.at(step);
      if (at >= 0) sum += this.#values[at + row] ?? 0;
    }
    return sum;
  }

  clear() {
    this.#steps.fill(-1);
  }
}
