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

/** The high 32 bits of the product of two 32-bit numbers, taken unsigned. */
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

/**
 * The number that `splitMix` works on: its halves as signed numbers. Such small integers need no memory
 * of their own, and an object for each step would cost more than the step.
 */
const mixed = new Int32Array(2);

/** One step of splitmix64, with three numbers mixed in before it by exclusive or. */
function splitMix(value: number): void {
  let high = mixed[0]! ^ Math.floor(value / 4294967296);
  let low = mixed[1]! ^ (value >>> 0);
  const sum = (low >>> 0) + 0x7f4a7c15;
  high = (high + 0x9e3779b9 + (sum > 0xffffffff ? 1 : 0)) | 0;
  low = sum | 0;
  low ^= (low >>> 30) | (high << 2);
  high ^= high >>> 30;
  high = (highProduct(low, 0x1ce4e5b9) + Math.imul(high, 0x1ce4e5b9) +
    Math.imul(low, 0xbf58476d)) | 0;
  low = Math.imul(low, 0x1ce4e5b9);
  low ^= (low >>> 27) | (high << 5);
  high ^= high >>> 27;
  high = (highProduct(low, 0x133111eb) + Math.imul(high, 0x133111eb) +
    Math.imul(low, 0x94d049bb)) | 0;
  low = Math.imul(low, 0x133111eb);
  mixed[1] = low ^ ((low >>> 31) | (high << 1));
  mixed[0] = high ^ (high >>> 31);
}

/** The seed of a substream: the seed mixed alone, then with three numbers, one after the other. */
export function mix64(seed: Word64, a: number, b: number, c: number): Word64 {
  mixed[0] = seed.high;
  mixed[1] = seed.low;
  splitMix(0);
  splitMix(a);
  splitMix(b);
  splitMix(c);
  return { high: mixed[0], low: mixed[1] };
}

const WORDS = 16;
const ROUNDS = 12;
/** "expand 32-byte k" */
const SIGMA_0 = 0x61707865;
const SIGMA_1 = 0x3320646e;
const SIGMA_2 = 0x79622d32;
const SIGMA_3 = 0x6b206574;

export class Rng {
  private readonly key = new Int32Array(8);
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
    let high = seed.high | 0;
    let low = seed.low | 0;
    for (let i = 0; i < 8; i++) {
      // A step of a 64-bit congruential generator, and its permuted output.
      high = (highProduct(low, 0x4c957f2d) + Math.imul(high, 0x4c957f2d) +
        Math.imul(low, 0x5851f42d)) | 0;
      const sum = (Math.imul(low, 0x4c957f2d) >>> 0) + 0x6fbe17f3;
      high = (high + 0xa17654e4 + (sum > 0xffffffff ? 1 : 0)) | 0;
      low = sum | 0;
      const mixedHigh = high ^ (high >>> 18);
      const mixedLow = low ^ ((low >>> 18) | (high << 14));
      const shifted = (mixedLow >>> 27) | (mixedHigh << 5);
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

  /** The next block. Its sixteen words stay in variables: in an array the rounds take three times as long. */
  private refill(): void {
    const { key, words } = this;
    const counterLow = this.counter | 0;
    const counterHigh = Math.floor(this.counter / 4294967296);
    let x0 = SIGMA_0;
    let x1 = SIGMA_1;
    let x2 = SIGMA_2;
    let x3 = SIGMA_3;
    let x4 = key[0]!;
    let x5 = key[1]!;
    let x6 = key[2]!;
    let x7 = key[3]!;
    let x8 = key[4]!;
    let x9 = key[5]!;
    let x10 = key[6]!;
    let x11 = key[7]!;
    let x12 = counterLow;
    let x13 = counterHigh;
    let x14 = 0;
    let x15 = 0;
    for (let round = 0; round < ROUNDS; round += 2) {
      x0 = (x0 + x4) | 0;
      x12 ^= x0;
      x12 = (x12 << 16) | (x12 >>> 16);
      x8 = (x8 + x12) | 0;
      x4 ^= x8;
      x4 = (x4 << 12) | (x4 >>> 20);
      x0 = (x0 + x4) | 0;
      x12 ^= x0;
      x12 = (x12 << 8) | (x12 >>> 24);
      x8 = (x8 + x12) | 0;
      x4 ^= x8;
      x4 = (x4 << 7) | (x4 >>> 25);
      x1 = (x1 + x5) | 0;
      x13 ^= x1;
      x13 = (x13 << 16) | (x13 >>> 16);
      x9 = (x9 + x13) | 0;
      x5 ^= x9;
      x5 = (x5 << 12) | (x5 >>> 20);
      x1 = (x1 + x5) | 0;
      x13 ^= x1;
      x13 = (x13 << 8) | (x13 >>> 24);
      x9 = (x9 + x13) | 0;
      x5 ^= x9;
      x5 = (x5 << 7) | (x5 >>> 25);
      x2 = (x2 + x6) | 0;
      x14 ^= x2;
      x14 = (x14 << 16) | (x14 >>> 16);
      x10 = (x10 + x14) | 0;
      x6 ^= x10;
      x6 = (x6 << 12) | (x6 >>> 20);
      x2 = (x2 + x6) | 0;
      x14 ^= x2;
      x14 = (x14 << 8) | (x14 >>> 24);
      x10 = (x10 + x14) | 0;
      x6 ^= x10;
      x6 = (x6 << 7) | (x6 >>> 25);
      x3 = (x3 + x7) | 0;
      x15 ^= x3;
      x15 = (x15 << 16) | (x15 >>> 16);
      x11 = (x11 + x15) | 0;
      x7 ^= x11;
      x7 = (x7 << 12) | (x7 >>> 20);
      x3 = (x3 + x7) | 0;
      x15 ^= x3;
      x15 = (x15 << 8) | (x15 >>> 24);
      x11 = (x11 + x15) | 0;
      x7 ^= x11;
      x7 = (x7 << 7) | (x7 >>> 25);
      x0 = (x0 + x5) | 0;
      x15 ^= x0;
      x15 = (x15 << 16) | (x15 >>> 16);
      x10 = (x10 + x15) | 0;
      x5 ^= x10;
      x5 = (x5 << 12) | (x5 >>> 20);
      x0 = (x0 + x5) | 0;
      x15 ^= x0;
      x15 = (x15 << 8) | (x15 >>> 24);
      x10 = (x10 + x15) | 0;
      x5 ^= x10;
      x5 = (x5 << 7) | (x5 >>> 25);
      x1 = (x1 + x6) | 0;
      x12 ^= x1;
      x12 = (x12 << 16) | (x12 >>> 16);
      x11 = (x11 + x12) | 0;
      x6 ^= x11;
      x6 = (x6 << 12) | (x6 >>> 20);
      x1 = (x1 + x6) | 0;
      x12 ^= x1;
      x12 = (x12 << 8) | (x12 >>> 24);
      x11 = (x11 + x12) | 0;
      x6 ^= x11;
      x6 = (x6 << 7) | (x6 >>> 25);
      x2 = (x2 + x7) | 0;
      x13 ^= x2;
      x13 = (x13 << 16) | (x13 >>> 16);
      x8 = (x8 + x13) | 0;
      x7 ^= x8;
      x7 = (x7 << 12) | (x7 >>> 20);
      x2 = (x2 + x7) | 0;
      x13 ^= x2;
      x13 = (x13 << 8) | (x13 >>> 24);
      x8 = (x8 + x13) | 0;
      x7 ^= x8;
      x7 = (x7 << 7) | (x7 >>> 25);
      x3 = (x3 + x4) | 0;
      x14 ^= x3;
      x14 = (x14 << 16) | (x14 >>> 16);
      x9 = (x9 + x14) | 0;
      x4 ^= x9;
      x4 = (x4 << 12) | (x4 >>> 20);
      x3 = (x3 + x4) | 0;
      x14 ^= x3;
      x14 = (x14 << 8) | (x14 >>> 24);
      x9 = (x9 + x14) | 0;
      x4 ^= x9;
      x4 = (x4 << 7) | (x4 >>> 25);
    }
    words[0] = x0 + SIGMA_0;
    words[1] = x1 + SIGMA_1;
    words[2] = x2 + SIGMA_2;
    words[3] = x3 + SIGMA_3;
    words[4] = x4 + key[0]!;
    words[5] = x5 + key[1]!;
    words[6] = x6 + key[2]!;
    words[7] = x7 + key[3]!;
    words[8] = x8 + key[4]!;
    words[9] = x9 + key[5]!;
    words[10] = x10 + key[6]!;
    words[11] = x11 + key[7]!;
    words[12] = x12 + counterLow;
    words[13] = x13 + counterHigh;
    words[14] = x14;
    words[15] = x15;
    this.counter += 1;
    this.at = 0;
  }
}
