// Cross-correlation, channels first: each output takes its taps in the order channel, row, column; taps
// outside the input are left out. Four output channels of one group a quad.
// Constants: GROUPS, IN_PER_GROUP, OUT_PER_GROUP, GROUP_QUADS, IN_H, IN_W, OUT_H, OUT_W, KERNEL_H,
// KERNEL_W, STRIDE_Y, STRIDE_X, PAD_Y, PAD_X, DILATION_Y, DILATION_X, SEGMENT_BEGIN and SEGMENT_END (in
// channels of a group). weights: [GROUPS][IN_PER_GROUP][KERNEL_H][KERNEL_W][GROUP_QUADS] vec4.
// Twin: `conv` in src/reference/gather.ts.
fn sum(quad: u32, start: vec4f) -> vec4f {
  var total = start;
  let position = quad % (OUT_H * OUT_W);
  let channels = quad / (OUT_H * OUT_W);
  let group = channels / GROUP_QUADS;
  let y0 = i32((position / OUT_W) * STRIDE_Y) - i32(PAD_Y);
  let x0 = i32((position % OUT_W) * STRIDE_X) - i32(PAD_X);
  for (var c = SEGMENT_BEGIN; c < SEGMENT_END; c++) {
    let channel = group * IN_PER_GROUP + c;
    for (var ky = 0u; ky < KERNEL_H; ky++) {
      let iy = y0 + i32(ky * DILATION_Y);
      if (iy < 0 || iy >= i32(IN_H)) {
        continue;
      }
      for (var kx = 0u; kx < KERNEL_W; kx++) {
        let ix = x0 + i32(kx * DILATION_X);
        if (ix < 0 || ix >= i32(IN_W)) {
          continue;
        }
        let x = source_value((channel * IN_H + u32(iy)) * IN_W + u32(ix));
        if (x != 0.0) {
          let tap = (channel * KERNEL_H + ky) * KERNEL_W + kx;
          total += exact4(x * weight(WEIGHTS + tap * GROUP_QUADS + channels % GROUP_QUADS));
        }
      }
    }
  }
  return total;
}

fn place(quad: u32) -> vec2u {
  let position = quad % (OUT_H * OUT_W);
  let channels = quad / (OUT_H * OUT_W);
  let first = (channels / GROUP_QUADS) * OUT_PER_GROUP + (channels % GROUP_QUADS) * 4u;
  return vec2u(first * OUT_H * OUT_W + position, OUT_H * OUT_W);
}

fn lanes(quad: u32) -> u32 {
  let channels = quad / (OUT_H * OUT_W);
  return min(4u, OUT_PER_GROUP - (channels % GROUP_QUADS) * 4u);
}

fn finish(total: vec4f, spot: vec2u, count: u32) -> vec4f {
  var y = total;
  if (HAS_BIAS) {
    for (var lane = 0u; lane < count; lane++) {
      y[lane] = exact(y[lane]) + coefs[BIAS + spot.x / (OUT_H * OUT_W) + lane];
    }
  }
  return snap4(y);
}
