/**
 * The safetensors container: eight bytes of header length, a JSON header, the tensors' bytes. What we
 * write Python's `safetensors` reads. What we read is checked before anything is allocated: the
 * header's size, every tensor's type, shape and place, no holes, no overlaps, nothing behind the last.
 * Only F32 is known here.
 */
import { createHash } from "node:crypto";
import { GanglionError } from "../base/errors.ts";

export interface Tensor {
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

export interface TensorFile {
  readonly metadata: Readonly<Record<string, string>>;
  /** In the order in which they lie in the file. */
  readonly tensors: ReadonlyMap<string, Tensor>;
}

const LENGTH_BYTES = 8;
const METADATA = "__metadata__";
/** The metadata field that `checksumOf` fills and does not cover. */
export const CHECKSUM = "checksum";

export function writeSafetensors({ metadata, tensors }: TensorFile): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = { [METADATA]: metadata };
  let end = 0;
  for (const [name, { shape, values }] of tensors) {
    header[name] = {
      dtype: "F32",
      shape,
      data_offsets: [end, end += values.byteLength],
    };
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  // The data begin at a multiple of 8, as the format advises.
  const headerBytes = Math.ceil(text.byteLength / 8) * 8;
  const bytes = new Uint8Array(LENGTH_BYTES + headerBytes + end).fill(0x20, 0, headerBytes + 8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerBytes), true);
  bytes.set(text, LENGTH_BYTES);
  let at = LENGTH_BYTES + headerBytes;
  for (const { values } of tensors.values()) {
    bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), at);
    at += values.byteLength;
  }
  return bytes;
}

/** Throws `snapshot_unreadable` with what is wrong. The values are copies. */
export function readSafetensors(bytes: Uint8Array, headerBytesMax: number): TensorFile {
  const { header, dataAt } = readHeader(bytes, headerBytesMax);
  const { [METADATA]: metadata = {}, ...entries } = header;
  const size = bytes.byteLength - dataAt;
  const placed = Object.entries(entries).map(([name, entry]) => ({ name, ...placeOf(name, entry) }))
    .sort((a, b) => a.begin - b.begin || a.end - b.end);
  let end = 0;
  const tensors = new Map<string, Tensor>();
  for (const { name, shape, begin, end: next } of placed) {
    if (begin !== end) throw unreadable(`Tensor "${name}" does not begin where the last one ends`);
    if (next > size) throw unreadable(`Tensor "${name}" reaches beyond the end of the file`);
    end = next;
    const own = bytes.slice(dataAt + begin, dataAt + end);
    tensors.set(name, { shape, values: new Float32Array(own.buffer) });
  }
  if (end !== size) throw unreadable(`${size - end} bytes follow the last tensor`);
  return { metadata: textsOf(metadata), tensors };
}

/** SHA-256 over metadata and tensors, in the order of their names; the container does not count. */
export function checksumOf({ metadata, tensors }: TensorFile): string {
  const hash = createHash("sha256");
  for (const name of Object.keys(metadata).sort()) {
    if (name !== CHECKSUM) hash.update(`${name}\0${metadata[name]}\0`);
  }
  for (const name of [...tensors.keys()].sort()) {
    const { shape, values } = tensors.get(name)!;
    hash.update(`${name}\0${shape.join(",")}\0`);
    hash.update(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }
  return hash.digest("hex");
}

export function unreadable(detail: string, cause?: unknown): GanglionError {
  return new GanglionError("snapshot_unreadable", detail, {}, { cause });
}

function readHeader(
  bytes: Uint8Array,
  headerBytesMax: number,
): { header: Record<string, unknown>; dataAt: number } {
  if (bytes.byteLength < LENGTH_BYTES) {
    throw unreadable(`${bytes.byteLength} bytes are too few for a safetensors file`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const declared = view.getBigUint64(0, true);
  if (declared > BigInt(headerBytesMax)) {
    throw unreadable(`The header has ${declared} bytes, the limit is ${headerBytesMax}`);
  }
  const dataAt = LENGTH_BYTES + Number(declared);
  if (dataAt > bytes.byteLength) throw unreadable("The file ends within its header");
  let header: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true })
      .decode(bytes.subarray(LENGTH_BYTES, dataAt));
    header = JSON.parse(text);
  } catch (error) {
    throw unreadable("The header is not JSON", error);
  }
  if (!isRecord(header)) throw unreadable("The header is no JSON object");
  return { header, dataAt };
}

function placeOf(name: string, entry: unknown): { shape: number[]; begin: number; end: number } {
  const { dtype, shape, data_offsets: offsets } = isRecord(entry) ? entry : {};
  if (dtype !== "F32") {
    throw unreadable(`Tensor "${name}" is ${JSON.stringify(dtype)}, only "F32" is taken`);
  }
  if (!isCounts(shape) || !isCounts(offsets) || offsets.length !== 2) {
    throw unreadable(`Tensor "${name}" lacks a shape or data_offsets`);
  }
  const [begin, end] = offsets as [number, number];
  const bytes = 4 * shape.reduce((product, axis) => product * axis, 1);
  if (!Number.isSafeInteger(bytes) || end - begin !== bytes) {
    throw unreadable(`Tensor "${name}" of shape [${shape.join(", ")}] does not fill its place`);
  }
  return { shape, begin, end };
}

function textsOf(metadata: unknown): Record<string, string> {
  if (!isRecord(metadata)) throw unreadable("The metadata are no JSON object");
  for (const [name, text] of Object.entries(metadata)) {
    if (typeof text !== "string") throw unreadable(`The metadata "${name}" are no text`);
  }
  return metadata as Record<string, string>;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCounts(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= 64 &&
    value.every((each) => Number.isSafeInteger(each) && (each as number) >= 0);
}
