/**
 * The vector kernels of the linear layers, as WebAssembly: four neurons an instruction, never four
 * inputs, so that each output takes its additions in the reference's order. All arguments are byte
 * addresses or counts.
 */
import { SNAP_BELOW_F32 } from "../base/numeric.ts";
import type { DenseOp } from "../model/plan.ts";
import {
  advance,
  atLeastOnce,
  type Code,
  copy,
  count,
  FunctionWriter,
  int,
  type Local,
  repeat,
  set,
  vec,
  when,
  type Written,
} from "../base/wasm_writer.ts";

/** A function of these kernels in the making, whatever its parameters. */
type Writer = Pick<FunctionWriter<never>, "constant" | "int">;

/** |x| < 1e-30 → +0. */
export const snap = (f: Writer, x: Local): Code =>
  vec.andNot(x.get, vec.less(vec.abs(x.get), f.constant(SNAP_BELOW_F32)));

/** Places that are written at once: a list has room for so many behind its last. */
export const PLACES_AHEAD = 4;

/**
 * Appends the places of the set bits of `bits`, counted from `base`, to the list at `out`. It writes
 * four at a time, whether there are so many or not: a branch for each bit would be guessed wrongly.
 */
export function appendEvents(f: Writer, bits: Local, base: Code, out: Local): Code {
  const end = f.int();
  const four = Array.from({ length: PLACES_AHEAD }, (_, k) => [
    ...int.store(out.get, int.add(base, int.trailingZeros(bits.get)), 4 * k),
    ...set(bits, int.and(bits.get, int.sub(bits.get, int.of(1)))),
  ]);
  return [
    ...set(end, int.add(out.get, int.shiftLeft(int.ones(bits.get), int.of(2)))),
    ...atLeastOnce([...four.flat(), ...advance(out, int.of(4 * PLACES_AHEAD))], bits.get),
    ...set(out, end.get),
  ];
}

/** Entries written since `out` began at `begin`. */
export const entries = (out: Local, begin: Local): Code =>
  int.divide(int.sub(out.get, begin.get), int.of(4));

/** What is not zero among `size` values; the list's length, negative when some value is not 1. */
export function writeFind(): Written {
  const f = new FunctionWriter(["values", "size", "events"]);
  const { values, size, events } = f.arg;
  const [i, at, bits, out] = [f.int(), f.int(), f.int(), f.int()];
  const quads = [f.vec(), f.vec(), f.vec(), f.vec()];
  const others = f.vec();
  const whole = int.and(size.get, int.of(-16));
  const [zero, one] = [f.constant(0), f.constant(1)];
  const isSet = (quad: Local): Code => vec.notEqual(quad.get, zero);
  const note = (quad: Local): Code =>
    set(others, vec.or(others.get, vec.and(isSet(quad), vec.notEqual(quad.get, one))));
  const [a, b, c, d] = quads as [Local, Local, Local, Local];
  const body: Code = [
    ...set(out, events.get),
    ...set(at, values.get),
    ...count(i, int.of(0), whole, 16, [
      ...quads.flatMap((quad, k) => set(quad, vec.load(at.get, 16 * k))),
      ...set(bits, vec.bits16(isSet(a), isSet(b), isSet(c), isSet(d))),
      ...quads.flatMap(note),
      ...appendEvents(f, bits, i.get, out),
      ...advance(at, int.of(64)),
    ]),
    // The rest one by one: what lies behind the values is not theirs.
    ...count(i, whole, size.get, 1, [
      ...set(a, vec.loadSplat(at.get)),
      ...set(bits, int.and(vec.bits(isSet(a)), int.of(1))),
      ...when(bits.get, [...note(a), ...appendEvents(f, bits, i.get, out)]),
      ...advance(at, int.of(4)),
    ]),
  ];
  const length = entries(out, events);
  return f.end("find", body, int.or(length, int.shiftLeft(vec.any(others.get), int.of(31))));
}

/** The set bits of `size` words, as a list; its length. */
export function writeFindBits(): Written {
  const f = new FunctionWriter(["words", "size", "events"]);
  const { words, size, events } = f.arg;
  const [i, at, bits, out] = [f.int(), f.int(), f.int(), f.int()];
  const body: Code = [
    ...set(out, events.get),
    ...set(at, words.get),
    ...count(i, int.of(0), size.get, 1, [
      ...set(bits, int.load(at.get)),
      ...appendEvents(f, bits, int.shiftLeft(i.get, int.of(5)), out),
      ...advance(at, int.of(4)),
    ]),
  ];
  return f.end("findBits", body, entries(out, events));
}

/** Fours of outputs that a pass over the events sums in registers; a pass of each width as often as it fits. */
const WIDTHS = [8, 4, 1] as const;

/**
 * Weights as the dense kernel reads them. The outputs of a pass lie together, [passes][inputs][outputs of
 * the pass], so that a pass stays in few cache lines and pages; outputs are filled up to whole fours.
 */
export function packDense({ inputs, outputs, weights }: DenseOp): Float32Array {
  const fours = Math.ceil(outputs / 4);
  const packed = new Float32Array(inputs * fours * 4);
  let to = 0;
  for (let begin = 0; begin < fours;) {
    const width = WIDTHS.find((each) => begin + each <= fours)!;
    const end = Math.min(outputs, (begin + width) * 4);
    for (let j = 0; j < inputs; j++) {
      packed.set(weights.subarray(j * outputs + begin * 4, j * outputs + end), to);
      to += width * 4;
    }
    begin += width;
  }
  return packed;
}

/**
 * y = Σ w[event] (+ bias), over `size` fours of outputs. `isReal`: each weight is first multiplied by its
 * input, from `x`.
 */
export function writeDense(name: string, isReal: boolean): Written {
  const f = new FunctionWriter([
    "weights",
    "inputs",
    "events",
    "length",
    "x",
    "y",
    "bias",
    "size",
  ]);
  const { weights, inputs, events, length, x, y, bias, size } = f.arg;
  const [i, at, end, row, from, index] = [f.int(), f.int(), f.int(), f.int(), f.int(), f.int()];
  const sums = Array.from({ length: WIDTHS[0] }, () => f.vec());
  const value = f.vec();
  const pass = (width: number): Code => {
    const used = sums.slice(0, width);
    const term = (k: number): Code =>
      isReal ? vec.mul(value.get, vec.load(row.get, 16 * k)) : vec.load(row.get, 16 * k);
    return repeat(int.less(int.add(i.get, int.of(width - 1)), size.get), [
      ...used.flatMap((sum) => set(sum, f.constant(0))),
      ...set(from, int.add(weights.get, int.mul(int.shiftLeft(i.get, int.of(4)), inputs.get))),
      ...count(at, events.get, end.get, 4, [
        ...set(index, int.load(at.get)),
        ...set(row, int.add(from.get, int.mul(index.get, int.of(width * 16)))),
        ...(isReal
          ? set(value, vec.loadSplat(int.add(x.get, int.shiftLeft(index.get, int.of(2)))))
          : []),
        ...used.flatMap((sum, k) => set(sum, vec.add(sum.get, term(k)))),
      ]),
      ...when(bias.get, [
        ...set(row, int.add(bias.get, int.shiftLeft(i.get, int.of(4)))),
        ...used.flatMap((sum, k) => set(sum, vec.add(sum.get, vec.load(row.get, 16 * k)))),
      ]),
      ...set(row, int.add(y.get, int.shiftLeft(i.get, int.of(4)))),
      ...used.flatMap((sum, k) => vec.store(row.get, snap(f, sum), 16 * k)),
      ...advance(i, int.of(width)),
    ]);
  };
  const body: Code = [
    ...set(end, int.add(events.get, int.shiftLeft(length.get, int.of(2)))),
    ...set(i, int.of(0)),
    ...WIDTHS.flatMap(pass),
  ];
  return f.end(name, body, int.of(0));
}

/** y = a + b over `size` fours. */
export function writeAdd(): Written {
  const f = new FunctionWriter(["a", "b", "y", "size"]);
  const { a, b, y, size } = f.arg;
  const [at, end] = [f.int(), f.int()];
  const load = (array: Local): Code => vec.load(int.add(array.get, at.get));
  const body: Code = [
    ...set(end, int.shiftLeft(size.get, int.of(4))),
    ...count(at, int.of(0), end.get, 16, [
      ...vec.store(int.add(y.get, at.get), vec.add(load(a), load(b))),
    ]),
  ];
  return f.end("add", body, int.of(0));
}

export function writeCopy(): Written {
  const f = new FunctionWriter(["from", "to", "bytes"]);
  const { from, to, bytes } = f.arg;
  return f.end("copy", copy(to.get, from.get, bytes.get), int.of(0));
}
