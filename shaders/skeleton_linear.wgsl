// Skeleton of the linear layers (dense, conv, pool): one invocation computes four outputs of one time
// step of one row. Stateless, so every step of a pass runs at once. Grid: quads, steps, rows.
// The layer gives sum(quad, start), place(quad) = first output and stride, lanes(quad).
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  if (quad >= QUADS) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin + id.y;
  let end = min(now.end, row.steps);
  if (t >= end) {
    return;
  }
  locate_source(row, t);
  let at = row.scratch + TARGET + (t - now.tile) * SIZE;
  let spot = place(quad);
  let count = lanes(quad);
  var total = vec4f(0.0);
  if (SEGMENT_FIRST == 0u) {
    total = sum(quad, total);
  } else {
    for (var lane = 0u; lane < count; lane++) {
      total[lane] = bitcast<f32>(scratch[at + spot.x + lane * spot.y]);
    }
    total = sum(quad, total);
  }
  if (SEGMENT_LAST) {
    total = finish(total, spot, count);
  }
  for (var lane = 0u; lane < count; lane++) {
    let i = spot.x + lane * spot.y;
    scratch[at + i] = bitcast<u32>(total[lane]);
    if (HAS_LAST && SEGMENT_LAST && t + 1u == end) {
      state[row.write + LAST + i] = bitcast<u32>(total[lane]);
    }
  }
}
