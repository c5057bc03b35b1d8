/**
 * Reads zip archives, the container of `.npz`: what is stored or deflated, by the directory at the end. An
 * archive is data from outside: no size is believed before it agrees with the bytes that are there, and
 * every member's checksum is compared. Refusals are `bad_array`, with the reason.
 */
import { GanglionError } from "./errors.ts";
import { crc32 } from "./npz.ts";

/** Inflates raw deflate data to at most `bytesMax` bytes; throws where it is damaged or longer. */
export type Inflate = (data: Uint8Array, bytesMax: number) => Uint8Array;

const END = { signature: 0x06054b50, bytes: 22 };
const CENTRAL = { signature: 0x02014b50, bytes: 46 };
const LOCAL = { signature: 0x04034b50, bytes: 30 };
const COMMENT_BYTES_MAX = 0xffff;
const STORED = 0, DEFLATED = 8;
const ENCRYPTED = 1;
/** Stands where the archive needs zip64, for more than 4 GiB. */
const ZIP64 = 0xffff_ffff;

export interface ZipMember {
  readonly name: string;
  /** Bytes once unpacked. */
  readonly bytes: number;
  read(): Uint8Array;
}

/** The members of an archive; nothing is unpacked yet. */
export function readZip(bytes: Uint8Array, inflate: Inflate): ZipMember[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  let at = view.getUint32(end + 16, true);
  const members: ZipMember[] = [];
  for (let i = 0; i < count; i++) {
    if (at + CENTRAL.bytes > end || view.getUint32(at, true) !== CENTRAL.signature) {
      refuse("The archive's directory is damaged");
    }
    const nameBytes = view.getUint16(at + 28, true);
    const next = at + CENTRAL.bytes + nameBytes + view.getUint16(at + 30, true) +
      view.getUint16(at + 32, true);
    const name = new TextDecoder().decode(
      bytes.subarray(at + CENTRAL.bytes, at + CENTRAL.bytes + nameBytes),
    );
    members.push(memberAt(view, bytes, at, name, inflate));
    at = next;
  }
  return members;
}

function findEnd(view: DataView): number {
  const last = view.byteLength - END.bytes;
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES_MAX); at--) {
    if (view.getUint32(at, true) === END.signature) return at;
  }
  return refuse("The archive is cut off: it has no directory at its end");
}

function memberAt(
  view: DataView,
  bytes: Uint8Array,
  at: number,
  name: string,
  inflate: Inflate,
): ZipMember {
  const flags = view.getUint16(at + 8, true);
  const method = view.getUint16(at + 10, true);
  const crc = view.getUint32(at + 16, true);
  const packedBytes = view.getUint32(at + 20, true);
  const size = view.getUint32(at + 24, true);
  const local = view.getUint32(at + 42, true);
  return {
    name,
    bytes: size,
    read() {
      if ((flags & ENCRYPTED) !== 0) refuse(`"${name}" is encrypted`);
      if ([packedBytes, size, local].includes(ZIP64)) {
        refuse(`"${name}" has more than 4 GiB: save it as an .npy file`);
      }
      if (
        local + LOCAL.bytes > bytes.length || view.getUint32(local, true) !== LOCAL.signature
      ) refuse(`"${name}" is not where the archive's directory says`);
      const start = local + LOCAL.bytes + view.getUint16(local + 26, true) +
        view.getUint16(local + 28, true);
      if (start + packedBytes > bytes.length) refuse(`"${name}" is cut off`);
      const data = unpack(bytes.subarray(start, start + packedBytes), method, size, name, inflate);
      if (data.length !== size || crc32(data) !== crc) {
        refuse(`"${name}" is damaged: its checksum is another`);
      }
      return data;
    },
  };
}

function unpack(
  packed: Uint8Array,
  method: number,
  size: number,
  name: string,
  inflate: Inflate,
): Uint8Array {
  if (method === STORED) return packed;
  if (method !== DEFLATED) {
    refuse(`"${name}" is packed by method ${method}; numpy.savez and savez_compressed are taken`);
  }
  try {
    return inflate(packed, size);
  } catch {
    return refuse(`"${name}" is damaged: it cannot be unpacked`);
  }
}

function refuse(reason: string): never {
  throw new GanglionError("bad_array", reason);
}
