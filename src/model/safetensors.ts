/**
 * Weight files in the safetensors format: a length, a JSON header of names, types, shapes and places, then
 * the bytes. Everything is checked before anything is allocated; numbers come out as f32 or f64.
 */
import { GanglionError } from "../base/errors.ts";
import { LIMITS } from "../base/limits.ts";

export interface Tensor {
  readonly shape: readonly number[];
  readonly data: Float32Array | Float64Array;
}

const HEADER_BYTES_MAX = 16 << 20;
const PREFIX_BYTES = 8;

interface Form {
  readonly bytes: number;
  readonly read: (view: DataView, at: number) => number;
  /** Needs f64 to keep its values. */
  readonly wide?: true;
}

const FORMS: Readonly<Record<string, Form>> = {
  F64: { bytes: 8, read: (view, at) => view.getFloat64(at, true), wide: true },
  F32: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  F16: { bytes: 2, read: (view, at) => half(view.getUint16(at, true)) },
  BF16: { bytes: 2, read: (view, at) => brain(view.getUint16(at, true)) },
  I64: { bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)), wide: true },
  I32: { bytes: 4, read: (view, at) => view.getInt32(at, true), wide: true },
  I16: { bytes: 2, read: (view, at) => view.getInt16(at, true) },
  I8: { bytes: 1, read: (view, at) => view.getInt8(at) },
  U8: { bytes: 1, read: (view, at) => view.getUint8(at) },
  BOOL: { bytes: 1, read: (view, at) => view.getUint8(at) },
};

/**
 * The tensors of a safetensors file by name.
 *
 * @throws GanglionError `model_unreadable` saying what is wrong with which tensor.
 */
export function readSafetensors(bytes: Uint8Array): Record<string, Tensor> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < PREFIX_BYTES) throw unreadable("it is shorter than its header's length");
  const length = Number(view.getBigUint64(0, true));
  const begin = PREFIX_BYTES + length;
  if (length > HEADER_BYTES_MAX || begin > bytes.length) {
    throw unreadable(`its header would have ${length} bytes, of a file of ${bytes.length}`);
  }
  const entries = headerOf(bytes.subarray(PREFIX_BYTES, begin));
  const held = bytes.length - begin;
  // In the order of their places, they must fill the file: nothing shared, nothing hidden.
  const inOrder = entries.toSorted((a, b) => a.from - b.from || a.to - b.to);
  let end = 0;
  for (const { name, from, to } of inOrder) {
    if (from !== end || to > held) throw unreadable(`tensor "${name}" lies at ${from} to ${to}`);
    end = to;
  }
  if (end !== held) throw unreadable(`${held - end} bytes belong to no tensor`);
  return Object.fromEntries(entries.map(({ name, form, shape, from, to }) => {
    const count = (to - from) / form.bytes;
    const data = form.wide ? new Float64Array(count) : new Float32Array(count);
    for (let i = 0; i < count; i++) data[i] = form.read(view, begin + from + i * form.bytes);
    return [name, { shape, data }];
  }));
}

interface Entry {
  readonly name: string;
  readonly form: Form;
  readonly shape: readonly number[];
  readonly from: number;
  readonly to: number;
}

function headerOf(bytes: Uint8Array): Entry[] {
  let header: unknown;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw unreadable("its header is no JSON");
  }
  if (typeof header !== "object" || header === null || Array.isArray(header)) {
    throw unreadable("its header is no object");
  }
  const tensors = Object.entries(header).filter(([name]) => name !== "__metadata__");
  if (tensors.length > LIMITS.modelNodesMax.default) {
    throw unreadable(`it has ${tensors.length} tensors`);
  }
  return tensors.map(([name, entry]): Entry => {
    const { dtype, shape, data_offsets: offsets } = (entry ?? {}) as Record<string, unknown>;
    const form = FORMS[String(dtype)];
    if (form === undefined) {
      throw unreadable(`tensor "${name}" has the type ${String(dtype)}, not ${Object.keys(FORMS)}`);
    }
    if (!isWhole(shape) || !isWhole(offsets) || offsets.length !== 2) {
      throw unreadable(`tensor "${name}" has no shape or place`);
    }
    const [from, to] = offsets as [number, number];
    const wanted = shape.reduce((product, axis) => product * axis, form.bytes);
    if (to - from !== wanted) {
      throw unreadable(`tensor "${name}" of [${shape}] has ${to - from} bytes, not ${wanted}`);
    }
    return { name, form, shape, from, to };
  });
}

function isWhole(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= 16 &&
    value.every((each) => Number.isSafeInteger(each) && each >= 0);
}

/** Tensors as the bytes of a safetensors file, f32, sorted by name; the same tensors, the same bytes. */
export function writeSafetensors(
  tensors: Readonly<Record<string, { shape: readonly number[]; data: ArrayLike<number> }>>,
): Uint8Array<ArrayBuffer> {
  const names = Object.keys(tensors).sort();
  let end = 0;
  const header = names.map((name): [string, unknown] => {
    const { shape, data } = tensors[name]!;
    const count = shape.reduce((product, axis) => product * axis, 1);
    if (count !== data.length) {
      throw new GanglionError(
        "usage",
        `The tensor "${name}" has ${data.length} values, which do not fill [${shape}]`,
      );
    }
    return [name, { dtype: "F32", shape, data_offsets: [end, end += 4 * count] }];
  });
  const text = JSON.stringify(Object.fromEntries(header));
  const odd = new TextEncoder().encode(text).length % 8;
  const head = new TextEncoder().encode(text + " ".repeat((8 - odd) % 8));
  const bytes = new Uint8Array(PREFIX_BYTES + head.length + end);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(head.length), true);
  bytes.set(head, PREFIX_BYTES);
  let at = PREFIX_BYTES + head.length;
  for (const name of names) {
    const { data } = tensors[name]!;
    for (let i = 0; i < data.length; i++, at += 4) view.setFloat32(at, data[i]!, true);
  }
  return bytes;
}

function half(bits: number): number {
  const sign = bits >> 15 === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const rest = bits & 1023;
  if (exponent === 31) return rest === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * rest * 2 ** -24;
  return sign * (1 + rest / 1024) * 2 ** (exponent - 15);
}

function brain(bits: number): number {
  return new Float32Array(Uint32Array.of(bits << 16).buffer)[0]!;
}

function unreadable(text: string): GanglionError {
  return new GanglionError("model_unreadable", `The safetensors file cannot be read: ${text}`);
}
