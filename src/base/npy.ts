/**
 * NumPy's `.npy` format, the part that a spike train needs: versions 1 to 3, C order, little-endian
 * numbers, read as f32; written as `<f4`, byte for byte as NumPy writes it. A header is data from
 * outside: nothing is allocated before its sizes agree with the bytes that are there.
 *
 * Every refusal is `bad_array`, with the reason; who reads a file says `input_unreadable` itself.
 */
import { GanglionError } from "./errors.ts";

export interface NpyArray {
  /** As NumPy names it: `<f4`, `|u1`, … */
  readonly dtype: string;
  /** Empty for a scalar. */
  readonly shape: number[];
  /** Row-major, rounded to f32. */
  readonly values: Float32Array;
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY
const HEADER_BYTES_MAX = 65_536;
const AXES_MAX = 32;
const FIELDS_MAX = 64;
const ALIGNMENT = 64;
/** NumPy leaves room for the first axis to grow to this many digits when a file is appended to. */
const GROWTH_DIGITS = 21;

interface ItemType {
  readonly bytes: number;
  read(data: ArrayBuffer): ArrayLike<number>;
}

const ITEM_TYPES: Readonly<Record<string, ItemType>> = {
  "<f4": { bytes: 4, read: (data) => new Float32Array(data) },
  "<f8": { bytes: 8, read: (data) => new Float64Array(data) },
  "|u1": { bytes: 1, read: (data) => new Uint8Array(data) },
  "|i1": { bytes: 1, read: (data) => new Int8Array(data) },
  "|b1": { bytes: 1, read: (data) => new Uint8Array(data).map((byte) => byte === 0 ? 0 : 1) },
  "<i2": { bytes: 2, read: (data) => new Int16Array(data) },
  "<i4": { bytes: 4, read: (data) => new Int32Array(data) },
  "<i8": { bytes: 8, read: (data) => Float64Array.from(new BigInt64Array(data), Number) },
};

/** The element types that `parseNpy` takes. */
export const NPY_DTYPES: readonly string[] = Object.keys(ITEM_TYPES);

/** What stands before the data of an array, for who reads a file piece by piece. */
export interface NpyHead {
  readonly dtype: string;
  readonly shape: number[];
  /** Values in all. */
  readonly count: number;
  readonly itemBytes: number;
  /** Where the data begins. */
  readonly dataStart: number;
}

/** A field of a structured array's records. */
export interface NpyField {
  readonly name: string;
  /** As NumPy names it. */
  readonly dtype: string;
  /** Place in the record, in bytes. */
  readonly offset: number;
}

/** What stands before the records of a structured array of one axis. */
export interface NpyRecords {
  readonly fields: readonly NpyField[];
  readonly count: number;
  readonly recordBytes: number;
  readonly dataStart: number;
}

/** Bytes from the start of a file that hold any head that is taken. */
export const NPY_HEAD_BYTES_MAX: number = 12 + HEADER_BYTES_MAX;

/** Reads one array. Throws `bad_array` for anything but what the head of this file says. */
export function parseNpy(bytes: Uint8Array): NpyArray {
  const { dtype, shape, dataStart } = parseNpyHead(bytes, bytes.byteLength);
  return { dtype, shape, values: npyValues(dtype, bytes.subarray(dataStart)) };
}

/** The head of an array of `fileBytes` bytes, of which the first are given. Throws as `parseNpy`. */
export function parseNpyHead(bytes: Uint8Array, fileBytes: number): NpyHead {
  const { text, dataStart } = readHeader(bytes);
  const { descr, fortranOrder, shape } = parseHeader(text);
  if (typeof descr !== "string") refuse("Structured element types are not taken");
  const dtype = canonicalDtype(descr);
  const type = ITEM_TYPES[dtype];
  if (type === undefined) {
    refuse(`Element type "${descr.slice(0, 40)}" is not taken; taken are ${NPY_DTYPES.join(" ")}`);
  }
  if (fortranOrder) refuse("The array is in Fortran order; save it with numpy.ascontiguousarray");
  const dataBytes = fileBytes - dataStart;
  const count = countValues(shape, Math.floor(dataBytes / type.bytes));
  if (count === null || count * type.bytes !== dataBytes) {
    refuse(
      `Shape [${shape.join(", ")}] of "${dtype}" does not fit the ${dataBytes} bytes of data`,
    );
  }
  return { dtype, shape, count, itemBytes: type.bytes, dataStart };
}

/** Whether an array's elements are records. Throws as `parseNpy` where its header cannot be read. */
export function isStructuredNpy(bytes: Uint8Array): boolean {
  return typeof parseHeader(readHeader(bytes).text).descr !== "string";
}

/**
 * The head of an array `[n]` of records; one of plain values has a single field without a name. Which
 * types its fields may have is for the caller to say. Throws as `parseNpy`.
 */
export function parseNpyRecords(bytes: Uint8Array, fileBytes: number): NpyRecords {
  const { text, dataStart } = readHeader(bytes);
  const { descr, shape } = parseHeader(text);
  const fields: NpyField[] = [];
  let recordBytes = 0;
  for (const [name, dtype] of typeof descr === "string" ? [["", descr] as const] : descr) {
    fields.push({ name, dtype: canonicalDtype(dtype), offset: recordBytes });
    recordBytes += fieldBytes(name, dtype);
  }
  const [count] = shape;
  const dataBytes = fileBytes - dataStart;
  if (count === undefined || shape.length > 1 || count * recordBytes !== dataBytes) {
    refuse(
      `Shape [${shape.join(", ")}] of records of ${recordBytes} bytes does not fit the ` +
        `${dataBytes} bytes of data`,
    );
  }
  return { fields, count, recordBytes, dataStart };
}

/** Bytes of one value; padding of an aligned record is `|V3`. */
function fieldBytes(name: string, dtype: string): number {
  const bytes = /^[<>|=]?[?bBiufV](\d{1,3})$/.exec(dtype)?.[1];
  return bytes === undefined
    ? refuse(`Field "${name}" has the element type "${dtype.slice(0, 40)}", which is not taken`)
    : Number(bytes);
}

/** Whole values of a dtype of `NPY_DTYPES` from their bytes, rounded to f32. */
export function npyValues(dtype: string, bytes: Uint8Array): Float32Array {
  // A copy, because the data need not lie at a multiple of its element size. (Not by `slice`: that of
  // a Node Buffer copies nothing.)
  const values = ITEM_TYPES[dtype]!.read(new Uint8Array(bytes).buffer);
  return values instanceof Float32Array ? values : new Float32Array(values);
}

/** The file of a `<f4` array, format version 1. */
export function writeNpy(values: Float32Array, shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const count = countValues(shape, values.length);
  if (count !== values.length) {
    throw new RangeError(`Shape [${shape.join(", ")}] does not hold ${values.length} values`);
  }
  const head = writeNpyHead(shape);
  const bytes = new Uint8Array(head.length + values.byteLength);
  bytes.set(head);
  bytes.set(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), head.length);
  return bytes;
}

/** What stands before the data of a `<f4` array of that shape. */
export function writeNpyHead(shape: readonly number[]): Uint8Array<ArrayBuffer> {
  const axes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  let header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${axes}), }`;
  if (shape.length > 0) header += " ".repeat(GROWTH_DIGITS - String(shape[0]).length);
  const used = MAGIC.length + 4 + header.length + 1;
  header += " ".repeat((ALIGNMENT - used % ALIGNMENT) % ALIGNMENT) + "\n";

  const bytes = new Uint8Array(MAGIC.length + 4 + header.length);
  bytes.set(MAGIC);
  bytes.set([1, 0, header.length & 0xff, header.length >> 8], MAGIC.length);
  bytes.set(new TextEncoder().encode(header), MAGIC.length + 4);
  return bytes;
}

function refuse(reason: string): never {
  throw new GanglionError("bad_array", reason);
}

/** Product of a shape, or null where it exceeds `max` (so that it never overflows). */
function countValues(shape: readonly number[], max: number): number | null {
  if (shape.includes(0)) return 0;
  let count = 1;
  for (const axis of shape) {
    if (axis > max / count) return null;
    count *= axis;
  }
  return count;
}

function readHeader(bytes: Uint8Array): { text: string; dataStart: number } {
  if (bytes.byteLength < 10 || MAGIC.some((byte, i) => bytes[i] !== byte)) {
    refuse("This is not an .npy array: it does not begin with \\x93NUMPY");
  }
  const version = bytes[6]!;
  if (version < 1 || version > 3 || bytes[7] !== 0) {
    refuse(`Format version ${version}.${bytes[7]} of .npy is not known; known are 1.0, 2.0, 3.0`);
  }
  const headerStart = version === 1 ? 10 : 12;
  if (bytes.byteLength < headerStart) refuse("The array is cut off inside its header");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > HEADER_BYTES_MAX) {
    refuse(`The header has ${length} bytes, more than ${HEADER_BYTES_MAX}`);
  }
  const dataStart = headerStart + length;
  if (bytes.byteLength < dataStart) refuse("The array is cut off inside its header");
  const encoding = version === 3 ? "utf-8" : "latin1";
  const text = new TextDecoder(encoding).decode(bytes.subarray(headerStart, dataStart));
  return { text, dataStart };
}

/** One-byte types have no byte order, whatever a writer says; `=` and big-endian stay as they are. */
function canonicalDtype(descr: string): string {
  return /^[<>|=]?[uib]1$/.test(descr) ? `|${descr.slice(-2)}` : descr;
}

interface Header {
  /** Of a structured array `[name, dtype]` of every field. */
  readonly descr: string | (readonly [name: string, dtype: string])[];
  readonly fortranOrder: boolean;
  readonly shape: number[];
}

const TOKEN = /\s*(?:('[^'\\\n]*'|"[^"\\\n]*")|(\d+)L?|(True|False)|([{}()[\]:,]))/y;

/** The header is a Python dict with exactly three keys. */
function parseHeader(text: string): Header {
  const tokens = tokenise(text);
  let at = 0;
  const peek = (): string | undefined => tokens[at];
  const next = (): string => tokens[at++] ?? refuse("The header ends too early");
  const take = (wanted: string): void => {
    const token = next();
    if (token !== wanted) refuse(`The header has ${token} where ${wanted} belongs`);
  };
  const values = new Map<string, string | boolean | number[] | [string, string][]>();
  take("{");
  while (peek() !== "}") {
    const key = unquote(next());
    take(":");
    if (values.has(key)) refuse(`The header gives "${key}" twice`);
    const isFields = key === "descr" && peek() === "[";
    values.set(key, isFields ? parseFields(next, peek, take) : parseValue(key, next, peek));
    if (peek() === ",") next();
    else if (peek() !== "}") refuse("The header lacks a comma");
  }
  take("}");
  if (peek() !== undefined) refuse("The header goes on after its closing brace");
  const descr = values.get("descr");
  const fortranOrder = values.get("fortran_order");
  const shape = values.get("shape");
  const isDescr = typeof descr === "string" || isFields(descr);
  const isShape = Array.isArray(shape) && !isFields(shape);
  if (values.size !== 3 || !isDescr || typeof fortranOrder !== "boolean" || !isShape) {
    refuse("The header must give descr, fortran_order and shape, and nothing else");
  }
  return { descr, fortranOrder, shape };
}

const isFields = (value: unknown): value is [string, string][] =>
  Array.isArray(value) && Array.isArray(value[0]);

/** `[('x', '<i2'), ('t', '<i8')]`; a field that is an array itself is not taken. */
function parseFields(
  next: () => string,
  peek: () => string | undefined,
  take: (wanted: string) => void,
): [string, string][] {
  const fields: [string, string][] = [];
  take("[");
  while (peek() !== "]") {
    take("(");
    const name = unquote(next());
    take(",");
    const dtype = unquote(next());
    take(")");
    fields.push([name, dtype]);
    if (fields.length > FIELDS_MAX) refuse(`The array has more than ${FIELDS_MAX} fields`);
    if (peek() === ",") next();
    else if (peek() !== "]") refuse("The header lacks a comma");
  }
  next();
  if (fields.length === 0) refuse("The array's records have no fields");
  return fields;
}

function parseValue(
  key: string,
  next: () => string,
  peek: () => string | undefined,
): string | boolean | number[] {
  const token = next();
  if (token === "True" || token === "False") return token === "True";
  if (token !== "(") return unquote(token);
  const axes: number[] = [];
  while (peek() !== ")") {
    const axis = next();
    if (!/^\d+$/.test(axis)) refuse(`The header has ${axis} in "${key}"`);
    if (!Number.isSafeInteger(Number(axis))) refuse(`An axis of ${axis} is too long`);
    axes.push(Number(axis));
    if (axes.length > AXES_MAX) refuse(`The array has more than ${AXES_MAX} axes`);
    if (peek() === ",") next();
    else if (peek() !== ")" || axes.length === 1) refuse("The header's shape is not a tuple");
  }
  next();
  return axes;
}

function tokenise(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) refuse(`The header cannot be read at character ${at}`);
    tokens.push(match[1] ?? match[2] ?? match[3] ?? match[4]!);
  }
  return tokens;
}

function unquote(token: string): string {
  if (!/^['"]/.test(token)) refuse(`The header has ${token} where a string belongs`);
  return token.slice(1, -1);
}
