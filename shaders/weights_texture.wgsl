// Weights from a texture, four a texel, rows of 2^WEIGHT_SHIFT. The same bits as from the buffer; some
// drivers read texels faster than buffers.
@group(0) @binding(8) var weight_texels: texture_storage_2d<rgba32float, read>;

fn weight(at: u32) -> vec4f {
  return textureLoad(weight_texels, vec2u(at & ((1u << WEIGHT_SHIFT) - 1u), at >> WEIGHT_SHIFT));
}
