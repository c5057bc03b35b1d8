/** What is sent: bodies made once, before the clock starts, so that sending one costs the client little. */
import { packBits } from "../base/numeric.ts";
import { encodeSample } from "../run/mod.ts";

/** Random spikes, or recordings `[steps, sampleSize]` that are repeated without end. */
export type LoadInput =
  | { readonly kind: "random"; readonly density: number; readonly seed: number }
  | { readonly kind: "recordings"; readonly recordings: readonly Float32Array[] };

export interface ChunkBodies {
  readonly contentType: string;
  bodyOf(session: number, chunk: number): Uint8Array<ArrayBuffer>;
}

/** Random chunks, one after the other and then again; each session begins at another. */
const RANDOM_BODIES = 64;

export function makeBodies(input: LoadInput, sampleSize: number, chunkSteps: number): ChunkBodies {
  const width = chunkSteps * sampleSize;
  if (input.kind === "random") {
    const { density, seed } = input;
    const sample = new Float32Array(sampleSize).fill(density);
    const chunks = Array.from(
      { length: RANDOM_BODIES },
      (_, i) => encodeSample({ kind: "rate", steps: chunkSteps, seed }, sample, i),
    );
    return bodiesOf([chunks], chunkSteps);
  }
  return bodiesOf(input.recordings.map((each) => cut(each, width)), chunkSteps);
}

/** A recording as whole chunks: as often as it takes to end at the end of one, or cut there. */
function cut(recording: Float32Array, width: number): Float32Array[] {
  if (recording.length >= width) {
    const count = Math.floor(recording.length / width);
    return Array.from({ length: count }, (_, i) => recording.subarray(i * width, (i + 1) * width));
  }
  const repeated = new Float32Array(width);
  for (let at = 0; at < width; at += recording.length) {
    repeated.set(recording.subarray(0, width - at), at);
  }
  return [repeated];
}

/** Packed to bits where all values are 0 or 1. Sessions begin at different chunks of their stream. */
function bodiesOf(streams: readonly (readonly Float32Array[])[], steps: number): ChunkBodies {
  const isBits = streams.every((chunks) =>
    chunks.every((values) => values.every((value) => value === 0 || value === 1))
  );
  const bodies = streams.map((chunks) =>
    chunks.map((values) => bytesOf(isBits ? packBits(values, steps) : values.slice()))
  );
  return {
    contentType: isBits ? "application/vnd.ganglion.bits" : "application/octet-stream",
    bodyOf(session, chunk) {
      const stream = bodies[session % bodies.length]!;
      return stream[(session + chunk) % stream.length]!;
    },
  };
}

const bytesOf = (values: Float32Array | Uint32Array): Uint8Array<ArrayBuffer> =>
  new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
