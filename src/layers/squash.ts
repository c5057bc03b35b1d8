/**
 * exp, tanh and the logistic function from sums, products and integer operations only: the twin of
 * shaders/squash.wgsl, bit for bit. `Math.tanh` would differ from a device's own function.
 */
const f = Math.fround;
const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);

// The shader's literals, rounded as it rounds them.
const LOG2_E = f(1.44269504);
const LN2_HIGH = f(0.693359375);
const LN2_LOW = f(2.12194440e-4);
const EXP = [
  1.9875691500e-4,
  1.3981999507e-3,
  8.3334519073e-3,
  4.1665795894e-2,
  1.6666665459e-1,
  5.0000001201e-1,
].map(f);
const TANH = [
  -5.70498872745e-3,
  2.06390887954e-2,
  -5.37397155531e-2,
  1.33314422036e-1,
  -3.33332819422e-1,
].map(f);

/** The polynomial at x, the highest power first, a rounding after each product and sum. */
function polynomial(x: number, coefficients: readonly number[]): number {
  return coefficients.reduce((sum, each) => f(f(x * sum) + each));
}

/** For |x| of at most 87. */
function exactExp(x: number): number {
  const k = Math.floor(f(f(x * LOG2_E) + 0.5));
  const r = f(f(x - f(k * LN2_HIGH)) + f(k * LN2_LOW));
  const p = f(f(polynomial(r, EXP) * f(r * r)) + r);
  float[0] = f(p + 1);
  word[0] = word[0]! + (k << 23);
  return float[0];
}

/** For d from 1 to 1e30. */
function exactReciprocal(d: number): number {
  float[0] = d;
  word[0] = 0x7ef311c3 - word[0]!;
  let y = float[0];
  for (let k = 0; k < 4; k++) y = f(y + f(y * f(1 - f(d * y))));
  return y;
}

export function exactTanh(x: number): number {
  const size = Math.abs(x);
  if (size < 0.625) {
    const z = f(x * x);
    return f(f(f(polynomial(z, TANH) * z) * x) + x);
  }
  const e = exactExp(f(2 * Math.min(size, 10)));
  const y = f(1 - f(2 * exactReciprocal(f(e + 1))));
  return x < 0 ? -y : y;
}

export function exactSigmoid(x: number): number {
  const e = exactExp(-Math.min(Math.abs(x), 60));
  const y = exactReciprocal(f(1 + e));
  return x < 0 ? f(e * y) : y;
}
