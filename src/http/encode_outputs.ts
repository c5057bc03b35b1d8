/** Outputs as text: the four encodings of an event stream, and the JSON of a waited-for chunk. */
import { packBits } from "../base/numeric.ts";
import { f32Text, nestedText } from "./f32_text.ts";

export const ENCODINGS = ["json", "base64", "bits", "events"] as const;
export type Encoding = typeof ENCODINGS[number];

/** JSON text of [steps, …shape] values. */
export function encodeValues(
  encoding: Encoding,
  values: Float32Array,
  shape: readonly number[],
): string {
  switch (encoding) {
    case "json":
      return nestedText(values, shape);
    case "base64":
      return `"${base64(values)}"`;
    case "bits":
      return `"${base64(packBits(values, shape[0]!))}"`;
    case "events":
      return eventsText(values, shape[0]!);
  }
}

/** Recorded values: as the outputs, but what is no spike cannot be bits and goes as base64. */
export function encodeProbes(
  encoding: Encoding,
  probes: Readonly<Record<string, Float32Array>>,
  shapeOf: (name: string) => readonly number[],
): string {
  const fields = Object.entries(probes).map(([name, values]) => {
    const own = encoding === "bits" && !name.endsWith(".s") ? "base64" : encoding;
    return `${JSON.stringify(name)}:${encodeValues(own, values, shapeOf(name))}`;
  });
  return `{${fields.join(",")}}`;
}

/** `[t, i]` for ones, `[t, i, value]` for other values, nothing for zeros. */
function eventsText(values: Float32Array, steps: number): string {
  const size = values.length / steps;
  const parts: string[] = [];
  for (let at = 0; at < values.length; at++) {
    const value = values[at]!;
    if (value === 0) continue;
    const t = Math.floor(at / size);
    const place = `${t},${at - t * size}`;
    parts.push(value === 1 ? `[${place}]` : `[${place},${f32Text(value)}]`);
  }
  return `[${parts.join(",")}]`;
}

export function bytesOf(values: Float32Array | Uint32Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(values.buffer as ArrayBuffer, values.byteOffset, values.byteLength);
}

function base64(values: Float32Array | Uint32Array): string {
  return bytesOf(values).toBase64();
}
