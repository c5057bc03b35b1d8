// Weights from a storage buffer, four at a time.
@group(0) @binding(0) var<storage, read> weights: array<vec4f>;

fn weight(at: u32) -> vec4f {
  return weights[at];
}
