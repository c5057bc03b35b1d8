/**
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): 128 random bits
 * for a counter and a key. A draw depends on its place alone, so a stream may be cut or reordered and
 * keeps its values; the same on every machine.
 */

const ROUNDS = 10;
const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57] as const;
const WEYL = [0x9e3779b9, 0xbb67ae85] as const;

export type Counter = readonly [number, number, number, number];

/** Four u32 words for a counter of four u32 words under a key of two. */
export function philox(counter: Counter, key: readonly [number, number]): Counter {
  let [a, b, c, d] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < ROUNDS; round++) {
    const low0 = Math.imul(MULTIPLIERS[0], a);
    const low1 = Math.imul(MULTIPLIERS[1], c);
    const high0 = highWord(MULTIPLIERS[0], a);
    const high1 = highWord(MULTIPLIERS[1], c);
    [a, b, c, d] = [high1 ^ b ^ k0, low1, high0 ^ d ^ k1, low0];
    k0 += WEYL[0];
    k1 += WEYL[1];
  }
  return [a >>> 0, b >>> 0, c >>> 0, d >>> 0];
}

/** The upper 32 bits of a product of two u32. */
function highWord(x: number, y: number): number {
  const [xLow, xHigh] = [x & 0xffff, x >>> 16];
  const [yLow, yHigh] = [y & 0xffff, y >>> 16];
  const middle = xHigh * yLow + ((xLow * yLow) >>> 16);
  const rest = xLow * yHigh + (middle & 0xffff);
  return (xHigh * yHigh + Math.floor(middle / 0x10000) + Math.floor(rest / 0x10000)) | 0;
}
