// LIF as a difference: v = v + k·((x + v_leak) - v); spike when v passes the threshold, then reset.
// coef: gain k, leak v_leak, threshold, reset. state: v. Twin: src/layers/box.ts.
fn lif_box_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 4>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  let drive = exact(exact(x + (*coef)[1]) - before);
  var v = snap(before + exact((*coef)[0] * drive));
  v = late_reset(v, before, (*coef)[2], mode);
  let spike = fire(v, (*coef)[2], mode);
  if (spike) {
    v = after_fire(v, (*coef)[2], (*coef)[3], mode);
  }
  (*state)[0] = v;
  return select(0.0, 1.0, spike);
}
