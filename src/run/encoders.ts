/**
 * Encoders: what was recorded or shown → the input of a model, time first. `events` and `delta` take a
 * recording, which has time already, and may run piece by piece; `direct`, `latency` and `rate` take
 * one sample without time and show it for `steps` steps. All arithmetic is rounded to f32, as the
 * frameworks do it. Bytes (u1) are read as x/255, except by `events`, which takes counts as they are.
 */
import { roundHalfEven } from "../base/numeric.ts";
import { type Counter, philox } from "./philox.ts";

export interface EventsEncoder {
  readonly kind: "events";
  /** The axis of a recording that is time. */
  readonly timeAxis: number;
}

export interface DirectEncoder {
  readonly kind: "direct";
  readonly steps: number;
}

export interface LatencyEncoder {
  readonly kind: "latency";
  readonly steps: number;
  /** Values below it never fire. */
  readonly threshold: number;
}

export interface DeltaEncoder {
  readonly kind: "delta";
  /** A change of at least this much is an event. */
  readonly threshold: number;
  /** Falls are events too, of value −1. */
  readonly offSpikes: boolean;
  readonly timeAxis: number;
}

export interface RateEncoder {
  readonly kind: "rate";
  readonly steps: number;
  readonly seed: number;
}

/** Takes a recording, which has time. */
export type RecordingEncoder = EventsEncoder | DeltaEncoder;
/** Takes a sample without time. */
export type SampleEncoder = DirectEncoder | LatencyEncoder | RateEncoder;
export type Encoder = RecordingEncoder | SampleEncoder;

export const EVENTS: EventsEncoder = { kind: "events", timeAxis: 0 };

export function takesRecordings(encoder: Encoder): encoder is RecordingEncoder {
  return encoder.kind === "events" || encoder.kind === "delta";
}

/** Whether the values of an array of that dtype are bytes to be read as x/255. */
export function scalesBytes({ kind }: Encoder, dtype: string): boolean {
  return kind !== "events" && dtype === "|u1";
}

/** x/255 in f32, in place. */
export function scaleBytes(values: Float32Array): Float32Array {
  for (let i = 0; i < values.length; i++) values[i]! /= 255;
  return values;
}

/**
 * One sample as `[steps, size]`. `index` is the sample's place among all that are encoded: `rate`
 * draws other spikes for each, and the same ones in every run.
 */
export function encodeSample(
  encoder: SampleEncoder,
  sample: Float32Array,
  index: number,
): Float32Array {
  const { kind, steps } = encoder;
  const size = sample.length;
  const out = new Float32Array(steps * size);
  if (kind === "direct") {
    for (let step = 0; step < steps; step++) out.set(sample, step * size);
  } else if (kind === "latency") {
    sample.forEach((value, i) => {
      const step = latency(value, encoder);
      if (step !== null) out[step * size + i] = 1;
    });
  } else {
    for (let step = 0; step < steps; step++) drawSpikes(encoder.seed, index, step, sample, out);
  }
  return out;
}

/** The step at which a value fires: at once for 1, at the last step just above the threshold. */
function latency(value: number, { steps, threshold }: LatencyEncoder): number | null {
  const x = Math.min(1, Math.max(0, value));
  if (!(x >= Math.fround(threshold))) return null;
  return roundHalfEven(Math.fround(Math.fround(1 - x) * (steps - 1)));
}

/** A spike where a uniform number of 24 bits in [0, 1) is below the value. */
function drawSpikes(
  seed: number,
  index: number,
  step: number,
  sample: Float32Array,
  out: Float32Array,
): void {
  const key = [seed >>> 0, Math.floor(seed / 2 ** 32)] as const;
  let words: Counter = [0, 0, 0, 0];
  for (let i = 0; i < sample.length; i++) {
    if (i % 4 === 0) words = philox([i >>> 2, step, index >>> 0, Math.floor(index / 2 ** 32)], key);
    if ((words[i % 4]! >>> 8) * 2 ** -24 < sample[i]!) out[step * sample.length + i] = 1;
  }
}

/** A recording's encoder over its pieces: each call goes on where the last one ended. */
export function recordingEncoder(
  encoder: RecordingEncoder,
  size: number,
): (piece: Float32Array) => Float32Array {
  if (encoder.kind === "events") return (piece) => piece;
  const last = new Float32Array(size); // 0 before the first step
  const threshold = Math.fround(encoder.threshold);
  return (piece) => {
    const out = new Float32Array(piece.length);
    for (let i = 0; i < piece.length; i++) {
      const change = Math.fround(piece[i]! - last[i % size]!);
      last[i % size] = piece[i]!;
      if (change >= threshold) out[i] = 1;
      else if (encoder.offSpikes && change <= -threshold) out[i] = -1;
    }
    return out;
  };
}

/** The same values with axis `axis` of `shape` moved to the front. */
export function timeFirst(
  values: Float32Array,
  shape: readonly number[],
  axis: number,
): Float32Array {
  const steps = shape[axis]!;
  const inner = shape.slice(axis + 1).reduce((product, length) => product * length, 1);
  const outer = shape.slice(0, axis).reduce((product, length) => product * length, 1);
  const out = new Float32Array(values.length);
  for (let o = 0; o < outer; o++) {
    for (let t = 0; t < steps; t++) {
      const from = (o * steps + t) * inner;
      out.set(values.subarray(from, from + inner), (t * outer + o) * inner);
    }
  }
  return out;
}
