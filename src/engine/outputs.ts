/**
 * What a row brings back from the device, and where it lies in the output buffer: one array a recorded
 * value, f32 or, of a node that gives spikes, 32 a word, bit 0 first. Callers always get f32.
 */
import { valuesOf } from "../base/frames.ts";
import type { Layout } from "./layout.ts";

export interface OutputArray {
  /** First word within a row's output. */
  readonly offset: number;
  /** Values a step, and the words that they take. */
  readonly size: number;
  readonly words: number;
  /** Spikes as bits. */
  readonly packed: boolean;
}

/** What leaves node `node`, every step of a frame, from `offset` on. */
export function leavingArray({ plan, widths }: Layout, node: number, offset: number): OutputArray {
  const { size, kind } = plan.nodes[node]!;
  return { offset, size, words: widths[node]!, packed: kind === "spike" };
}

/** A state field of `size` values. */
export function fieldArray(size: number, offset: number): OutputArray {
  return { offset, size, words: size, packed: false };
}

/** The first word behind an array. */
export const endOf = ({ offset, words }: OutputArray, frame: number): number =>
  offset + frame * words;

/** The values of the first `steps` steps of an array, [steps, size], of the row that begins at `row`. */
export function valuesIn(
  read: Uint32Array<ArrayBuffer>,
  row: number,
  { offset, size, words, packed }: OutputArray,
  steps: number,
): Float32Array {
  const begin = row + offset;
  const taken = read.subarray(begin, begin + steps * words);
  return packed ? valuesOf(taken, size) : new Float32Array(taken.slice().buffer);
}
