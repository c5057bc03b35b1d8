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

function add64(a: Word64, b: Word64): Word64 {
  const low = a.low + b.low;
  return { high: (a.high + b.high + (low > 0xffffffff ? 1 : 0)) >>> 0, low: low >>> 0 };
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

function multiply64(a: Word64, b: Word64): Word64 {
  const high = highProduct(a.low, b.low) + Math.imul(a.high, b.low) + Math.imul(a.low, b.high);
  return { high: high >>> 0, low: Math.imul(a.low, b.low) >>> 0 };
}

/** x xor (x >> bits), 0 < bits < 32. */
function xorShift64(x: Word64, bits: number): Word64 {
  return {
    high: (x.high ^ (x.high >>> bits)) >>> 0,
    low: (x.low ^ ((x.low >>> bits) | (x.high << (32 - bits)))) >>> 0,
  };
}

const GOLDEN = word64(0x9e3779b97f4a7c15n);
const MIX_1 = word64(0xbf58476d1ce4e5b9n);
const MIX_2 = word64(0x94d049bb133111ebn);

/** One step of splitmix64. */
function splitMix(seed: Word64): Word64 {
  let x = add64(seed, GOLDEN);
  x = multiply64(xorShift64(x, 30), MIX_1);
  x = multiply64(xorShift64(x, 27), MIX_2);
  return xorShift64(x, 31);
}

/** The seed of a substream: the seed mixed alone, then with three numbers, one after the other. */
export function mix64(seed: Word64, a: number, b: number, c: number): Word64 {
  let x = splitMix(seed);
  for (const value of [a, b, c]) {
    x = splitMix(xor64(x, { high: Math.floor(value / 4294967296), low: value >>> 0 }));
  }
  return x;
}

const PCG_MULTIPLIER = word64(6364136223846793005n);
const PCG_INCREMENT = word64(11634580027462260723n);
const WORDS = 16;
const block = new Uint32Array(WORDS);

export class Rng {
  private readonly key = new Uint32Array(8);
  private readonly words = new Uint32Array(WORDS);
  private counter = 0;
  private at = WORDS;

  constructor(seed: Word64) {
    let state = seed;
    for (let i = 0; i < 8; i++) {
      state = add64(multiply64(state, PCG_MULTIPLIER), PCG_INCREMENT);
      // low32((((s >> 18) ^ s) >> 27)), rotated right by s >> 59
      const high = (state.high ^ (state.high >>> 18)) >>> 0;
      const low = (state.low ^ ((state.low >>> 18) | (state.high << 14))) >>> 0;
      const shifted = ((low >>> 27) | (high << 5)) >>> 0;
      const turn = state.high >>> 27;
      this.key[i] = turn === 0 ? shifted : (shifted >>> turn) | (shifted << (32 - turn));
    }
  }

  nextU32(): number {
    if (this.at === WORDS) this.refill();
    return this.words[this.at++]!;
  }

  /** A uniform number in [0, 1) of 53 bits. */
  uniform(): number {
    const low = this.nextU32();
    const high = this.nextU32();
    return (high * 2097152 + (low >>> 11)) * 1.1102230246251565e-16;
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
    block[0] = 0x61707865;
    block[1] = 0x3320646e;
    block[2] = 0x79622d32;
    block[3] = 0x6b206574;
    block.set(key, 4);
    block[12] = this.counter >>> 0;
    block[13] = Math.floor(this.counter / 4294967296);
    block[14] = 0;
    block[15] = 0;
    words.set(block);
    for (let round = 0; round < 12; round += 2) doubleRound(words);
    for (let i = 0; i < WORDS; i++) words[i] = words[i]! + block[i]!;
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
