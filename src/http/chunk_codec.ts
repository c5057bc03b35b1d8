/** Bodies of a chunk to typed arrays: four media types, one result. No JSON goes further down. */
import { type Frames, isPacked, strayBit } from "../base/frames.ts";
import { GanglionError } from "../base/errors.ts";
import { parseNpy } from "../base/npy.ts";
import { firstNonFinite, sizeOf, wordsOf } from "../base/numeric.ts";
import { packSpikes } from "../base/spike_packer.ts";
import { parseJson } from "./body.ts";
import { decodeJsonChunk } from "./json_chunk.ts";

export const CHUNK_TYPES = [
  "application/octet-stream",
  "application/x-npy",
  "application/json",
  "application/vnd.ganglion.bits",
] as const;
export type ChunkType = typeof CHUNK_TYPES[number];

export interface ChunkShape {
  readonly sampleShape: readonly number[];
  /** Throws when so many steps can never be taken; asked before they are allocated. */
  readonly assertSteps: (steps: number) => void;
}

export interface DecodedChunk {
  /** [steps, …sampleShape], finite; as bits where all are spikes, however they came. */
  readonly values: Frames;
  readonly steps: number;
  readonly reset: boolean;
}

/** Throws the 4xx error that says what is wrong with the body. */
export function decodeChunk(
  type: ChunkType,
  body: Uint8Array<ArrayBuffer>,
  shape: ChunkShape,
): DecodedChunk {
  const chunk = decoders[type](body, shape);
  if (isPacked(chunk.values)) return chunk;
  const size = sizeOf(shape.sampleShape);
  const spikes = packSpikes(chunk.values, size);
  if (spikes !== null) return { ...chunk, values: spikes };
  const at = firstNonFinite(chunk.values);
  if (at >= 0) {
    const [step, index] = [Math.floor(at / size), at % size];
    throw new GanglionError("non_finite", `Value ${index} of step ${step} is NaN or infinite`, {
      step,
      index,
    });
  }
  return chunk;
}

type Decoder = (body: Uint8Array<ArrayBuffer>, shape: ChunkShape) => DecodedChunk;

const decoders: Readonly<Record<ChunkType, Decoder>> = {
  "application/octet-stream": (body, shape) => {
    const steps = stepsIn(body, 4 * sizeOf(shape.sampleShape), shape);
    return { values: new Float32Array(aligned(body)), steps, reset: false };
  },
  "application/x-npy": (body, shape) => decodeNpy(body, shape),
  "application/json": (body, shape) => decodeJsonChunk(parseJson(body), shape),
  "application/vnd.ganglion.bits": (body, shape) => decodeBits(body, shape),
};

/** Whole steps in a body of fixed-size steps. */
function stepsIn(body: Uint8Array, stepBytes: number, { assertSteps }: ChunkShape): number {
  const facts = { bytes: body.byteLength, step_bytes: stepBytes };
  if (body.byteLength === 0) throw new GanglionError("empty_chunk", "The body is empty", facts);
  const steps = body.byteLength / stepBytes;
  if (!Number.isInteger(steps)) {
    throw new GanglionError(
      "bad_length",
      `${body.byteLength} bytes are no whole number of steps of ${stepBytes} bytes`,
      facts,
    );
  }
  assertSteps(steps);
  return steps;
}

/** The bytes as a buffer of their own, which a typed array of wider elements needs. */
function aligned(body: Uint8Array<ArrayBuffer>): ArrayBuffer {
  const isWhole = body.byteOffset === 0 && body.byteLength === body.buffer.byteLength;
  return isWhole ? body.buffer : body.slice().buffer;
}

function decodeNpy(body: Uint8Array, { sampleShape, assertSteps }: ChunkShape): DecodedChunk {
  const { shape, values } = parseNpy(body);
  const size = sizeOf(sampleShape);
  const [steps, ...rest] = shape;
  const fits = steps !== undefined &&
    (same(rest, sampleShape) || same(rest, [size]) || (size === 1 && rest.length === 0));
  if (!fits) {
    throw new GanglionError(
      "bad_array",
      `The array has shape [${shape.join(", ")}], wanted is [n, ${sampleShape.join(", ")}]`,
      { shape, sample_shape: sampleShape },
    );
  }
  if (steps === 0) throw new GanglionError("empty_chunk", "The array holds no time step");
  assertSteps(steps);
  return { values, steps, reset: false };
}

function decodeBits(body: Uint8Array<ArrayBuffer>, shape: ChunkShape): DecodedChunk {
  const size = sizeOf(shape.sampleShape);
  const steps = stepsIn(body, 4 * wordsOf(size), shape);
  const values = new Uint32Array(aligned(body));
  const stray = strayBit(values, size);
  if (stray !== null) {
    const { step, index } = stray;
    throw new GanglionError(
      "event_out_of_range",
      `Bit ${index} of step ${step} is set, a step has ${size} values`,
      { t: step, i: index, steps, size },
    );
  }
  return { values, steps, reset: false };
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((axis, i) => axis === b[i]);
}
