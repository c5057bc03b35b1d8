// CubaLIF that may spike several times a step: current and membrane as in cuba_lif; n = whole thresholds
// in v; then v loses them, or resets. Mode bits 8 and 32 as there.
// coef: decay_syn, gain_syn, decay, gain, leak, threshold, 1/threshold, reset. state: i, v.
// Twin: src/layers/count.ts.
fn cuba_lif_count_step(
  x: f32,
  state: ptr<function, array<f32, 2>>,
  coef: ptr<function, array<f32, 8>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  let jump = exact((*coef)[1] * x);
  let joined = exact((*coef)[0] * exact(before + jump));
  let i = snap(select(exact((*coef)[0] * before) + jump, joined, (mode & 32u) != 0u));
  let drive = select(i, before, (mode & 8u) != 0u);
  let v = snap(exact(exact((*coef)[2] * (*state)[1]) + exact((*coef)[3] * drive)) + (*coef)[4]);
  let n = count_spikes(v, (*coef)[5], (*coef)[6], mode);
  (*state)[0] = i;
  (*state)[1] = after_count(v, n, (*coef)[5], (*coef)[7], mode);
  return n;
}
