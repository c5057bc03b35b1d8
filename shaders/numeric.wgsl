// Helpers that every kernel carries. `zero_word` is a uniform that holds 0: an integer operation with
// it hides a product from compilers that would contract it with the next addition into one rounding.
fn exact(x: f32) -> f32 {
  return bitcast<f32>(bitcast<u32>(x) ^ zero_word());
}

fn exact4(x: vec4f) -> vec4f {
  return bitcast<vec4f>(bitcast<vec4u>(x) ^ vec4u(zero_word()));
}

// |x| < 1e-30 becomes +0; 0x0da24260 is f32(1e-30). NaN passes.
fn snap(x: f32) -> f32 {
  let magnitude = bitcast<u32>(x) & 0x7fffffffu;
  return select(x, 0.0, magnitude < 0x0da24260u);
}

fn snap4(x: vec4f) -> vec4f {
  let magnitude = bitcast<vec4u>(x) & vec4u(0x7fffffffu);
  return select(x, vec4f(0.0), magnitude < vec4u(0x0da24260u));
}
