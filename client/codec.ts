/** Chunks as request bodies, and outputs from what the server writes: the packed forms and JSON. */
import type { components } from "./api.gen.ts";
import { GanglionError } from "./errors.ts";

/** An input other than 0: `[step, index]`, or `[step, index, value]`; indices are row-major. */
export type SpikeEvent = readonly [step: number, index: number, value?: number];

/**
 * One chunk: f32 values `[steps, …sample_shape]`; bits, ⌈size / 32⌉ words a step, bit 0 first
 * (`packBits` makes them); or the events of so many steps.
 */
export type ChunkData =
  | Float32Array
  | { readonly bits: Uint32Array }
  | { readonly steps: number; readonly events: readonly SpikeEvent[] };

/**
 * How outputs travel; they always arrive as f32. `bits` needs a model whose outputs are spikes; what is
 * recorded always travels as f32 or JSON.
 */
export type Encoding = "f32" | "bits" | "events" | "json";

/** The names on the wire. */
export const WIRE_ENCODING = {
  f32: "base64",
  bits: "bits",
  events: "events",
  json: "json",
} as const;

export type Prediction = NonNullable<components["schemas"]["ChunkAnswer"]["prediction"]>;

/** What a frame, or with `run` a whole chunk, gave. */
export interface Output {
  /** Where the session stands after it: give it to `outputs({ after })` to go on from here. */
  readonly id: string;
  readonly epoch: number;
  /** Number of the chunk that it belongs to. */
  readonly seq: number;
  /** The first of its steps, counted from the session's begin. */
  readonly startStep: number;
  readonly steps: number;
  /** `[steps, …output_shape]`. */
  readonly shape: readonly number[];
  /** Row-major. */
  readonly data: Float32Array;
  /** What `record` asked for, each `[steps, …]`. */
  readonly probes: Readonly<Record<string, Float32Array>>;
  /** With `readout`: after the last of its steps. */
  readonly prediction: Prediction | null;
}

/** A chunk ready to be sent, again and again. */
export interface Body {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly steps: number;
}

/** Copies, so that the caller may use the array again at once. Throws `bad_chunk`. */
export function encodeChunk(data: ChunkData, sampleSize: number): Body {
  if (data instanceof Float32Array) {
    return packed("application/octet-stream", data, sampleSize, "values");
  }
  if ("bits" in data) {
    return packed("application/vnd.ganglion.bits", data.bits, Math.ceil(sampleSize / 32), "words");
  }
  const { steps, events } = data;
  const bytes = new TextEncoder().encode(JSON.stringify({ steps, events }));
  return { type: "application/json", bytes, steps };
}

function packed(
  type: string,
  values: Float32Array | Uint32Array,
  stepSize: number,
  what: string,
): Body {
  const steps = values.length / stepSize;
  if (!Number.isInteger(steps) || steps === 0) {
    throw new GanglionError(
      "bad_chunk",
      `A chunk has ${values.length} ${what}; it must be a positive multiple of ${stepSize}`,
      { action: "Send whole time steps", facts: { step_values: stepSize } },
    );
  }
  const bytes = new Uint8Array(values.byteLength);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return { type, bytes, steps };
}

/** Spikes `[steps, size]`, each value that is not 0, as words for `{ bits }`. */
export function packBits(spikes: ArrayLike<number>, size: number): Uint32Array {
  const words = Math.ceil(size / 32);
  const bits = new Uint32Array(words * Math.ceil(spikes.length / size));
  for (let at = 0; at < spikes.length; at++) {
    if (spikes[at] === 0) continue;
    const index = at % size;
    bits[words * ((at - index) / size) + (index >>> 5)]! |= 1 << (index & 31);
  }
  return bits;
}

/** The values of an output that are not 0. */
export function eventsOf({ data, steps }: Pick<Output, "data" | "steps">): SpikeEvent[] {
  const size = data.length / steps;
  const events: SpikeEvent[] = [];
  data.forEach((value, at) => {
    if (value === 0) return;
    const place = [Math.floor(at / size), at % size] as const;
    events.push(value === 1 ? place : [...place, value]);
  });
  return events;
}

/** Values as the server writes them in one of its encodings; `size` of them a step. */
export function decodeValues(
  encoding: string,
  value: unknown,
  steps: number,
  size: number,
): Float32Array {
  switch (encoding) {
    case "base64":
      return new Float32Array(bytesOf(value as string));
    case "bits":
      return unpackBits(new Uint32Array(bytesOf(value as string)), steps, size);
    case "events": {
      const values = new Float32Array(steps * size);
      for (const [t, i, x = 1] of value as SpikeEvent[]) values[t * size + i] = x;
      return values;
    }
    default:
      // JSON has no NaN and no infinity.
      return Float32Array.from(
        (value as unknown[]).flat(Infinity) as (number | null)[],
        (each) => each ?? NaN,
      );
  }
}

function bytesOf(base64: string): ArrayBuffer {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer;
}

function unpackBits(bits: Uint32Array, steps: number, size: number): Float32Array {
  const words = Math.ceil(size / 32);
  return Float32Array.from(
    { length: steps * size },
    (_, at) =>
      (bits[words * Math.floor(at / size) + ((at % size) >>> 5)]! >>> (at % size & 31)) & 1,
  );
}
