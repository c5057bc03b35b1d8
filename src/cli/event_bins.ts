/**
 * Events of a sensor (t, x, y, p) as a recording: counts a time bin and place. Bins begin at the earliest
 * event; the order of events does not matter. Where an event goes is the model's sample shape:
 * `[2, H, W]` by polarity, row and column; `[H, W]` and `[1, H, W]` by row and column, both polarities
 * together; `[N]` by x alone.
 */
import { GanglionError } from "../base/errors.ts";
import { sizeOf } from "../base/numeric.ts";
import type { SampleShape } from "./sample_shape.ts";

/** One column a field; y and p may be absent. Times are whole microseconds. */
export interface Events {
  readonly t: Float64Array;
  readonly x: Float64Array;
  readonly y: Float64Array | null;
  readonly p: Float64Array | null;
  /** Where event `i` stands in its file: `line 12`, `event 11`. */
  readonly place: (i: number) => string;
}

/** Counts of all bins are held in memory. */
const VALUES_MAX = 2 ** 28;

interface Grid {
  readonly channels: number;
  readonly rows: number;
  readonly columns: number;
}

/** `[steps, sampleSize]` counts, time first. Throws `bad_array`, naming path, place and remedy. */
export function binEvents(
  path: string,
  events: Events,
  binUs: number,
  model: SampleShape,
): { values: Float32Array<ArrayBuffer>; steps: number } {
  const { t, x, y, p, place } = events;
  const fail = (i: number, what: string): never => {
    throw new GanglionError("bad_array", `${path}, ${place(i)}: ${what}`, { path });
  };
  const { channels, rows, columns } = gridOf(path, events, model);
  let [first, last] = [Infinity, -Infinity];
  t.forEach((time, i) => {
    if (!Number.isInteger(time)) {
      fail(i, `t is ${time}; times are whole microseconds: multiply seconds by 1,000,000`);
    }
    first = Math.min(first, time);
    last = Math.max(last, time);
  });
  const steps = t.length === 0 ? 0 : Math.floor((last - first) / binUs) + 1;
  const size = channels * rows * columns;
  if (steps * size > VALUES_MAX) {
    throw new GanglionError(
      "bad_array",
      `${path}: from t = ${first} to ${last} there are ${steps} bins of ${binUs} us, too many to hold; ` +
        "give a longer --bin-us, or cut the recording",
      { path },
    );
  }
  const values = new Float32Array(steps * size);
  for (let i = 0; i < t.length; i++) {
    const column = placeIn(x[i]!, columns) ??
      fail(i, `x is ${x[i]}; the model's samples have x from 0 to ${columns - 1}`);
    const row = rows === 1 && y === null ? 0 : placeIn(y![i]!, rows) ??
      fail(i, `y is ${y![i]}; the model's samples have y from 0 to ${rows - 1}`);
    const channel = channels === 1 ? 0 : channelOf(p![i]!) ??
      fail(i, `p is ${p![i]}; a polarity is 0 or 1, or -1 or 1`);
    const step = Math.floor((t[i]! - first) / binUs);
    values[step * size + (channel * rows + row) * columns + column]!++;
  }
  return { values, steps };
}

function gridOf(path: string, { y, p }: Events, { sampleShape }: SampleShape): Grid {
  const shape = sampleShape.length === 3 ? sampleShape : [1, ...sampleShape];
  const [channels, rows, columns] = shape.length === 3
    ? shape as [number, number, number]
    : [1, 1, sizeOf(sampleShape)];
  const refuse = (what: string): never => {
    throw new GanglionError(
      "bad_array",
      `${path}: the model takes samples of shape [${sampleShape.join(", ")}]; ${what}`,
      { path, sample_shape: sampleShape },
    );
  };
  if (sampleShape.length > 3 || channels > 2) {
    refuse("events make [2, H, W], [1, H, W], [H, W], or [N]: bin them yourself");
  }
  if (sampleShape.length < 2) {
    if (y !== null) {
      refuse("events with y need [H, W] or [2, H, W]: leave y out where x is the whole index");
    }
    return { channels: 1, rows: 1, columns };
  }
  if (y === null) refuse("its events have no y");
  if (channels === 2 && p === null) refuse("its events have no polarity p");
  return { channels, rows, columns };
}

const placeIn = (value: number, count: number): number | null =>
  Number.isInteger(value) && value >= 0 && value < count ? value : null;

const channelOf = (value: number): number | null =>
  value === 1 ? 1 : value === 0 || value === -1 ? 0 : null;
