// ALIF: v = d·v + x; spike when v passes threshold + beta·a of the step before, unless refractory; then
// the base threshold is taken off (or the reset mode's); a = da·a + s; r counts the silent steps left:
// r = clip(r + n·s - 1, 0, n), whole numbers. coef: decay d, decay_adapt da, beta, threshold,
// refractory n. state: v, a, r. Twin: src/layers/alif.ts.
fn alif_step(
  x: f32,
  state: ptr<function, array<f32, 3>>,
  coef: ptr<function, array<f32, 5>>,
  mode: u32,
) -> f32 {
  let a = (*state)[1];
  let r = (*state)[2];
  var v = snap(exact((*coef)[0] * (*state)[0]) + x);
  let theta = exact((*coef)[2] * a) + (*coef)[3];
  let spike = fire(v, theta, mode) && !(r > 0.0);
  let s = select(0.0, 1.0, spike);
  if (spike) {
    v = after_fire(v, (*coef)[3], 0.0, mode);
  }
  let left = select(r, r + (*coef)[4], spike) - 1.0;
  (*state)[0] = v;
  (*state)[1] = snap(exact((*coef)[1] * a) + s);
  (*state)[2] = min(max(left, 0.0), (*coef)[4]);
  return s;
}
