// What every kernel sees: the bindings (weights: weights_*.wgsl), one row of the batch, and one pass over
// a run of time steps.
// Constants STATE_WORDS, SCRATCH_WORDS and HEADER_WORDS come from the compiler.
struct Pass {
  zero: u32, // always 0; see exact()
  begin: u32, // first step of this pass within the frame
  end: u32, // one past its last step
  tile: u32, // first step of the tile that the scratch holds
  output_words: u32, // words of output a row
}

@group(0) @binding(1) var<storage, read> coefs: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<u32>;
@group(0) @binding(3) var<storage, read_write> rings: array<u32>;
@group(0) @binding(4) var<storage, read> upload: array<u32>;
@group(0) @binding(5) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(6) var<storage, read_write> output: array<u32>;
@group(0) @binding(7) var<uniform> now: Pass;

fn zero_word() -> u32 {
  return now.zero;
}

// A row of the batch. State is versioned: a step reads one copy and writes another, so that a step
// that fails changes nothing. The first pass of a step reads the old copy, later passes the new one.
struct Row {
  steps: u32,
  rest: bool, // read rest values instead of the state
  bits: bool, // the input is packed, 32 a word
  slot: u32,
  old: u32, // first word of the copy that the step started from
  read: u32, // first word of the copy that this pass reads
  write: u32, // first word of the copy that the step writes
  input: u32, // first word of the input in `upload`
  scratch: u32,
  output: u32,
  fresh: bool, // the step starts from rest
}

fn load_row(index: u32) -> Row {
  let at = UPLOAD_HEADER_WORDS + index * UPLOAD_ROW_WORDS;
  let flags = upload[at + 2u];
  let slot = upload[at];
  let fresh = (flags & 1u) != 0u;
  let old = upload[at + 3u];
  let write = upload[at + 4u];
  let first = now.begin == 0u;
  return Row(
    upload[at + 1u],
    fresh && first,
    (flags & 2u) != 0u,
    slot,
    old,
    select(write, old, first),
    write,
    upload[at + 5u],
    index * SCRATCH_WORDS,
    index * now.output_words,
    fresh,
  );
}
