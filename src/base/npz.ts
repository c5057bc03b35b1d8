/**
 * NumPy's `.npz`: a zip archive of `.npy` files, stored without compression. Writing only.
 */
import { writeNpy } from "./npy.ts";

export interface NamedArray {
  readonly values: Float32Array;
  readonly shape: readonly number[];
}

interface Entry {
  readonly name: Uint8Array;
  readonly data: Uint8Array;
  readonly crc: number;
  readonly offset: number;
}

const LOCAL_HEADER = { signature: 0x04034b50, bytes: 30 };
const CENTRAL_HEADER = { signature: 0x02014b50, bytes: 46 };
const END_RECORD = { signature: 0x06054b50, bytes: 22 };
const ZIP_VERSION = 20;
const UTF8_NAMES = 1 << 11;
/** 1 January 1980, the oldest date of the format: the same arrays give the same bytes. */
const DATE = (1 << 5) | 1;
const BYTES_MAX = 0xffff_ffff;
const ENTRIES_MAX = 0xffff;

/** The archive of named arrays; `numpy.load` gives each under its name. */
export function writeNpz(arrays: Readonly<Record<string, NamedArray>>): Uint8Array<ArrayBuffer> {
  const entries: Entry[] = [];
  let offset = 0;
  for (const [key, { values, shape }] of Object.entries(arrays)) {
    const name = new TextEncoder().encode(`${key}.npy`);
    const data = writeNpy(values, shape);
    entries.push({ name, data, crc: crc32(data), offset });
    offset += LOCAL_HEADER.bytes + name.length + data.length;
  }
  const centralStart = offset;
  const centralBytes = entries.reduce(
    (sum, { name }) => sum + CENTRAL_HEADER.bytes + name.length,
    0,
  );
  const total = centralStart + centralBytes + END_RECORD.bytes;
  if (total > BYTES_MAX || entries.length > ENTRIES_MAX) {
    throw new RangeError("The arrays do not fit one .npz file of at most 4 GiB");
  }
  const bytes = new Uint8Array(total);
  const view = new DataView(bytes.buffer);
  let at = centralStart;
  for (const entry of entries) {
    writeLocal(view, bytes, entry);
    at = writeCentral(view, bytes, entry, at);
  }
  view.setUint32(at, END_RECORD.signature, true);
  view.setUint16(at + 8, entries.length, true);
  view.setUint16(at + 10, entries.length, true);
  view.setUint32(at + 12, centralBytes, true);
  view.setUint32(at + 16, centralStart, true);
  return bytes;
}

function writeLocal(view: DataView, bytes: Uint8Array, entry: Entry): void {
  const { name, data, offset } = entry;
  view.setUint32(offset, LOCAL_HEADER.signature, true);
  writeCommon(view, offset + 4, entry);
  bytes.set(name, offset + LOCAL_HEADER.bytes);
  bytes.set(data, offset + LOCAL_HEADER.bytes + name.length);
}

function writeCentral(view: DataView, bytes: Uint8Array, entry: Entry, at: number): number {
  view.setUint32(at, CENTRAL_HEADER.signature, true);
  view.setUint16(at + 4, ZIP_VERSION, true);
  writeCommon(view, at + 6, entry);
  view.setUint32(at + 42, entry.offset, true);
  bytes.set(entry.name, at + CENTRAL_HEADER.bytes);
  return at + CENTRAL_HEADER.bytes + entry.name.length;
}

/** The 26 bytes that both headers share, from the version needed to the lengths of the names. */
function writeCommon(view: DataView, at: number, { name, data, crc }: Entry): void {
  view.setUint16(at, ZIP_VERSION, true);
  view.setUint16(at + 2, UTF8_NAMES, true);
  view.setUint16(at + 8, DATE, true);
  view.setUint32(at + 10, crc, true);
  view.setUint32(at + 14, data.length, true);
  view.setUint32(at + 18, data.length, true);
  view.setUint16(at + 22, name.length, true);
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? 0xedb88320 ^ (crc >>> 1) : crc >>> 1;
  return crc;
});

/** CRC-32 of zip, gzip and PNG. */
export function crc32(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) crc = CRC_TABLE[(crc ^ byte) & 0xff]! ^ (crc >>> 8);
  return (crc ^ 0xffff_ffff) >>> 0;
}
