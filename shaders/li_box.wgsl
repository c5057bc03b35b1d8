// LI as a difference: v = v + k·((v_leak - v) + x); the membrane leaves. coef: gain k, leak v_leak.
// state: v. Twin: src/layers/box.ts.
fn li_box_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 2>>,
  mode: u32,
) -> f32 {
  let before = (*state)[0];
  let drive = exact(exact((*coef)[1] - before) + x);
  let v = snap(before + exact((*coef)[0] * drive));
  (*state)[0] = v;
  return v;
}
