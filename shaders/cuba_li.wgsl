// CubaLI: i = a·i + (1-a)·w_in·x; v = b·v + (1-b)·r·i + (1-b)·v_leak; the membrane leaves.
// Mode bit 8: the membrane sees the current of the step before; 32: i = a·(i + gain_syn·x).
// coef: decay_syn, gain_syn, decay, gain, leak. state: i, v. Twin: src/layers/cuba.ts.
fn cuba_li_step(
  x: f32,
  state: ptr<function, array<f32, 2>>,
  coef: ptr<function, array<f32, 5>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  let jump = exact((*coef)[1] * x);
  let joined = exact((*coef)[0] * exact(before + jump));
  let i = snap(select(exact((*coef)[0] * before) + jump, joined, (mode & 32u) != 0u));
  let drive = select(i, before, (mode & 8u) != 0u);
  let v = snap(exact(exact((*coef)[2] * (*state)[1]) + exact((*coef)[3] * drive)) + (*coef)[4]);
  (*state)[0] = i;
  (*state)[1] = v;
  return v;
}
