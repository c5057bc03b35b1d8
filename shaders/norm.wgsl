// Batch normalisation at inference: y = s·x + b, with s and b made from mean, variance, scale and bias on
// the host. coef: scale s, shift b. Twin: src/layers/norm.ts.
fn norm_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 2>>,
  mode: u32,
) -> f32 {
  return snap(exact((*coef)[0] * x) + (*coef)[1]);
}
