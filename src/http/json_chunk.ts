/**
 * A chunk as JSON: nested data, or events. Both are checked value by value, with the position in
 * every refusal; sizes are checked before anything is allocated for them.
 */
import { hint } from "../base/closest.ts";
import { valuesOf } from "../base/frames.ts";
import { GanglionError } from "../base/errors.ts";
import { sizeOf, wordsOf } from "../base/numeric.ts";
import type { ChunkShape, DecodedChunk } from "./chunk_codec.ts";

const FIELDS = ["data", "steps", "events", "reset"];

export function decodeJsonChunk(body: unknown, shape: ChunkShape): DecodedChunk {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    refuse("The body must be an object with data, or with steps and events");
  }
  const fields = body as Record<string, unknown>;
  const unknown = Object.keys(fields).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) {
    refuse(
      `There is no field "${unknown.slice(0, 40)}"; ${hint(unknown.slice(0, 40), FIELDS)}`,
      unknown,
    );
  }
  const { data, steps, events, reset = false } = fields;
  if (typeof reset !== "boolean") refuse("reset must be true or false", "reset");
  const hasEvents = events !== undefined || steps !== undefined;
  if ((data !== undefined) === hasEvents) {
    refuse("Give either data, or steps and events");
  }
  const decoded = hasEvents ? decodeEvents(steps, events, shape) : decodeNested(data, shape);
  return { ...decoded, reset };
}

function decodeNested(data: unknown, { sampleShape, assertSteps }: ChunkShape): DecodedChunk {
  if (!Array.isArray(data)) refuse("data must be an array of time steps", "data");
  const steps = data.length;
  if (steps === 0) throw new GanglionError("empty_chunk", "data holds no time step");
  assertSteps(steps);
  const size = sizeOf(sampleShape);
  const values = new Float32Array(steps * size);
  // A step may be given flat; which it is, the first one says.
  const isFlat = sampleShape.length !== 1 && isFlatStep(data[0], size);
  const axes = isFlat ? [size] : sampleShape;
  let at = 0;
  const read = (value: unknown, axis: number, place: string): void => {
    if (axis < axes.length) {
      if (!Array.isArray(value)) refuse(`${place} must be an array of ${axes[axis]}`, place);
      if (value.length !== axes[axis]) {
        refuse(`${place} must have ${axes[axis]} entries, it has ${value.length}`, place);
      }
      for (let i = 0; i < value.length; i++) read(value[i], axis + 1, `${place}[${i}]`);
      return;
    }
    if (typeof value !== "number") refuse(`${place} must be a number`, place);
    values[at++] = value;
  };
  const innermost = axes.length - 1;
  for (let t = 0; t < steps; t++) {
    // The common case without building a name for every value.
    if (innermost === 0 && readFlat(data[t], axes[0]!, values, at)) at += axes[0]!;
    else read(data[t], 0, `data[${t}]`);
  }
  return { values, steps, reset: false };
}

function isFlatStep(step: unknown, size: number): boolean {
  return Array.isArray(step) && step.length === size && typeof step[0] === "number";
}

/** Copies one flat step of numbers; false, and nothing promised, when it is none. */
function readFlat(step: unknown, size: number, values: Float32Array, at: number): boolean {
  if (!Array.isArray(step) || step.length !== size) return false;
  for (let i = 0; i < size; i++) {
    const value: unknown = step[i];
    if (typeof value !== "number") return false;
    values[at + i] = value;
  }
  return true;
}

function decodeEvents(steps: unknown, events: unknown, shape: ChunkShape): DecodedChunk {
  if (!isCount(steps)) refuse("steps must be a whole number from 1", "steps");
  if (!Array.isArray(events)) {
    refuse("events must be an array of [t, i] or [t, i, value]", "events");
  }
  if (steps === 0) throw new GanglionError("empty_chunk", "steps is 0");
  shape.assertSteps(steps);
  const size = sizeOf(shape.sampleShape);
  // One spike a place stays a bit; other values need floats.
  const words = wordsOf(size);
  const bits = new Uint32Array(steps * words);
  let values: Float32Array | null = null;
  events.forEach((event: unknown, position) => {
    const place = `events[${position}]`;
    if (!Array.isArray(event) || event.length < 2 || event.length > 3) {
      refuse(`${place} must be [t, i] or [t, i, value]`, place);
    }
    const [t, i, value = 1] = event as unknown[];
    if (!Number.isInteger(t) || !Number.isInteger(i)) {
      refuse(`${place} must have whole numbers t and i`, place);
    }
    if (typeof value !== "number") refuse(`${place} must have a number as its value`, place);
    const [step, index] = [t as number, i as number];
    if (step < 0 || step >= steps || index < 0 || index >= size) {
      throw new GanglionError(
        "event_out_of_range",
        `${place} is [${step}, ${index}], the chunk has ${steps} steps of ${size} values`,
        { position, t: step, i: index, steps, size },
      );
    }
    const [word, bit] = [step * words + (index >>> 5), 1 << (index & 31)];
    if (values === null && value === 1 && (bits[word]! & bit) === 0) bits[word]! |= bit;
    else (values ??= valuesOf(bits, size))[step * size + index]! += value;
  });
  return { values: values ?? bits, steps, reset: false };
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}

function refuse(detail: string, field?: string): never {
  throw new GanglionError("invalid_body", detail, field === undefined ? {} : { field });
}
