// Skeleton of the elementwise layers: one invocation carries ELEMENTS neighbouring elements of one row
// through all steps of a pass, their state in registers. Spikes leave packed, 32 a word, so an
// invocation owns whole words and nothing is atomic. Grid: groups of ELEMENTS, 1, rows.
// The compiler gives fan_in(row, i, t), open(row, i), advance(row, i, t, x), shut(row, i).
var<private> words: array<u32, TILE_STEPS>;

@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let group = id.x;
  if (group >= GROUPS) {
    return;
  }
  let row = load_row(id.z);
  let end = min(now.end, row.steps);
  if (now.begin >= end) {
    return;
  }
  for (var t = now.begin; t < end; t++) {
    words[t - now.begin] = 0u;
  }
  let last = min(ELEMENTS, SIZE - group * ELEMENTS);
  for (var k = 0u; k < last; k++) {
    let i = group * ELEMENTS + k;
    open(row, i);
    for (var t = now.begin; t < end; t++) {
      let y = advance(row, i, t, fan_in(row, i, t));
      if (EMITS_BITS) {
        words[t - now.begin] |= select(0u, 1u << k, y != 0.0);
      } else {
        scratch[row.scratch + TARGET + (t - now.tile) * SIZE + i] = bitcast<u32>(y);
        if (HAS_LAST && t + 1u == end) {
          state[row.write + LAST + i] = bitcast<u32>(y);
        }
      }
    }
    shut(row, i, end);
  }
  if (EMITS_BITS) {
    for (var t = now.begin; t < end; t++) {
      scratch[row.scratch + TARGET + (t - now.tile) * SIZE_WORDS + group] = words[t - now.begin];
    }
    if (HAS_LAST) {
      state[row.write + LAST + group] = words[end - 1u - now.begin];
    }
  }
}
