// The largest value of a window; positions outside the input do not count, so a border needs no
// infinity. Constants: IN_H, IN_W, OUT_H, OUT_W, KERNEL_H, KERNEL_W, STRIDE_Y, STRIDE_X, PAD_Y, PAD_X.
// Twin: `maxPool` in src/host/gathers.ts.
fn sum(quad: u32, start: vec4f) -> vec4f {
  var total = start;
  let count = lanes(quad);
  for (var lane = 0u; lane < count; lane++) {
    let index = quad * 4u + lane;
    let channel = index / (OUT_H * OUT_W);
    let position = index % (OUT_H * OUT_W);
    let y0 = i32((position / OUT_W) * STRIDE_Y) - i32(PAD_Y);
    let x0 = i32((position % OUT_W) * STRIDE_X) - i32(PAD_X);
    var found = false;
    var most = 0.0;
    for (var ky = 0u; ky < KERNEL_H; ky++) {
      let iy = y0 + i32(ky);
      if (iy < 0 || iy >= i32(IN_H)) {
        continue;
      }
      for (var kx = 0u; kx < KERNEL_W; kx++) {
        let ix = x0 + i32(kx);
        if (ix >= 0 && ix < i32(IN_W)) {
          let x = source_value((channel * IN_H + u32(iy)) * IN_W + u32(ix));
          if (!found || x > most) {
            most = x;
          }
          found = true;
        }
      }
    }
    total[lane] = most;
  }
  return total;
}

fn place(quad: u32) -> vec2u {
  return vec2u(quad * 4u, 1u);
}

fn lanes(quad: u32) -> u32 {
  return min(4u, SIZE - quad * 4u);
}

fn finish(total: vec4f, spot: vec2u, count: u32) -> vec4f {
  return snap4(total);
}
