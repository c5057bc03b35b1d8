// Threshold: 1 where x passes the threshold, else 0. coef: threshold. Mode bit 1: fire at >=.
// Twin: src/layers/threshold.ts.
fn threshold_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 1>>,
  mode: u32,
) -> f32 {
  return select(0.0, 1.0, fire(x, (*coef)[0], mode));
}
