// The sum of the incoming edges leaves unchanged. Twin: src/layers/identity.ts.
fn identity_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 1>>,
  mode: u32,
) -> f32 {
  return snap(x);
}
