// exp, tanh and the logistic function from sums, products and integer operations only, so that every
// device gives the same bits: the built-in functions may differ by some ulps. At most 3 ulps off the
// true value. Polynomials of the Cephes library. Twin: src/layers/squash.ts.

// e to the x, for |x| of at most 87.
fn exact_exp(x: f32) -> f32 {
  let k = floor(exact(x * 1.44269504) + 0.5);
  var r = exact(x) - exact(k * 0.693359375);
  r = exact(r) + exact(k * 2.12194440e-4);
  var p = exact(r * 1.9875691500e-4) + 1.3981999507e-3;
  p = exact(r * exact(p)) + 8.3334519073e-3;
  p = exact(r * exact(p)) + 4.1665795894e-2;
  p = exact(r * exact(p)) + 1.6666665459e-1;
  p = exact(r * exact(p)) + 5.0000001201e-1;
  p = exact(exact(p) * exact(r * r)) + exact(r);
  p = exact(p) + 1.0;
  // Times 2 to the k, which never leaves the normal numbers.
  return bitcast<f32>(bitcast<u32>(p) + (bitcast<u32>(i32(k)) << 23u));
}

// 1 / d for d from 1 to 1e30: a guess from the bits, then Newton's steps.
fn exact_reciprocal(d: f32) -> f32 {
  var y = bitcast<f32>(0x7ef311c3u - bitcast<u32>(d));
  for (var k = 0u; k < 4u; k++) {
    y = exact(y + exact(y * exact(1.0 - exact(d * y))));
  }
  return y;
}

fn exact_tanh(x: f32) -> f32 {
  let size = abs(x);
  if (size < 0.625) {
    let z = exact(x * x);
    var p = exact(z * -5.70498872745e-3) + 2.06390887954e-2;
    p = exact(z * exact(p)) - 5.37397155531e-2;
    p = exact(z * exact(p)) + 1.33314422036e-1;
    p = exact(z * exact(p)) - 3.33332819422e-1;
    return exact(exact(exact(p) * z) * x) + x;
  }
  let e = exact_exp(exact(2.0 * min(size, 10.0)));
  let y = 1.0 - exact(2.0 * exact_reciprocal(exact(e + 1.0)));
  return select(y, -y, x < 0.0);
}

fn exact_sigmoid(x: f32) -> f32 {
  let e = exact_exp(-min(abs(x), 60.0));
  let y = exact_reciprocal(exact(1.0 + e));
  return select(y, exact(e * y), x < 0.0);
}
