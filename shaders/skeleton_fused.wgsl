// Skeleton of the fused frame: what its generated main calls. One workgroup runs one row; what travels
// between layers lies in workgroup memory, a word a group of spikes or a word a value.
// Constants: HELD_WORDS, INPUT_WORDS, INPUT_BIT_WORDS.
var<workgroup> held_values: array<u32, HELD_WORDS>;

fn input_value(row: Row, t: u32, i: u32) -> f32 {
  if (row.bits) {
    let word = upload[row.input + t * INPUT_BIT_WORDS + (i >> 5u)];
    return f32((word >> (i & 31u)) & 1u);
  }
  return bitcast<f32>(upload[row.input + t * INPUT_WORDS + i]);
}

// Word w of a node's output of the step before: from the state in the first step of a pass, where words
// of fewer than 32 spikes lie side by side.
fn late_word(row: Row, t: u32, base: u32, width: u32, last: u32, spikes: u32, w: u32) -> u32 {
  if (t == now.begin) {
    let bit = w * spikes;
    let word = state[row.read + last + (bit >> 5u)] >> (bit & 31u);
    return select(word & (0xffffffffu >> (32u - spikes)), 0u, row.rest);
  }
  return held_values[base + (t - 1u - now.begin) * width + w];
}

// Four elements, `stride` words from one to the next. Some may lie behind the last element: what is read
// there is never kept.
fn state_quad(at: u32, stride: u32) -> vec4f {
  return bitcast<vec4f>(
    vec4u(state[at], state[at + stride], state[at + 2u * stride], state[at + 3u * stride]),
  );
}

fn coef_quad(at: u32, stride: u32) -> vec4f {
  return vec4f(coefs[at], coefs[at + stride], coefs[at + 2u * stride], coefs[at + 3u * stride]);
}

// Keeps the first `count` of four.
fn keep_quad(at: u32, stride: u32, y: vec4f, count: u32) {
  let word = bitcast<vec4u>(y);
  if (count > 0u) {
    state[at] = word.x;
  }
  if (count > 1u) {
    state[at + stride] = word.y;
  }
  if (count > 2u) {
    state[at + 2u * stride] = word.z;
  }
  if (count > 3u) {
    state[at + 3u * stride] = word.w;
  }
}

fn hold_quad(at: u32, stride: u32, y: vec4f, count: u32) {
  let word = bitcast<vec4u>(y);
  if (count > 0u) {
    held_values[at] = word.x;
  }
  if (count > 1u) {
    held_values[at + stride] = word.y;
  }
  if (count > 2u) {
    held_values[at + 2u * stride] = word.z;
  }
  if (count > 3u) {
    held_values[at + 3u * stride] = word.w;
  }
}

fn put_quad(at: u32, stride: u32, y: vec4f, count: u32) {
  let word = bitcast<vec4u>(y);
  if (count > 0u) {
    output[at] = word.x;
  }
  if (count > 1u) {
    output[at + stride] = word.y;
  }
  if (count > 2u) {
    output[at + 2u * stride] = word.z;
  }
  if (count > 3u) {
    output[at + 3u * stride] = word.w;
  }
}

// `width` bits of the packed model input from bit `at` on; at most 32.
fn input_bits(row: Row, t: u32, at: u32, width: u32) -> u32 {
  let word = row.input + t * INPUT_BIT_WORDS + (at >> 5u);
  let shift = at & 31u;
  var bits = upload[word] >> shift;
  bits |= select((upload[word + 1u] << (31u - shift)) << 1u, 0u, shift + width <= 32u);
  return bits & (0xffffffffu >> (32u - width));
}

fn fired(y: vec4f) -> u32 {
  let bit = select(vec4u(0u), vec4u(1u, 2u, 4u, 8u), y != vec4f(0.0));
  return bit.x | bit.y | bit.z | bit.w;
}
