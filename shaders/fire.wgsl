// Spike and reset, shared by all spiking neurons. Mode bits: 1 fire at >=, 2 subtract the threshold,
// 4 no reset. The reset happens in the step of the spike. Twin: `fire` in src/layers/lif.ts.
fn fire(v: f32, threshold: f32, mode: u32) -> bool {
  if ((mode & 1u) != 0u) {
    return v >= threshold;
  }
  return v > threshold;
}

fn after_fire(v: f32, threshold: f32, reset: f32, mode: u32) -> f32 {
  if ((mode & 4u) != 0u) {
    return v;
  }
  if ((mode & 2u) != 0u) {
    return snap(exact(v) - threshold);
  }
  return reset;
}
