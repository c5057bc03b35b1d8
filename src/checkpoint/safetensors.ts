/**
 * The files of this folder: safetensors of F32 alone, with a checksum in the metadata. What we write
 * Python's `safetensors` reads; every refusal is `snapshot_unreadable`.
 */
import { createHash } from "node:crypto";
import { GanglionError } from "../base/errors.ts";
import { parseSafetensors } from "../base/safetensors.ts";

export { writeSafetensors } from "../base/safetensors.ts";

export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export interface TensorFile {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, Tensor>;
}

/** The metadata field that `checksumOf` fills and does not cover. */
export const CHECKSUM = "checksum";

/** Throws `snapshot_unreadable` with what is wrong. The values are copies. */
export function readSafetensors(bytes: Uint8Array, headerBytesMax: number): TensorFile {
  try {
    // F32 alone: every tensor is a Float32Array.
    return parseSafetensors(bytes, { headerBytesMax, types: ["F32"] }) as TensorFile;
  } catch (error) {
    if (!(error instanceof GanglionError)) throw error;
    throw unreadable(error.message, error);
  }
}

/** SHA-256 over metadata and tensors, in the order of their names; the container does not count. */
export function checksumOf({ metadata, tensors }: TensorFile): string {
  const hash = createHash("sha256");
  for (const name of Object.keys(metadata).sort()) {
    if (name !== CHECKSUM) hash.update(`${name}\0${metadata[name]}\0`);
  }
  for (const name of [...tensors.keys()].sort()) {
    const { shape, data } = tensors.get(name)!;
    hash.update(`${name}\0${shape.join(",")}\0`);
    hash.update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  }
  return hash.digest("hex");
}

export function unreadable(detail: string, cause?: unknown): GanglionError {
  return new GanglionError("snapshot_unreadable", detail, {}, { cause });
}
