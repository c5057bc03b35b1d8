// LI: v = d·v + k·r·x + k·v_leak; the membrane leaves. coef: decay, gain, leak. state: v.
// Twin: src/layers/lif.ts.
fn li_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 3>>,
  mode: u32,
) -> f32 {
  let v = snap(exact(exact((*coef)[0] * (*state)[0]) + exact((*coef)[1] * x)) + (*coef)[2]);
  (*state)[0] = v;
  return v;
}
