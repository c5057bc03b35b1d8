// CubaLIF: i = a·i + (1-a)·w_in·x; v = b·v + (1-b)·r·i + (1-b)·v_leak; spike when v passes the
// threshold, then reset in the same step. Mode bit 8: the membrane sees the current of the step before;
// 32: i = a·(i + gain_syn·x).
// coef: decay_syn, gain_syn, decay, gain, leak, threshold, reset. state: i, v. Twin: src/layers/cuba.ts.
fn cuba_lif_step(
  x: f32,
  state: ptr<function, array<f32, 2>>,
  coef: ptr<function, array<f32, 7>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  let jump = exact((*coef)[1] * x);
  let joined = exact((*coef)[0] * exact(before + jump));
  let i = snap(select(exact((*coef)[0] * before) + jump, joined, (mode & 32u) != 0u));
  let drive = select(i, before, (mode & 8u) != 0u);
  let old = (*state)[1];
  var v = snap(exact(exact((*coef)[2] * old) + exact((*coef)[3] * drive)) + (*coef)[4]);
  v = late_reset(v, old, (*coef)[5], mode);
  let spike = fire(v, (*coef)[5], mode);
  if (spike) {
    v = after_fire(v, (*coef)[5], (*coef)[6], mode);
  }
  (*state)[0] = i;
  (*state)[1] = v;
  return select(0.0, 1.0, spike);
}
