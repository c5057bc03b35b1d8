/**
 * A session's checkpoint as bytes, for this program only: the same container as a snapshot, with
 * everything else of the session as text in its metadata. A file that is cut, changed or of another
 * version is refused whole.
 */
import { assert } from "../base/assert.ts";
import { type Frames, isPacked } from "../base/frames.ts";
import {
  CHECKSUM,
  checksumOf,
  readSafetensors,
  type Tensor,
  unreadable,
  writeSafetensors,
} from "./safetensors.ts";
import type { OutputImage, SessionImage } from "./session_image.ts";

const FORMAT = "ganglion-session-3";
const HEADER_BYTES_MAX = 1 << 28;
const SCORES = "readout/scores";

export function encodeSession(image: SessionImage): Uint8Array<ArrayBuffer> {
  const tensors = new Map<string, Tensor>();
  const put = (name: string, values: Float32Array) =>
    tensors.set(name, { shape: [values.length], data: values });
  for (const [name, values] of Object.entries(image.state?.tensors ?? {})) {
    put(`state/${name}`, values);
  }
  const chunks = image.chunks.map(({ input, ...chunk }, i) => {
    if (input !== null && isPacked(input)) put(`bits/${i}`, new Float32Array(...partOf(input)));
    else if (input !== null) put(`input/${i}`, input);
    return chunk;
  });
  const events = image.events.map((event, i) => {
    if (!isOutput(event)) return event;
    const { data, probes, ...rest } = event;
    put(`output/${i}`, data);
    for (const name in probes) put(`probe/${i}/${name}`, probes[name]!);
    return rest;
  });
  const { scores, ...readout } = image.readout ?? {};
  // The container knows f32 only; two of them have room for the bits of an f64.
  if (scores !== undefined) put(SCORES, new Float32Array(scores.slice().buffer));
  const isAtRest = image.state === null;
  const session = JSON.stringify({ ...image, state: undefined, isAtRest, chunks, events, readout });
  const metadata = { format: FORMAT, session };
  const checksum = checksumOf({ metadata, tensors });
  return writeSafetensors({ metadata: { ...metadata, [CHECKSUM]: checksum }, tensors });
}

/** Throws `snapshot_unreadable`. */
export function decodeSession(bytes: Uint8Array): SessionImage {
  const file = readSafetensors(bytes, HEADER_BYTES_MAX);
  const { format, session, [CHECKSUM]: checksum } = file.metadata;
  if (format !== FORMAT || session === undefined) throw unreadable(`This is no ${FORMAT}`);
  if (checksum !== checksumOf(file)) throw unreadable("The checksum does not agree");
  // From here on the file is what we wrote.
  const { isAtRest, ...image } = JSON.parse(session) as SessionImage & { isAtRest: boolean };
  const under = (prefix: string): Record<string, Float32Array> => {
    const found: Record<string, Float32Array> = {};
    for (const [name, { data }] of file.tensors) {
      if (name.startsWith(prefix)) found[name.slice(prefix.length)] = data;
    }
    return found;
  };
  const inputs = under("input/");
  const packed = under("bits/");
  const inputOf = (i: number): Frames | null =>
    packed[i] === undefined ? inputs[i] ?? null : new Uint32Array(...partOf(packed[i]));
  const outputs = under("output/");
  const probes = probesByEvent(under("probe/"));
  const scores = file.tensors.get(SCORES)?.data;
  return {
    ...image,
    readout: scores === undefined
      ? null
      : { ...image.readout!, scores: new Float64Array(scores.slice().buffer) },
    state: isAtRest ? null : { tensors: under("state/") },
    chunks: image.chunks.map((chunk, i) => ({ ...chunk, input: inputOf(i) })),
    events: image.events.map((event, i) => {
      if (!isOutput(event)) return event;
      assert(outputs[i] !== undefined, "an output has its values");
      return { ...event, data: outputs[i], probes: probes.get(i) ?? {} };
    }),
  };
}

/** The bytes of an array, for a view that reads them otherwise. */
function partOf({ buffer, byteOffset, length }: Frames): [ArrayBufferLike, number, number] {
  return [buffer, byteOffset, length];
}

function isOutput(event: SessionImage["events"][number]): event is OutputImage {
  return event.kind === "output";
}

/** `<event>/<probe>` to the probes of each event. */
function probesByEvent(
  named: Readonly<Record<string, Float32Array>>,
): Map<number, Record<string, Float32Array>> {
  const byEvent = new Map<number, Record<string, Float32Array>>();
  for (const [key, values] of Object.entries(named)) {
    const slash = key.indexOf("/");
    const event = Number(key.slice(0, slash));
    const probes = byEvent.get(event) ?? {};
    probes[key.slice(slash + 1)] = values;
    byEvent.set(event, probes);
  }
  return byEvent;
}
