/**
 * Frames of spikes given as f32, turned into bits. Every value that comes in passes here, so it is
 * done in WebAssembly vectors where the runtime has them, else in a plain loop.
 */
import { wordsOf } from "./numeric.ts";
import {
  advance,
  type Code,
  count,
  FunctionWriter,
  int,
  type Local,
  set,
  vec,
  when,
  writeModule,
  type Written,
} from "./wasm_writer.ts";

/** The bits of f32 1; bit 29 tells it from 0. */
const ONE = 0x3f800000;
/** Values and words that are packed at once, few enough for a cache; a longer step is packed plainly. */
const PART = 1 << 15;
const PAGES = 2 * PART * 4 / (1 << 16);

/** Steps of `size` values as bits; null unless every value is +0 or 1. */
export function packSpikes(values: Float32Array, size: number): Uint32Array<ArrayBuffer> | null {
  if (packer === undefined) packer = openPacker();
  return packer === null || size > PART ? packPlainly(values, size) : packer(values, size);
}

type Packer = (values: Float32Array, size: number) => Uint32Array<ArrayBuffer> | null;

/** Null: this runtime has no vectors, or makes no code from bytes. */
let packer: Packer | null | undefined;

function openPacker(): Packer | null {
  const memory = new WebAssembly.Memory({ initial: PAGES, maximum: PAGES });
  let pack: (steps: number, size: number) => number;
  try {
    const bytes = writeModule([writePack()], { pages: PAGES, shared: false });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
    pack = instance.exports["pack"] as typeof pack;
  } catch {
    return null;
  }
  const floats = new Float32Array(memory.buffer, 0, PART);
  const bits = new Uint32Array(memory.buffer, PART * 4, PART);
  return (values, size) => {
    const words = wordsOf(size);
    const packed = new Uint32Array(values.length / size * words);
    const most = Math.floor(PART / size);
    for (let step = 0; step * size < values.length; step += most) {
      const part = values.subarray(step * size, (step + most) * size);
      floats.set(part);
      const steps = part.length / size;
      if (pack(steps, size) !== 0) return null;
      packed.set(bits.subarray(0, steps * words), step * words);
    }
    return packed;
  };
}

/** `(steps, size)`: not 0 where some value is neither +0 nor 1. */
function writePack(): Written {
  const f = new FunctionWriter(["steps", "size"]);
  const { steps, size } = f.arg;
  const [t, i, from, to, word, rest] = [f.int(), f.int(), f.int(), f.int(), f.int(), f.int()];
  const [value, stray] = [f.int(), f.int()];
  const strays = f.vec();
  const masks = Array.from({ length: 8 }, () => f.vec());
  const quad = f.vec();
  const isOne = (mask: Local, k: number): Code => [
    ...set(quad, vec.load(from.get, 16 * k)),
    ...set(mask, vec.equal(quad.get, f.constant(1))),
    ...set(strays, vec.or(strays.get, vec.andNot(quad.get, mask.get))),
  ];
  const half = (k: number): Code =>
    vec.bits16(masks[k]!.get, masks[k + 1]!.get, masks[k + 2]!.get, masks[k + 3]!.get);
  const add = (bits: Code): Code => set(word, int.or(word.get, int.shiftLeft(bits, i.get)));
  const sign = int.shiftRight(value.get, int.of(29));
  const expected = int.and(int.sub(int.of(0), sign), int.of(ONE));
  const give = [...int.store(to.get, word.get), ...advance(to, int.of(4))];
  const step: Code = [
    ...count(i, int.of(0), int.and(size.get, int.of(-32)), 32, [
      ...masks.flatMap(isOne),
      ...set(word, int.or(half(0), int.shiftLeft(half(4), int.of(16)))),
      ...give,
      ...advance(from, int.of(128)),
    ]),
    ...when(rest.get, [
      ...set(word, int.of(0)),
      ...count(i, int.of(0), int.and(rest.get, int.of(-4)), 4, [
        ...isOne(masks[0]!, 0),
        ...add(vec.bits(masks[0]!.get)),
        ...advance(from, int.of(16)),
      ]),
      ...count(i, i.get, rest.get, 1, [
        ...set(value, int.load(from.get)),
        ...set(stray, int.or(stray.get, int.xor(value.get, expected))),
        ...add(sign),
        ...advance(from, int.of(4)),
      ]),
      ...give,
    ]),
  ];
  const body: Code = [
    ...set(from, int.of(0)),
    ...set(to, int.of(PART * 4)),
    ...set(rest, int.and(size.get, int.of(31))),
    ...count(t, int.of(0), steps.get, 1, step),
  ];
  return f.end("pack", body, int.or(stray.get, vec.any(strays.get)));
}

/** The same in a plain loop. */
export function packPlainly(values: Float32Array, size: number): Uint32Array<ArrayBuffer> | null {
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  const words = wordsOf(size);
  const packed = new Uint32Array(values.length / size * words);
  for (let begin = 0, to = 0; begin < bits.length; begin += size, to += words) {
    for (let i = 0; i < size; i++) {
      const word = bits[begin + i]!;
      if (word === 0) continue;
      if (word !== ONE) return null;
      packed[to + (i >>> 5)]! |= 1 << (i & 31);
    }
  }
  return packed;
}
