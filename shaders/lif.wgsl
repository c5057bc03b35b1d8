// LIF: v = d·v + k·r·x + k·v_leak; spike when v passes the threshold, then reset in the same step.
// coef: decay d, gain k·r, leak k·v_leak, threshold, reset. state: v. Twin: src/layers/lif.ts.
fn lif_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 5>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  var v = snap(exact(exact((*coef)[0] * before) + exact((*coef)[1] * x)) + (*coef)[2]);
  v = late_reset(v, before, (*coef)[3], mode);
  let spike = fire(v, (*coef)[3], mode);
  if (spike) {
    v = after_fire(v, (*coef)[3], (*coef)[4], mode);
  }
  (*state)[0] = v;
  return select(0.0, 1.0, spike);
}
