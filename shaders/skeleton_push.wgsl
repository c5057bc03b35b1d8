// Skeleton that appends a node's inputs to its ring, before the kernel that reads them back by age. As in
// delay.wgsl only head and fill are versioned. Grid: inputs, steps, rows.
// Constants: INPUTS, RING, RING_STEPS, RING_WORDS, RING_FIELD, DELAY_MAX.
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= INPUTS) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin + id.y;
  let end = min(now.end, row.steps);
  if (t >= end) {
    return;
  }
  let head = select(state[row.old + RING_FIELD], 0u, row.fresh);
  let entry = (head + t) % RING_STEPS;
  rings[row.slot * RING_WORDS + RING + entry * INPUTS + i] = bitcast<u32>(fan_in(row, i, t));
  if (i == 0u && t + 1u == end) {
    let filled = select(state[row.old + RING_FIELD + 1u], 0u, row.fresh);
    state[row.write + RING_FIELD] = (head + end) % RING_STEPS;
    state[row.write + RING_FIELD + 1u] = min(filled + end, DELAY_MAX);
  }
}
