/**
 * A delay line: the last `length` values of every element, zero before the start. Twin of
 * shaders/delay.wgsl; the canonical form in a snapshot is oldest first, as kept here.
 */
import type { Line } from "../host/gathers.ts";

export class DelayLine implements Line {
  readonly #ring: Float32Array;
  readonly #size: number;
  readonly #length: number;
  #head = 0; // where the oldest entry lies, and the next one goes

  constructor(length: number, size: number) {
    this.#ring = new Float32Array(length * size);
    this.#size = size;
    this.#length = length;
  }

  read(delay: number, element: number): number {
    const entry = (this.#head + this.#length - delay) % this.#length;
    return this.#ring[entry * this.#size + element]!;
  }

  push(values: Float32Array): void {
    this.#ring.set(values, this.#head * this.#size);
    this.#head = (this.#head + 1) % this.#length;
  }

  clone(): DelayLine {
    return DelayLine.fromOldestFirst(this.toOldestFirst(), this.#size);
  }

  toOldestFirst(): Float32Array {
    const at = this.#head * this.#size;
    const values = new Float32Array(this.#ring.length);
    values.set(this.#ring.subarray(at));
    values.set(this.#ring.subarray(0, at), this.#ring.length - at);
    return values;
  }

  static fromOldestFirst(values: Float32Array, size: number): DelayLine {
    const line = new DelayLine(values.length / size, size);
    line.#ring.set(values);
    return line;
  }
}
