// IF: v = v + g·x; spike when v passes the threshold, then reset in the same step.
// Mode bit 64: v stops at -threshold. coef: gain g, threshold, reset. state: v.
// Twin: src/layers/integrator.ts.
fn if_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 3>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  var v = snap(before + exact((*coef)[0] * x));
  v = late_reset(v, before, (*coef)[1], mode);
  let spike = fire(v, (*coef)[1], mode);
  if (spike) {
    v = after_fire(v, (*coef)[1], (*coef)[2], mode);
  }
  (*state)[0] = clamp_below(v, (*coef)[1], mode);
  return select(0.0, 1.0, spike);
}
