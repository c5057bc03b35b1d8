/**
 * The vector kernel of one convolution: every event adds its taps to the sums, four output channels an
 * instruction; then sums become values, channels first. Sizes are constants of the code; which taps an
 * input reaches along each axis stands in tables.
 */
import type { ConvOp } from "../model/plan.ts";
import { snap } from "./vector_code.ts";
import {
  advance,
  clear,
  type Code,
  count,
  FunctionWriter,
  int,
  type Local,
  set,
  vec,
  type Written,
} from "../base/wasm_writer.ts";

/** Output channels of a group, in whole fours. */
export function paddedChannels(op: ConvOp): number {
  return Math.ceil(op.outChannels / op.groups / 4) * 4;
}

/** Floats of the sums: [positions][groups][padded channels]. */
export function sumsSize(op: ConvOp): number {
  return op.outSize[0] * op.outSize[1] * op.groups * paddedChannels(op);
}

/** Floats of what `packConv` gives. */
export function packedConvSize(op: ConvOp): number {
  const taps = op.inChannels * op.kernel[0] * op.kernel[1];
  return (taps + op.groups) * paddedChannels(op);
}

/** Words of what `tapTables` gives. */
export function tapTablesSize({ inSize, kernel }: ConvOp): number {
  return inSize[0] * entryWords(kernel[0]) + inSize[1] * entryWords(kernel[1]);
}

/**
 * Weights with padded channels: [inChannels][kernel y][kernel x][padded channels]; then the biases,
 * [groups][padded channels], zero where there are none.
 */
export function packConv(op: ConvOp): Float32Array {
  const { weights, bias, groups } = op;
  const channels = op.outChannels / groups;
  const padded = paddedChannels(op);
  const taps = weights.length / channels;
  const packed = new Float32Array(packedConvSize(op));
  for (let tap = 0; tap < taps; tap++) {
    packed.set(weights.subarray(tap * channels, (tap + 1) * channels), tap * padded);
  }
  for (let group = 0; bias !== null && group < groups; group++) {
    const own = bias.subarray(group * channels, (group + 1) * channels);
    packed.set(own, (taps + group) * padded);
  }
  return packed;
}

/** Words an input coordinate takes in its axis' table: a count, then (sum offset, weight offset)s. */
const entryWords = (kernel: number): number => 1 + 2 * kernel;

/** For each row, then for each column of the input: the taps it reaches, as byte offsets. */
export function tapTables(op: ConvOp): Int32Array {
  const rowBytes = op.outSize[1] * op.groups * paddedChannels(op) * 4;
  const tapBytes = paddedChannels(op) * 4;
  return Int32Array.from([
    ...axisTable(op, 0, rowBytes, op.kernel[1] * tapBytes),
    ...axisTable(op, 1, op.groups * tapBytes, tapBytes),
  ]);
}

function axisTable(op: ConvOp, axis: 0 | 1, sumBytes: number, tapBytes: number): number[] {
  const kernel = op.kernel[axis];
  const table: number[] = [];
  for (let i = 0; i < op.inSize[axis]; i++) {
    const entry: number[] = [];
    for (let k = 0; k < kernel; k++) {
      const out = (i + op.pad[axis] - k * op.dilation[axis]) / op.stride[axis];
      if (out < 0 || out >= op.outSize[axis] || !Number.isInteger(out)) continue;
      entry.push(out * sumBytes, k * tapBytes);
    }
    table.push(entry.length / 2, ...entry);
    for (let k = entry.length; k < 2 * kernel; k++) table.push(0);
  }
  return table;
}

/** `(x, events, length, sums, weights, tables, y)`. */
export function writeConv(name: string, op: ConvOp): Written {
  const f = new FunctionWriter(["x", "events", "length", "sums", "weights", "tables", "y"]);
  const body = [...scatter(f, op), ...finish(f, op)];
  return f.end(name, body, int.of(0));
}

type Writer = FunctionWriter<"x" | "events" | "length" | "sums" | "weights" | "tables" | "y">;

function scatter(f: Writer, op: ConvOp): Code {
  const { x, events, length, sums, weights, tables } = f.arg;
  const padded = paddedChannels(op);
  const [height, width] = op.inSize;
  const [kernelHeight, kernelWidth] = op.kernel;
  const perGroup = op.inChannels / op.groups;
  const [at, end, index, channel] = [f.int(), f.int(), f.int(), f.int()];
  const [to, from] = [f.int(), f.int()];
  const value = f.vec();
  const columns = height * entryWords(kernelHeight) * 4;
  /** Goes through an entry of a table, with the places it leads to. */
  const taps = (entry: Code, at: Places, inner: (to: Code, from: Code) => Code): Code => {
    const [p, last, nextTo, nextFrom] = [f.int(), f.int(), f.int(), f.int()];
    return [
      ...set(p, entry),
      ...set(last, int.add(p.get, int.shiftLeft(int.load(p.get), int.of(3)))),
      ...count(p, p.get, last.get, 8, [
        ...set(nextTo, int.add(at.to, int.load(p.get, 4))),
        ...set(nextFrom, int.add(at.from, int.load(p.get, 8))),
        ...inner(nextTo.get, nextFrom.get),
      ]),
    ];
  };
  const v = f.int();
  const sum = (to: Code, from: Code): Code =>
    vec.store(to, vec.add(vec.load(to), vec.mul(value.get, vec.load(from))));
  const addTap = (to: Code, from: Code): Code =>
    padded === 4
      ? sum(to, from)
      : count(v, int.of(0), int.of(padded * 4), 16, sum(int.add(to, v.get), int.add(from, v.get)));
  const entry = (base: number, i: Code, kernel: number): Code =>
    int.add(tables.get, int.add(int.of(base), int.mul(i, int.of(entryWords(kernel) * 4))));
  return [
    ...clear(sums.get, sumsSize(op) * 4),
    ...set(end, int.add(events.get, int.shiftLeft(length.get, int.of(2)))),
    ...count(at, events.get, end.get, 4, [
      ...set(index, int.load(at.get)),
      ...set(value, vec.loadSplat(int.add(x.get, int.shiftLeft(index.get, int.of(2))))),
      ...set(channel, int.divide(index.get, int.of(height * width))),
      ...set(index, int.sub(index.get, int.mul(channel.get, int.of(height * width)))),
      ...set(
        from,
        int.add(
          weights.get,
          int.mul(channel.get, int.of(kernelHeight * kernelWidth * padded * 4)),
        ),
      ),
      ...set(
        to,
        op.groups === 1 ? sums.get : int.add(
          sums.get,
          int.mul(int.divide(channel.get, int.of(perGroup)), int.of(padded * 4)),
        ),
      ),
      ...taps(
        entry(0, int.divide(index.get, int.of(width)), kernelHeight),
        { to: to.get, from: from.get },
        (to, from) =>
          taps(
            entry(columns, int.rest(index.get, int.of(width)), kernelWidth),
            { to, from },
            addTap,
          ),
      ),
    ]),
  ];
}

interface Places {
  readonly to: Code;
  readonly from: Code;
}

/** y = sums + bias, channels first. */
function finish(f: Writer, op: ConvOp): Code {
  const { sums, weights, y } = f.arg;
  const padded = paddedChannels(op);
  const channels = op.outChannels / op.groups;
  const positions = op.outSize[0] * op.outSize[1];
  const biases = op.inChannels * op.kernel[0] * op.kernel[1] * padded * 4;
  const [p, group, c, from, to] = [f.int(), f.int(), f.int(), f.int(), f.int()];
  const bias = f.int();
  const value = f.vec();
  const four = (lanes: number): Code => [
    ...set(value, vec.add(vec.load(from.get), vec.load(int.add(bias.get, c.get)))),
    ...set(value, snap(f, value)),
    ...lane(to, value, lanes, positions * 4),
    ...advance(from, int.of(16)),
  ];
  const whole = Math.floor(channels / 4);
  const rest = channels - whole * 4;
  return [
    ...set(from, sums.get),
    ...count(p, int.of(0), int.of(positions * 4), 4, [
      ...set(to, int.add(y.get, p.get)),
      ...set(bias, int.add(weights.get, int.of(biases))),
      ...count(group, int.of(0), int.of(op.groups), 1, [
        ...count(c, int.of(0), int.of(whole * 16), 16, four(4)),
        ...(rest > 0 ? four(rest) : []),
        ...advance(bias, int.of(padded * 4)),
      ]),
    ]),
  ];
}

/** Stores the first `lanes` values, `stride` bytes apart, and moves on behind them. */
function lane(to: Local, value: Local, lanes: number, stride: number): Code {
  return Array.from({ length: lanes }, (_, k) => [
    ...vec.storeLane(to.get, value.get, k),
    ...advance(to, int.of(stride)),
  ]).flat();
}
