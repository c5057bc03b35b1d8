// Skeleton that keeps a node's output of this step for readers of the next one, once every node of the
// cycle has run: readers that stand behind the node must still see the step before.
// Grid: words, 1, rows. Constants: WORDS, TARGET, LAST.
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= WORDS) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin;
  if (t >= min(now.end, row.steps)) {
    return;
  }
  state[row.write + LAST + i] = scratch[row.scratch + TARGET + (t - now.tile) * WORDS + i];
}
