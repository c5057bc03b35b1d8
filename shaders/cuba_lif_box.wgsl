// CubaLIF of two boxes: i = i + ks·((v_leak - i) + w_in·x); v = v + k·((r·i + v_leak) - v); spike when v
// passes the threshold, then reset. Mode bit 8: the membrane sees the current of the step before.
// coef: gain_syn ks, w_in, gain k, r, leak v_leak, threshold, reset. state: i, v. Twin: src/layers/box.ts.
fn cuba_lif_box_step(
  x: f32,
  state: ptr<function, array<f32, 2>>,
  coef: ptr<function, array<f32, 7>>,
  mode: u32,
) -> f32 {
  let old = (*state)[0];
  let before = (*state)[1];
  let jump = exact(exact((*coef)[4] - old) + exact((*coef)[1] * x));
  let i = snap(old + exact((*coef)[0] * jump));
  let current = exact((*coef)[3] * select(i, old, (mode & 8u) != 0u));
  let drive = exact(exact(current + (*coef)[4]) - before);
  var v = snap(before + exact((*coef)[2] * drive));
  v = late_reset(v, before, (*coef)[5], mode);
  let spike = fire(v, (*coef)[5], mode);
  if (spike) {
    v = after_fire(v, (*coef)[5], (*coef)[6], mode);
  }
  (*state)[0] = i;
  (*state)[1] = v;
  return select(0.0, 1.0, spike);
}
