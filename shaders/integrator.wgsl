// I: v = v + g·x; the membrane leaves. coef: gain g. state: v. Twin: src/layers/integrator.ts.
fn integrator_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 1>>,
  mode: u32,
) -> f32 {
  let v = snap((*state)[0] + exact((*coef)[0] * x));
  (*state)[0] = v;
  return v;
}
