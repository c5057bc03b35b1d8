// How a trace learns from pre and post: one element of `hebb`, and of `eligibility` where the rule has one.
// coefs at RATES: four numbers, then modulator, fanout and shift, SIZE each; src/layers/fast_weights.ts
// says what they are by rule. Constants: RULE, RATES, SIZE. Twin: src/layers/fast_weights.ts.
fn clip_to(x: f32, most: f32) -> f32 {
  return snap(min(max(x, -most), most));
}

// hebb and eligibility after the step. `m` is the modulation, see skeleton_plastic.wgsl.
fn learn(hebb: f32, eligibility: f32, pre: f32, post: f32, m: f32, j: u32) -> vec2f {
  let r0 = coefs[RATES];
  if (RULE == 0u) { // decaying
    return vec2f(snap(exact(r0 * hebb) + exact(exact(coefs[RATES + 1u] * pre) * post)), 0.0);
  }
  if (RULE == 1u) { // Oja
    let off = exact(pre - exact(post * hebb));
    return vec2f(snap(hebb + exact(exact(r0 * post) * off)), 0.0);
  }
  if (RULE == 2u) { // modulated
    let eta = exact(exact(m * coefs[RATES + 4u + SIZE + j]) + coefs[RATES + 4u + 2u * SIZE + j]);
    return vec2f(clip_to(hebb + exact(exact(eta * pre) * post), r0), 0.0);
  }
  let trace = exact(coefs[RATES + 3u] * pre);
  return vec2f( // retroactive
    clip_to(hebb + exact(m * eligibility), r0),
    snap(exact(coefs[RATES + 2u] * eligibility) + exact(trace * post)),
  );
}
