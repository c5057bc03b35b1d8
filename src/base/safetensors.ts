/**
 * The `.safetensors` format: named tensors after a JSON header. Written as F32 and F64 in the order
 * given, without a gap, the header padded so that the data begins at a multiple of 8. Read from bytes
 * that nobody vouches for: nothing is allocated before offsets, shapes and sizes agree.
 *
 * Every refusal is `bad_array`, with the name of the tensor and the reason.
 */
import { GanglionError } from "./errors.ts";

export interface Tensor {
  readonly shape: readonly number[];
  /** Row-major; F64 stays f64, whole numbers become f64, all else f32. */
  readonly data: Float32Array | Float64Array;
}

export interface TensorFile {
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What a reader takes of a file; more than that is refused. */
export interface Accepted {
  readonly headerBytesMax?: number;
  /** Names of number types; all known ones when not given. */
  readonly types?: readonly string[];
}

const HEADER_BYTES_MAX = 100 << 20;
const AXES_MAX = 32;
const ALIGN = 8;

interface ItemType {
  readonly bytes: number;
  read(data: ArrayBuffer): Float32Array | Float64Array;
}

const ITEM_TYPES: Readonly<Record<string, ItemType>> = {
  F64: { bytes: 8, read: (data) => new Float64Array(data) },
  F32: { bytes: 4, read: (data) => new Float32Array(data) },
  F16: { bytes: 2, read: (data) => Float32Array.from(new Uint16Array(data), halfValue) },
  BF16: { bytes: 2, read: (data) => brainFloats(new Uint16Array(data)) },
  I64: { bytes: 8, read: (data) => Float64Array.from(new BigInt64Array(data), Number) },
  I32: { bytes: 4, read: (data) => Float64Array.from(new Int32Array(data)) },
  I16: { bytes: 2, read: (data) => Float64Array.from(new Int16Array(data)) },
  I8: { bytes: 1, read: (data) => Float64Array.from(new Int8Array(data)) },
  U8: { bytes: 1, read: (data) => Float64Array.from(new Uint8Array(data)) },
  BOOL: { bytes: 1, read: (data) => Float64Array.from(new Uint8Array(data)) },
};

/** The file of named tensors, with free text beside them. */
export function writeSafetensors({ tensors, metadata }: TensorFile): Uint8Array<ArrayBuffer> {
  const header: Record<string, unknown> = {};
  if (Object.keys(metadata).length > 0) header.__metadata__ = metadata;
  let end = 0;
  for (const [name, { shape, data }] of tensors) {
    const dtype = data instanceof Float64Array ? "F64" : "F32";
    header[name] = { dtype, shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  let text = JSON.stringify(header);
  const length = new TextEncoder().encode(text).length;
  text += " ".repeat((ALIGN - length % ALIGN) % ALIGN);
  const encoded = new TextEncoder().encode(text);
  const bytes = new Uint8Array(8 + encoded.length + end);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(encoded.length), true);
  bytes.set(encoded, 8);
  let at = 8 + encoded.length;
  for (const { data } of tensors.values()) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return bytes;
}

/** Reads the whole file. Throws `bad_array` for anything but what the format allows. */
export function parseSafetensors(bytes: Uint8Array, accepted: Accepted = {}): TensorFile {
  const { headerBytesMax = HEADER_BYTES_MAX, types = Object.keys(ITEM_TYPES) } = accepted;
  const { header, dataStart } = readHeader(bytes, headerBytesMax);
  const data = bytes.subarray(dataStart);
  const { __metadata__: metadata = {}, ...entries } = header;
  const places = Object.entries(entries).map(([name, entry]) =>
    placeOf(name, entry, data.length, types)
  );
  checkFilled(places, data.length);
  const tensors = new Map(places.map(({ name, type, shape, begin, end }): [string, Tensor] => {
    // A copy, for the data need not lie at a multiple of its element size.
    return [name, { shape, data: type.read(new Uint8Array(data.subarray(begin, end)).buffer) }];
  }));
  return { tensors, metadata: readMetadata(metadata) };
}

function readHeader(
  bytes: Uint8Array,
  headerBytesMax: number,
): { header: Record<string, unknown>; dataStart: number } {
  if (bytes.length < 8) refuse("The file is too short for safetensors");
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
  if (length > BigInt(Math.min(headerBytesMax, bytes.length - 8))) {
    refuse(
      length > BigInt(headerBytesMax)
        ? `This is not safetensors: its header would have ${length} bytes`
        : `The file is cut short: it has ${bytes.length} bytes, its header alone ${length}`,
    );
  }
  const dataStart = 8 + Number(length);
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(
      bytes.subarray(8, dataStart),
    ));
  } catch {
    refuse("This is not safetensors: its header is not JSON");
  }
  if (!isObject(header)) refuse("This is not safetensors: its header is no JSON object");
  return { header, dataStart };
}

function readMetadata(entry: unknown): Record<string, string> {
  if (!isObject(entry) || Object.values(entry).some((value) => typeof value !== "string")) {
    refuse("The entry __metadata__ must hold texts by name");
  }
  return entry as Record<string, string>;
}

interface Place {
  readonly name: string;
  readonly type: ItemType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

/** In the order of their places the tensors must fill the file: nothing shared, nothing hidden. */
function checkFilled(places: readonly Place[], bytes: number): void {
  let filled = 0;
  for (
    const { name, begin, end } of places.toSorted((a, b) => a.begin - b.begin || a.end - b.end)
  ) {
    if (begin !== filled) {
      refuse(
        `Tensor "${name}" lies at ${begin} to ${end}, not from ${filled} on`,
      );
    }
    filled = end;
  }
  if (filled !== bytes) refuse(`${bytes - filled} bytes belong to no tensor`);
}

function placeOf(name: string, entry: unknown, bytes: number, types: readonly string[]): Place {
  const shown = `Tensor "${name.slice(0, 80)}"`;
  if (!isObject(entry)) refuse(`${shown} has no description`);
  const { dtype, shape, data_offsets: offsets } = entry;
  const type = typeof dtype === "string" && types.includes(dtype)
    ? ITEM_TYPES[dtype]!
    : refuse(`${shown} is of type ${JSON.stringify(dtype)}; taken are ${types.join(" ")}`);
  if (!isWholes(shape) || shape.length > AXES_MAX) refuse(`${shown} has no sound shape`);
  if (!isWholes(offsets) || offsets.length !== 2) refuse(`${shown} has no sound data_offsets`);
  const [begin, end] = offsets as [number, number];
  const wanted = shape.reduce((product, axis) => product * axis, type.bytes);
  if (begin > end || end > bytes || end - begin !== wanted) {
    refuse(
      `${shown} of shape [${shape.join(", ")}] does not fit bytes ${begin} to ${end} ` +
        `of ${bytes}`,
    );
  }
  return { name, type, shape, begin, end };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWholes(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => Number.isSafeInteger(each) && each >= 0);
}

function halfValue(bits: number): number {
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** A bfloat16 is the upper half of an f32. */
function brainFloats(halves: Uint16Array): Float32Array {
  return new Float32Array(Uint32Array.from(halves, (bits) => (bits << 16) >>> 0).buffer);
}

function refuse(reason: string): never {
  throw new GanglionError("bad_array", reason);
}
