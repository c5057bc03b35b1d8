/**
 * The generator of a run: ChaCha with 12 rounds, a 64-bit block counter from 0 and nonce 0, keyed from
 * a 64-bit seed, and the substreams derived from one seed. Its uniforms are bit-equal with the
 * original's (rand 0.9's StdRng). 64-bit numbers travel as two unsigned halves: BigInt is too slow
 * here, a session needs a new stream for each of its turns.
 */

/** A 64-bit unsigned number. */
export interface Word64 {
  readonly high: number;
  readonly low: number;
}

export function word64(value: number | bigint): Word64 {
  const big = BigInt.asUintN(64, BigInt(value));
  return { high: Number(big >> 32n), low: Number(big & 0xffffffffn) };
}

export function xor64(a: Word64, b: Word64): Word64 {
  return { high: (a.high ^ b.high) >>> 0, low: (a.low ^ b.low) >>> 0 };
}

/** The high 32 bits of the product of two 32-bit numbers. */
function highProduct(a: number, b: number): number {
  const a0 = a & 0xffff;
  const a1 = a >>> 16;
  const b0 = b & 0xffff;
  const b1 = b >>> 16;
  const cross0 = a0 * b1;
  const cross1 = a1 * b0;
  const middle = ((a0 * b0) >>> 16) + (cross0 & 0xffff) + (cross1 & 0xffff);
  return (a1 * b1 + (cross0 >>> 16) + (cross1 >>> 16) + (middle >>> 16)) >>> 0;
}

/** The number that the functions below work on: allocating one for each step would cost more. */
let high = 0;
let low = 0;

function add(h: number, l: number): void {
  const sum = low + l;
  high = (high + h + (sum > 0xffffffff ? 1 : 0)) >>> 0;
  low = sum >>> 0;
}

function multiply(h: number, l: number): void {
  high = (highProduct(low, l) + Math.imul(high, l) + Math.imul(low, h)) >>> 0;
  low = Math.imul(low, l) >>> 0;
}

/** x := x xor (x >> bits), 0 < bits < 32. */
function xorShift(bits: number): void {
  low = (low ^ ((low >>> bits) | (high << (32 - bits)))) >>> 0;
  high = (high ^ (high >>> bits)) >>> 0;
}

/** One step of splitmix64. */
function splitMix(): void {
  add(0x9e3779b9, 0x7f4a7c15);
  xorShift(30);
  multiply(0xbf58476d, 0x1ce4e5b9);
  xorShift(27);
  multiply(0x94d049bb, 0x133111eb);
  xorShift(31);
}

function splitMixWith(value: number): void {
  high = (high ^ Math.floor(value / 4294967296)) >>> 0;
  low = (low ^ (value >>> 0)) >>> 0;
  splitMix();
}

/** The seed of a substream: the seed mixed alone, then with three numbers, one after the other. */
export function mix64(seed: Word64, a: number, b: number, c: number): Word64 {
  high = seed.high;
  low = seed.low;
  splitMix();
  splitMixWith(a);
  splitMixWith(b);
  splitMixWith(c);
  return { high, low };
}

const WORDS = 16;
/** "expand 32-byte k" */
const SIGMA_0 = 0x61707865;
const SIGMA_1 = 0x3320646e;
const SIGMA_2 = 0x79622d32;
const SIGMA_3 = 0x6b206574;

export class Rng {
  private readonly key = new Uint32Array(8);
  private readonly words = new Uint32Array(WORDS);
  private counter = 0;
  private at = WORDS;

  constructor(seed: Word64) {
    this.reseed(seed);
  }

  /** Starts over from another seed, as a new generator would. */
  reseed(seed: Word64): void {
    this.counter = 0;
    this.at = WORDS;
    high = seed.high;
    low = seed.low;
    for (let i = 0; i < 8; i++) {
      // A step of a 64-bit congruential generator, and its permuted output.
      multiply(0x5851f42d, 0x4c957f2d);
      add(0xa17654e4, 0x6fbe17f3);
      const mixedHigh = (high ^ (high >>> 18)) >>> 0;
      const mixedLow = (low ^ ((low >>> 18) | (high << 14))) >>> 0;
      const shifted = ((mixedLow >>> 27) | (mixedHigh << 5)) >>> 0;
      const turn = high >>> 27;
      this.key[i] = turn === 0 ? shifted : (shifted >>> turn) | (shifted << (32 - turn));
    }
  }

  nextU32(): number {
    if (this.at === WORDS) this.refill();
    return this.words[this.at++]!;
  }

  /** A uniform number in [0, 1) of 53 bits. */
  uniform(): number {
    const first = this.nextU32();
    return (this.nextU32() * 2097152 + (first >>> 11)) * 1.1102230246251565e-16;
  }

  /** A whole number in [0, count), as rand 0.9 draws one. */
  below(count: number): number {
    const sample = this.nextU32();
    const result = highProduct(sample, count);
    const rest = Math.imul(sample, count) >>> 0;
    if (rest > (4294967296 - count) % 4294967296) {
      return rest + highProduct(this.nextU32(), count) > 0xffffffff ? result + 1 : result;
    }
    return result;
  }

  private refill(): void {
    const { key, words } = this;
    words[0] = SIGMA_0;
    words[1] = SIGMA_1;
    words[2] = SIGMA_2;
    words[3] = SIGMA_3;
    words.set(key, 4);
    words[12] = this.counter >>> 0;
    words[13] = Math.floor(this.counter / 4294967296);
    words[14] = 0;
    words[15] = 0;
    for (let round = 0; round < 12; round += 2) doubleRound(words);
    words[0] = words[0]! + SIGMA_0;
    words[1] = words[1]! + SIGMA_1;
    words[2] = words[2]! + SIGMA_2;
    words[3] = words[3]! + SIGMA_3;
    for (let i = 0; i < 8; i++) words[4 + i] = words[4 + i]! + key[i]!;
    words[12] = words[12]! + (this.counter >>> 0);
    words[13] = words[13]! + Math.floor(this.counter / 4294967296);
    this.counter += 1;
    this.at = 0;
  }
}

function doubleRound(x: Uint32Array): void {
  quarterRound(x, 0, 4, 8, 12);
  quarterRound(x, 1, 5, 9, 13);
  quarterRound(x, 2, 6, 10, 14);
  quarterRound(x, 3, 7, 11, 15);
  quarterRound(x, 0, 5, 10, 15);
  quarterRound(x, 1, 6, 11, 12);
  quarterRound(x, 2, 7, 8, 13);
  quarterRound(x, 3, 4, 9, 14);
}

function quarterRound(x: Uint32Array, a: number, b: number, c: number, d: number): void {
  let xa = x[a]! | 0;
  let xb = x[b]! | 0;
  let xc = x[c]! | 0;
  let xd = x[d]! | 0;
  xa = (xa + xb) | 0;
  xd ^= xa;
  xd = (xd << 16) | (xd >>> 16);
  xc = (xc + xd) | 0;
  xb ^= xc;
  xb = (xb << 12) | (xb >>> 20);
  xa = (xa + xb) | 0;
  xd ^= xa;
  xd = (xd << 8) | (xd >>> 24);
  xc = (xc + xd) | 0;
  xb ^= xc;
  xb = (xb << 7) | (xb >>> 25);
  x[a] = xa;
  x[b] = xb;
  x[c] = xc;
  x[d] = xd;
}
