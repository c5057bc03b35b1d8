// Skeleton of fast weights: one invocation owns one column of the trace of one row, lets it learn and sums
// post over it. Stands in a recurrent block, so a pass is one step. Grid: outputs, 1, rows.
// Constants: SIZE, RULE, MODULATES, HEBB, ELIGIBILITY, HAS_ELIGIBILITY, WEIGHTS, ALPHA, RATES, TARGET,
// HAS_LAST, LAST. edge_0 is post, edge_1 is pre. Twin: `plastic` in src/host/gathers.ts.
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let j = id.x;
  if (j >= SIZE) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin;
  if (t >= min(now.end, row.steps)) {
    return;
  }
  var m = 0.0;
  if (MODULATES) {
    for (var i = 0u; i < SIZE; i++) {
      m += exact(edge_0(row, i, t) * coefs[RATES + 4u + i]);
    }
    m = exact_tanh(exact(exact(m) + coefs[RATES + 1u]));
  }
  let own = edge_0(row, j, t);
  var total = 0.0;
  for (var i = 0u; i < SIZE; i++) {
    let at = i * SIZE + j;
    let hebb = select(bitcast<f32>(state[row.read + HEBB + at]), 0.0, row.rest);
    var eligibility = 0.0;
    if (HAS_ELIGIBILITY) {
      eligibility = select(bitcast<f32>(state[row.read + ELIGIBILITY + at]), 0.0, row.rest);
    }
    let learned = learn(hebb, eligibility, edge_1(row, i, t), own, m, j);
    state[row.write + HEBB + at] = bitcast<u32>(learned.x);
    if (HAS_ELIGIBILITY) {
      state[row.write + ELIGIBILITY + at] = bitcast<u32>(learned.y);
    }
    let weight = exact(coefs[WEIGHTS + at] + exact(coefs[ALPHA + at] * learned.x));
    total += exact(edge_0(row, i, t) * weight);
  }
  let y = bitcast<u32>(snap(total));
  scratch[row.scratch + TARGET + (t - now.tile) * SIZE + j] = y;
  if (HAS_LAST) {
    state[row.write + LAST + j] = y;
  }
}
