// Rate: h = d·h + (1-d)·f(x + bias); h leaves. f is `squash`; each activation
// has its own, and the names of this file get its prefix.
// coef: decay d, gain 1-d, bias. state: h. Twin: src/layers/rate.ts.
fn rate_step(
  x: f32,
  state: ptr<function, array<f32, 1>>,
  coef: ptr<function, array<f32, 3>>,
  mode: u32,
) -> f32 {
  let drive = exact((*coef)[1] * squash(exact(x + (*coef)[2])));
  let h = snap(exact((*coef)[0] * (*state)[0]) + drive);
  (*state)[0] = h;
  return h;
}
