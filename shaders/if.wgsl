// IF: v = v + g·x; spike when v passes the threshold, then reset in the same step.
// coef: gain g, threshold, reset. state: v. Twin: src/layers/integrator.ts.
fn if_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 3>>,
  mode: u32,
) -> f32 {
  var v = snap((*state)[0] + exact((*coef)[0] * x));
  let spike = fire(v, (*coef)[1], mode);
  if (spike) {
    v = after_fire(v, (*coef)[1], (*coef)[2], mode);
  }
  (*state)[0] = v;
  return select(0.0, 1.0, spike);
}
