/**
 * Time steps of input in one of two forms: f32 values, [steps, size], or spikes as bits, 32 a word, bit 0
 * first, [steps, wordsOf(size)], where every value is 0 or 1. Bits behind a step's values are 0. Both mean
 * the same to every executor; bits stay bits from the request to the device.
 */
import { wordsOf } from "./numeric.ts";

export type Frames = Float32Array | Uint32Array;

export const isPacked = (frames: Frames): frames is Uint32Array => frames instanceof Uint32Array;

/** Entries of one time step of `size` values. */
export const entriesOf = (frames: Frames, size: number): number =>
  isPacked(frames) ? wordsOf(size) : size;

/** The values, [steps, size]: a copy where they were packed. */
export function valuesOf(frames: Frames, size: number): Float32Array {
  if (!isPacked(frames)) return frames;
  const words = wordsOf(size);
  const steps = frames.length / words;
  const values = new Float32Array(steps * size);
  for (let t = 0; t < steps; t++) {
    for (let k = 0; k < words; k++) {
      for (let word = frames[t * words + k]!; word !== 0; word &= word - 1) {
        values[t * size + 32 * k + 31 - Math.clz32(word & -word)] = 1;
      }
    }
  }
  return values;
}

/** A bit that is set behind the values of its step; null where there is none, as it must be. */
export function strayBit(
  frames: Uint32Array,
  size: number,
): { readonly step: number; readonly index: number } | null {
  const words = wordsOf(size);
  const rest = size % 32;
  if (rest === 0) return null;
  for (let last = words - 1; last < frames.length; last += words) {
    const stray = frames[last]! >>> rest;
    if (stray === 0) continue;
    const bit = rest + 31 - Math.clz32(stray & -stray);
    return { step: Math.floor(last / words), index: (words - 1) * 32 + bit };
  }
  return null;
}
