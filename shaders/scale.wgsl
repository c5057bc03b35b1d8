// Scale: y = s·x. coef: scale s. Twin: src/layers/scale.ts.
fn scale_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 1>>,
  mode: u32,
) -> f32 {
  return snap((*coef)[0] * x);
}
