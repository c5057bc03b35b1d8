/** How much of a model's input is on: of frames for measuring, and in a packed batch. */
import type { Plan } from "../model/plan.ts";
import type { BatchRow } from "./executor.ts";
import { type Layout, UPLOAD_HEADER_WORDS, UPLOAD_ROW_WORDS } from "./layout.ts";
import { FLAG_BITS } from "./upload.ts";

/** Rows of a batch that are looked at. */
const SAMPLE_ROWS = 4;

/** `rows` fresh rows of full frames, each another pattern of zeros and ones. */
export function standIn(
  { sampleSize }: Plan,
  steps: number,
  rows: number,
  density: number,
): BatchRow[] {
  let state = 1;
  return Array.from({ length: rows }, (_, slot) => ({
    slot,
    steps,
    fresh: true,
    input: Float32Array.from({ length: steps * sampleSize }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state < density * 2 ** 32 ? 1 : 0;
    }),
  }));
}

/** The share of inputs that are on in the first few rows which travel as bits; 0 when none does. */
export function shareOn(layout: Layout, upload: Uint32Array, rows: number): number {
  let on = 0;
  let all = 0;
  for (let row = 0; row < Math.min(rows, SAMPLE_ROWS); row++) {
    const header = UPLOAD_HEADER_WORDS + row * UPLOAD_ROW_WORDS;
    const [steps, flags, at] = [upload[header + 1]!, upload[header + 2]!, upload[header + 5]!];
    if ((flags & FLAG_BITS) === 0) continue;
    const end = at + steps * layout.inputBitWords;
    for (let k = at; k < end; k++) on += ones(upload[k]!);
    all += steps * layout.inputWords;
  }
  return all === 0 ? 0 : on / all;
}

function ones(word: number): number {
  let x = word - ((word >>> 1) & 0x55555555);
  x = (x & 0x33333333) + ((x >>> 2) & 0x33333333);
  return Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
