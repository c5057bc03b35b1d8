// Spikes and resets, shared by all spiking neurons. Mode bits: 1 fire at >=, 2 subtract the threshold,
// 4 no reset, 16 subtract the threshold in the next step. Otherwise the reset happens in the step of the
// spike. Twin: src/layers/fire.ts.
fn fire(v: f32, threshold: f32, mode: u32) -> bool {
  if ((mode & 1u) != 0u) {
    return v >= threshold;
  }
  return v > threshold;
}

fn after_fire(v: f32, threshold: f32, reset: f32, mode: u32) -> f32 {
  if ((mode & 20u) != 0u) {
    return v;
  }
  if ((mode & 2u) != 0u) {
    return snap(exact(v) - threshold);
  }
  return reset;
}

// The membrane of this step once the reset that the step before left over is done.
fn late_reset(v: f32, before: f32, threshold: f32, mode: u32) -> f32 {
  if ((mode & 16u) != 0u && fire(before, threshold, mode)) {
    return snap(exact(v) - threshold);
  }
  return v;
}

// How many whole thresholds are in v, at most 2^24: found with the reciprocal, then corrected by
// comparing whole multiples of the threshold with v, so that no driver's rounding counts.
fn count_spikes(v: f32, threshold: f32, per_threshold: f32, mode: u32) -> f32 {
  if (!fire(v, threshold, mode)) {
    return 0.0;
  }
  let guess = floor(exact(v * per_threshold));
  let n = select(16777216.0, guess, guess < 16777216.0);
  if (!fire(v, exact(n * threshold), mode)) {
    return n - 1.0;
  }
  if (n < 16777216.0 && fire(v, exact((n + 1.0) * threshold), mode)) {
    return n + 1.0;
  }
  return n;
}

fn after_count(v: f32, n: f32, threshold: f32, reset: f32, mode: u32) -> f32 {
  if (n == 0.0 || (mode & 4u) != 0u) {
    return v;
  }
  if ((mode & 2u) != 0u) {
    return snap(exact(v) - exact(n * threshold));
  }
  return reset;
}

// Mode bit 64: the membrane stops at -threshold, rounded as max(v + threshold, 0) - threshold.
fn clamp_below(v: f32, threshold: f32, mode: u32) -> f32 {
  if ((mode & 64u) == 0u) {
    return v;
  }
  let above = exact(v + threshold);
  return snap(exact(select(0.0, above, above > 0.0)) - threshold);
}
