// Delay: y(t) = x(t - steps), 0 before the start. One ring a row and node, RING_STEPS entries of SIZE
// values; only its head and fill are versioned, so entries written by a step that fails are written
// again. Constants: RING, RING_STEPS, DELAY_MAX, DELAYS, RING_FIELD. Twin: src/host/delay_line.ts.
var<private> head: u32;
var<private> filled: u32;

fn open(row: Row, i: u32) {
  head = select(state[row.old + RING_FIELD], 0u, row.fresh);
  filled = select(state[row.old + RING_FIELD + 1u], 0u, row.fresh);
}

fn advance(row: Row, i: u32, t: u32, x: f32) -> f32 {
  let base = row.slot * RING_WORDS + RING;
  let entry = (head + t) % RING_STEPS;
  rings[base + entry * SIZE + i] = bitcast<u32>(x);
  let delay = u32(coefs[DELAYS + i]);
  if (delay > filled + t) {
    return 0.0;
  }
  return bitcast<f32>(rings[base + ((entry + RING_STEPS - delay) % RING_STEPS) * SIZE + i]);
}

fn shut(row: Row, i: u32, end: u32) {
  if (i == 0u) {
    state[row.write + RING_FIELD] = (head + end) % RING_STEPS;
    state[row.write + RING_FIELD + 1u] = min(filled + end, DELAY_MAX);
  }
}
