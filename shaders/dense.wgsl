// y = W x: the accumulator starts at +0 and takes the inputs in ascending order, one rounding a product
// and an addition. Spikes add their weight; other values add a guarded product; zeros add nothing.
// Constants: BLOCKS, INPUTS, OUTPUTS, BLOCK_QUADS, SEGMENT_BEGIN and SEGMENT_END (in words of 32
// inputs). weights: [BLOCKS][INPUTS][BLOCK_QUADS] vec4. Twin: `dense` in src/reference/gather.ts.
fn sum(quad: u32, start: vec4f) -> vec4f {
  var total = start;
  let block = quad / BLOCK_QUADS;
  let base = block * INPUTS * BLOCK_QUADS + quad % BLOCK_QUADS;
  if (BLOCKS == 1u && source_is_bits()) {
    for (var k = SEGMENT_BEGIN; k < SEGMENT_END; k++) {
      var word = source_word(k);
      while (word != 0u) {
        let input = k * 32u + firstTrailingBit(word);
        total += weight(WEIGHTS + base + input * BLOCK_QUADS);
        word &= word - 1u;
      }
    }
    return total;
  }
  let end = min(SEGMENT_END * 32u, INPUTS);
  for (var input = SEGMENT_BEGIN * 32u; input < end; input++) {
    let x = source_value(block * INPUTS + input);
    if (x != 0.0) {
      total += exact4(x * weight(WEIGHTS + base + input * BLOCK_QUADS));
    }
  }
  return total;
}

fn place(quad: u32) -> vec2u {
  return vec2u((quad / BLOCK_QUADS) * OUTPUTS + (quad % BLOCK_QUADS) * 4u, 1u);
}

fn lanes(quad: u32) -> u32 {
  return min(4u, OUTPUTS - (quad % BLOCK_QUADS) * 4u);
}

fn finish(total: vec4f, spot: vec2u, count: u32) -> vec4f {
  var y = total;
  if (HAS_BIAS) {
    for (var lane = 0u; lane < count; lane++) {
      y[lane] = exact(y[lane]) + coefs[BIAS + spot.x + lane];
    }
  }
  return snap4(y);
}
