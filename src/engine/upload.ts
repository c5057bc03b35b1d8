/** Packs a batch into one array of words: row headers, then inputs; 0/1 frames travel as bits. */
import { isPacked } from "../base/frames.ts";
import type { BatchRow } from "../engine/executor.ts";
import { COPIES, type Layout, rowOffset, UPLOAD_HEADER_WORDS, UPLOAD_ROW_WORDS } from "./layout.ts";

const FLAG_FRESH = 1;
export const FLAG_BITS = 2;
/** The bits of 1.0: whole numbers are compared faster than floats, and all inputs pass here. */
const ONE = 0x3f800000;

export class Upload {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly #floats: Float32Array<ArrayBuffer>;
  readonly #layout: Layout;

  constructor(layout: Layout) {
    this.#layout = layout;
    this.words = new Uint32Array(uploadWords(layout));
    this.#floats = new Float32Array(this.words.buffer);
  }

  /**
   * Writes the rows; `copies[slot]` is the committed copy of each slot. Returns how many words were
   * used.
   */
  pack(rows: readonly BatchRow[], copies: Uint8Array, generation: number): number {
    const { words } = this;
    words[0] = generation;
    let at = UPLOAD_HEADER_WORDS + rows.length * UPLOAD_ROW_WORDS;
    rows.forEach((row, index) => {
      const copy = copies[row.slot]!;
      const packed = this.#packBits(row, at);
      if (packed === 0) this.#floats.set(row.input, at);
      const header = UPLOAD_HEADER_WORDS + index * UPLOAD_ROW_WORDS;
      words[header] = row.slot;
      words[header + 1] = row.steps;
      words[header + 2] = (row.fresh ? FLAG_FRESH : 0) | (packed > 0 ? FLAG_BITS : 0);
      words[header + 3] = rowOffset(this.#layout, row.slot, copy);
      words[header + 4] = rowOffset(this.#layout, row.slot, (copy + 1) % COPIES);
      words[header + 5] = at;
      at += packed > 0 ? packed : row.input.length;
    });
    return at;
  }

  /** Packs a frame of zeros and ones; returns the words used, or 0 when it holds anything else. */
  #packBits({ input, steps }: BatchRow, at: number): number {
    const { inputWords, inputBitWords } = this.#layout;
    if (isPacked(input)) {
      this.words.set(input, at);
      return input.length;
    }
    const raw = new Uint32Array(input.buffer, input.byteOffset, input.length);
    let read = 0;
    for (let t = 0; t < steps; t++) {
      for (let k = 0; k < inputBitWords; k++) {
        const count = Math.min(32, inputWords - k * 32);
        let word = 0;
        for (let bit = 0; bit < count; bit++) {
          const x = raw[read++]!;
          if (x === 0) continue;
          if (x !== ONE) return 0;
          word |= 1 << bit;
        }
        this.words[at + t * inputBitWords + k] = word;
      }
    }
    return steps * inputBitWords;
  }
}

/** Words of the largest batch that one submit takes. */
export function uploadWords(layout: Layout): number {
  return UPLOAD_HEADER_WORDS +
    layout.rowsMax * (UPLOAD_ROW_WORDS + layout.frame * layout.inputWords);
}
