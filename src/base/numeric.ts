/**
 * The arithmetic rules every executor shares (docs/numerics.md): canonical values, the snap, and the
 * packing of spikes into words. Plain functions on numbers and typed arrays.
 */

/** Values smaller than this are stored as +0, so that drivers which flush subnormals agree with those that do not. */
export const SNAP_BELOW = 1e-30;

/** f32(1e-30), the value that shaders compare with. */
export const SNAP_BELOW_F32: number = Math.fround(SNAP_BELOW);

/** The exponent's bits of an f32: all 0 in zeros and subnormals, all 1 in NaN and infinities. */
const EXPONENT = 0x7f800000;

/** |x| < 1e-30 → +0; NaN and infinities pass. */
export function snap(x: number): number {
  return Math.abs(x) < SNAP_BELOW_F32 ? 0 : x;
}

/** Turns −0 and f32 subnormals of an array into +0, in place; returns the array. */
export function canonicalise(values: Float32Array): Float32Array {
  const bits = bitsOf(values);
  for (let i = 0; i < bits.length; i++) {
    const word = bits[i]!;
    if (word !== 0 && (word & EXPONENT) === 0) bits[i] = 0;
  }
  return values;
}

/** Position of the first NaN or infinity, or −1. */
export function firstNonFinite(values: ArrayLike<number>): number {
  if (values instanceof Float32Array) {
    // Every value that comes in passes here: an order of magnitude faster than asking for each.
    const bits = bitsOf(values);
    for (let i = 0; i < bits.length; i++) if ((bits[i]! & EXPONENT) === EXPONENT) return i;
    return -1;
  }
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i]!)) return i;
  }
  return -1;
}

const bitsOf = ({ buffer, byteOffset, length }: Float32Array): Int32Array =>
  new Int32Array(buffer, byteOffset, length);

/** Rounds halves to even, as Python and IEEE do. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest < 0.5) return floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/** u32 words that hold `count` spikes, 32 a word. */
export function wordsOf(count: number): number {
  return (count + 31) >>> 5;
}

/** Per step ⌈size/32⌉ words, bit 0 first; every value that is not 0 is a 1. */
export function packBits(values: Float32Array, steps: number): Uint32Array<ArrayBuffer> {
  const size = values.length / steps;
  const words = wordsOf(size);
  const packed = new Uint32Array(steps * words);
  for (let t = 0; t < steps; t++) {
    for (let i = 0; i < size; i++) {
      if (values[t * size + i] !== 0) packed[t * words + (i >>> 5)]! |= 1 << (i & 31);
    }
  }
  return packed;
}

/** Product of a shape; 1 for a scalar. */
export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, axis) => product * axis, 1);
}
