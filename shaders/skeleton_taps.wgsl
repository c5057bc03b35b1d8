// Skeleton of synapses with delays of their own: one invocation sums one output of one time step over its
// synapses, in their order, from the ring. Grid: outputs, steps, rows.
// Constants: INPUTS, SIZE, RING, RING_STEPS, RING_WORDS, RING_FIELD, STARTS, SYNAPSES, HAS_BIAS, BIAS,
// TARGET, HAS_LAST, LAST. Twin: `taps` in src/host/gathers.ts.
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let j = id.x;
  if (j >= SIZE) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin + id.y;
  let end = min(now.end, row.steps);
  if (t >= end) {
    return;
  }
  let head = select(state[row.old + RING_FIELD], 0u, row.fresh);
  let filled = select(state[row.old + RING_FIELD + 1u], 0u, row.fresh);
  let base = row.slot * RING_WORDS + RING;
  let until = u32(coefs[STARTS + j + 1u]);
  var total = 0.0;
  for (var k = u32(coefs[STARTS + j]); k < until; k++) {
    let delay = u32(coefs[SYNAPSES + 3u * k + 1u]);
    if (delay <= filled + t) {
      let entry = (head + t + RING_STEPS - delay) % RING_STEPS;
      let x = bitcast<f32>(rings[base + entry * INPUTS + u32(coefs[SYNAPSES + 3u * k])]);
      total += exact(x * coefs[SYNAPSES + 3u * k + 2u]);
    }
  }
  if (HAS_BIAS) {
    total = exact(total) + coefs[BIAS + j];
  }
  let y = bitcast<u32>(snap(total));
  scratch[row.scratch + TARGET + (t - now.tile) * SIZE + j] = y;
  if (HAS_LAST && t + 1u == end) {
    state[row.write + LAST + j] = y;
  }
}
