// LIF that may spike several times a step: v = d·v + g·x + leak; n = whole thresholds in v; then v loses
// them, or resets. Mode bit 64: v stops at -threshold. An IF has decay 1.
// coef: decay, gain, leak, threshold, 1/threshold, reset. state: v. Twin: src/layers/count.ts.
fn lif_count_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 6>>,
  mode: u32,
) -> f32 {
  let v = snap(exact(exact((*coef)[0] * (*state)[0]) + exact((*coef)[1] * x)) + (*coef)[2]);
  let n = count_spikes(v, (*coef)[3], (*coef)[4], mode);
  let after = after_count(v, n, (*coef)[3], (*coef)[5], mode);
  (*state)[0] = clamp_below(after, (*coef)[3], mode);
  return n;
}
