/**
 * The natural logarithm that the original's variates use, bit for bit: glibc's `log` as built for
 * processors with fused multiply-add. Engines disagree on `Math.log` in the last place, and one
 * differing bit can swap two near-tied events, so the fused operations are computed exactly here.
 * Algorithm and constants: Arm's optimized-routines, math/log.c (MIT, see ln_table.ts).
 */
import { LN_TABLE } from "./ln_table.ts";

const SPLIT = 134217729; // 2^27 + 1
const TWO_27 = 134217728;
const LN2_HIGH = 0.6931471805598903;
const LN2_LOW = 5.497923018708371e-14;

const A0 = -0.5000000000000001;
const A1 = 0.33333333331825593;
const A2 = -0.2499999999622955;
const A3 = 0.20000304511814496;
const A4 = -0.16667054827627667;

// Close to 1
const B0 = -0.5;
const B1 = 0.3333333333333352;
const B2 = -0.24999999999998432;
const B3 = 0.19999999999320328;
const B4 = -0.16666666669929706;
const B5 = 0.14285715076560868;
const B6 = -0.12499997863982555;
const B7 = 0.11110712032936046;
const B8 = -0.10000486757818193;
const B9 = 0.09181994006195467;
const B10 = -0.08328363062289341;
const NEAR_LOW = 1 - 0.0625;
const NEAR_HIGH = 1.0646972656250; // 1 + 0x1.09p-4

const bits = new DataView(new ArrayBuffer(8));

/** a·b + c rounded once (Boldo and Melquiond: error-free product, then a sum rounded to odd). */
export function fusedMultiplyAdd(a: number, b: number, c: number): number {
  const product = a * b;
  let t = SPLIT * a;
  const aHigh = t - (t - a);
  const aLow = a - aHigh;
  t = SPLIT * b;
  const bHigh = t - (t - b);
  const bLow = b - bHigh;
  const error = aLow * bLow - (((product - aHigh * bHigh) - aLow * bHigh) - aHigh * bLow);
  // c + error = upper + lower; product + upper = sum + rest
  const upper = c + error;
  t = upper - c;
  const lower = (c - (upper - t)) + (error - t);
  const sum = product + upper;
  t = sum - product;
  const rest = (product - (sum - t)) + (upper - t);
  let tail = lower + rest;
  t = tail - lower;
  const lost = (lower - (tail - t)) + (rest - t);
  if (lost !== 0) tail = toOdd(tail, lost);
  return sum + tail;
}

/** Moves an inexact sum to the neighbour with an odd last bit, in the direction of what was lost. */
function toOdd(value: number, lost: number): number {
  bits.setFloat64(0, value);
  const low = bits.getUint32(4);
  if ((low & 1) === 1) return value;
  const away = (lost > 0) === (value > 0);
  if (away) {
    bits.setUint32(4, low | 1);
    return bits.getFloat64(0);
  }
  const high = bits.getUint32(0);
  bits.setUint32(4, (low - 1) >>> 0);
  if (low === 0) bits.setUint32(0, (high - 1) >>> 0);
  return bits.getFloat64(0);
}

/** More than the plain evaluation of a tail can be off, relative to the sum of its terms' sizes. */
const DOUBT = 2 ** -48;

/**
 * ln x; not positive, subnormal or infinite arguments as `Math.log`. The result is `upper + tail`,
 * where `tail` is small: evaluated plainly it is off by some of its own last bits, which change the
 * rounded sum in one case of some hundreds. Only then it is evaluated with fused operations.
 */
export function ln(x: number): number {
  if (x > NEAR_LOW && x < NEAR_HIGH) return x === 1 ? 0 : lnNearOne(x);
  if (!(x >= 2.2250738585072014e-308 && x < Infinity)) return Math.log(x);
  bits.setFloat64(0, x);
  const high = bits.getUint32(0);
  const offset = (high - 0x3fe60000) | 0;
  const part = (offset >>> 13) & 127;
  const exponent = offset >> 20;
  bits.setUint32(0, (high - (offset & 0xfff00000)) >>> 0);
  const r = productLessOne(bits.getFloat64(0), LN_TABLE[2 * part]!);
  // LN2_HIGH ends in zeros, so the product is exact.
  const w = exponent * LN2_HIGH + LN_TABLE[2 * part + 1]!;
  const upper = w + r;
  const rest = (w - upper) + r;
  const r2 = r * r;
  const low = rest + exponent * LN2_LOW;
  const tail = (r * r2 * ((A3 + r * A4) * r2 + (A1 + r * A2))) + (low + r2 * A0);
  const doubt = DOUBT * (Math.abs(low) + r2);
  const result = upper + (tail + doubt);
  if (result === upper + (tail - doubt)) return result;
  const lower = fusedMultiplyAdd(r2, A0, fusedMultiplyAdd(exponent, LN2_LOW, rest));
  const series = fusedMultiplyAdd(fusedMultiplyAdd(r, A4, A3), r2, fusedMultiplyAdd(r, A2, A1));
  return fusedMultiplyAdd(r * r2, series, lower) + upper;
}

/** a·b − 1 rounded once, for a product close to 1. */
function productLessOne(a: number, b: number): number {
  const product = a * b;
  let t = SPLIT * a;
  const aHigh = t - (t - a);
  const aLow = a - aHigh;
  t = SPLIT * b;
  const bHigh = t - (t - b);
  const bLow = b - bHigh;
  return (product - 1) +
    (aLow * bLow - (((product - aHigh * bHigh) - aLow * bHigh) - aHigh * bLow));
}

function lnNearOne(x: number): number {
  const r = x - 1;
  const r2 = r * r;
  const r3 = r * r2;
  // The upper 26 bits of r: these products are exact.
  const rHigh = (r * TWO_27 + r) - r * TWO_27;
  const half = rHigh * rHigh * B0;
  const upper = r + half;
  const rest = (r - upper) + half;
  const low = rest + B0 * (r - rHigh) * (r + rHigh);
  const inner = B7 + r * B8 + r2 * B9 + r3 * B10;
  const series = B1 + r * B2 + r2 * B3 + r3 * (B4 + r * B5 + r2 * B6 + r3 * inner);
  const tail = r3 * series + low;
  const doubt = DOUBT * (Math.abs(low) + Math.abs(r3));
  const result = upper + (tail + doubt);
  if (result === upper + (tail - doubt)) return result;
  return lnNearOneFused(r, r2, r3, rHigh, upper);
}

function lnNearOneFused(r: number, r2: number, r3: number, rHigh: number, upper: number): number {
  const low = fusedMultiplyAdd(r2, B3, fusedMultiplyAdd(r, B2, B1));
  const middle = fusedMultiplyAdd(r2, B6, fusedMultiplyAdd(r, B5, B4));
  let p = fusedMultiplyAdd(r2, B9, fusedMultiplyAdd(r, B8, B7));
  p = fusedMultiplyAdd(r3, B10, p);
  p = fusedMultiplyAdd(p, r3, middle);
  p = fusedMultiplyAdd(p, r3, low);
  let lower = fusedMultiplyAdd(rHigh * rHigh, B0, r - upper);
  lower = fusedMultiplyAdd(B0 * (r - rHigh), r + rHigh, lower);
  return upper + fusedMultiplyAdd(p, r3, lower);
}
