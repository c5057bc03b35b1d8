// Skeleton that copies a node's values into the output buffer, by batch position, as f32. With the last
// step of a row it stamps the row: generation, steps, slot. Grid: elements, steps, rows.
// Constants: OUTPUT, SIZE, STAMPS.
@compute @workgroup_size(WORKGROUP, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= SIZE) {
    return;
  }
  let row = load_row(id.z);
  let t = now.begin + id.y;
  if (t >= min(now.end, row.steps)) {
    return;
  }
  output[row.output + OUTPUT + t * SIZE + i] = bitcast<u32>(edge_0(row, i, t));
  if (STAMPS && i == 0u && t + 1u == row.steps) {
    output[row.output] = upload[0];
    output[row.output + 1u] = row.steps;
    output[row.output + 2u] = row.slot;
  }
}
