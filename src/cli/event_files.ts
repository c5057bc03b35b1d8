/**
 * Events out of the files that they are kept in: a structured array with fields x, y, t, p (as tonic and
 * others give), an archive with one array a field, or a table. Fields are known by their names.
 */
import { GanglionError } from "../base/errors.ts";
import { type NpyField, parseNpyRecords } from "../base/npy.ts";
import type { Events } from "./event_bins.ts";
import type { NumberTable } from "./number_table.ts";
import { explained } from "./sample_shape.ts";

/** Names of a field, as others write them. */
const FIELDS = {
  t: ["t", "ts", "time", "timestamp"],
  x: ["x"],
  y: ["y"],
  p: ["p", "pol", "polarity"],
};

type Columns<T> = { [K in keyof typeof FIELDS]?: T };

/** Which of the names are fields of events. */
export function fieldNames(names: readonly string[]): Columns<string> {
  const found: Columns<string> = {};
  for (const key of Object.keys(FIELDS) as (keyof typeof FIELDS)[]) {
    const name = names.find((each) => FIELDS[key].includes(each.toLowerCase()));
    if (name !== undefined) found[key] = name;
  }
  return found;
}

export function tableEvents(
  path: string,
  { names, columns, rows, values, lineOf }: NumberTable,
): Events {
  // Without names: the order of event-camera files.
  const order = names ?? ["t", "x", "y", "p"].slice(0, columns);
  const named = fieldNames(order);
  if (columns > 4 && names === null || named.t === undefined || named.x === undefined) {
    throw new GanglionError(
      "bad_array",
      `${path} has ${names === null ? `${columns} columns` : `the columns ${order.join(", ")}`}; ` +
        "events have t, x, y, p, or names in the first line that say which is which",
      { path },
    );
  }
  const column = (name: string | undefined): Float64Array | null => {
    if (name === undefined) return null;
    const at = order.indexOf(name);
    return Float64Array.from({ length: rows }, (_, row) => values[row * columns + at]!);
  };
  return {
    t: column(named.t)!,
    x: column(named.x)!,
    y: column(named.y),
    p: column(named.p),
    place: (i) => `line ${lineOf(i)}`,
  };
}

const placeOfEvent = (i: number): string => `event ${i}`;

/** Fields of an archive, an array each. */
export function columnEvents(
  path: string,
  named: Columns<string>,
  read: (name: string) => Uint8Array,
): Events {
  const column = (name: string | undefined): Float64Array | null => {
    if (name === undefined) return null;
    const data = read(name);
    return explained(`${path}, "${name}"`, () => columnOf(data));
  };
  const events = {
    t: column(named.t)!,
    x: column(named.x)!,
    y: column(named.y),
    p: column(named.p),
    place: placeOfEvent,
  };
  for (const [field, values] of Object.entries({ x: events.x, y: events.y, p: events.p })) {
    if (values !== null && values.length !== events.t.length) {
      throw new GanglionError(
        "bad_array",
        `${path}: ${named.t} has ${events.t.length} events, ${field} ${values.length}`,
        { path },
      );
    }
  }
  return events;
}

export function recordEvents(path: string, bytes: Uint8Array): Events {
  const { fields, count, recordBytes, dataStart } = explained(
    path,
    () => parseNpyRecords(bytes, bytes.length),
  );
  const named = fieldNames(fields.map(({ name }) => name));
  if (named.t === undefined || named.x === undefined) {
    throw new GanglionError(
      "bad_array",
      `${path} has the fields ${fields.map(({ name }) => name).join(", ")}; ` +
        "events have x, y, t, p, as tonic and others save them",
      { path },
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset + dataStart);
  const column = (name: string | undefined): Float64Array | null => {
    const field = fields.find((each) => each.name === name);
    if (name === undefined || field === undefined) return null;
    const read = explained(path, () => scalarReader(field));
    return Float64Array.from(
      { length: count },
      (_, i) => read(view, i * recordBytes + field.offset),
    );
  };
  return {
    t: column(named.t)!,
    x: column(named.x)!,
    y: column(named.y),
    p: column(named.p),
    place: placeOfEvent,
  };
}

/** An array of an archive as one field: any integers, exact up to 2^53. */
function columnOf(data: Uint8Array): Float64Array {
  const { fields: [field], count, recordBytes, dataStart } = parseNpyRecords(data, data.length);
  const view = new DataView(data.buffer, data.byteOffset + dataStart);
  const read = scalarReader(field!);
  return Float64Array.from({ length: count }, (_, i) => read(view, i * recordBytes));
}

const SCALARS: Readonly<Record<string, (view: DataView, at: number) => number>> = {
  "|b1": (view, at) => Number(view.getUint8(at) !== 0),
  "|u1": (view, at) => view.getUint8(at),
  "|i1": (view, at) => view.getInt8(at),
  "<u2": (view, at) => view.getUint16(at, true),
  "<i2": (view, at) => view.getInt16(at, true),
  "<u4": (view, at) => view.getUint32(at, true),
  "<i4": (view, at) => view.getInt32(at, true),
  "<u8": (view, at) => Number(view.getBigUint64(at, true)),
  "<i8": (view, at) => Number(view.getBigInt64(at, true)),
  "<f4": (view, at) => view.getFloat32(at, true),
  "<f8": (view, at) => view.getFloat64(at, true),
};

function scalarReader({ name, dtype }: NpyField): (view: DataView, at: number) => number {
  const reader = SCALARS[dtype];
  if (reader !== undefined) return reader;
  throw new GanglionError(
    "bad_array",
    `${name === "" ? "It" : `Field "${name}"`} has the element type "${dtype}"; taken are ${
      Object.keys(SCALARS).join(" ")
    }`,
  );
}
