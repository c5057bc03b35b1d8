// Skeleton that copies a node's words of every step into the output buffer, by batch position, as they lie
// in scratch: a value each, or 32 spikes. With the last step of a row it stamps the row: generation, steps,
// slot. Grid: words, steps, rows. Constants: WORDS, TARGET, OUTPUT, STAMPS.
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= WORDS) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin + id.y;
  if (t >= min(now.end, row.steps)) {
    return;
  }
  output[row.output + OUTPUT + t * WORDS + i] =
    scratch[row.scratch + TARGET + (t - now.tile) * WORDS + i];
  if (STAMPS && i == 0u && t + 1u == row.steps) {
    output[row.output] = upload[0];
    output[row.output + 1u] = row.steps;
    output[row.output + 2u] = row.slot;
  }
}
