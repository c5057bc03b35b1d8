/**
 * The files that recordings come in, each as an `.npy` array, which `recordings.ts` reads piece by piece: an
 * `.npy` array as it is; one array of an `.npz` archive; a table of numbers (`.csv`, `.txt`), a row a step;
 * events (a structured `.npy`, an `.npz` with one array a field, or a table), as counts in bins of
 * `--bin-us`. What a file is is seen from its first bytes, and from its name where it is text.
 */
import { inflateRawSync } from "node:zlib";
import { GanglionError } from "../base/errors.ts";
import { isStructuredNpy, NPY_HEAD_BYTES_MAX, writeNpy } from "../base/npy.ts";
import { readZip } from "../base/zip.ts";
import type { PartReader } from "../runtime/mod.ts";
import { binEvents, type Events } from "./event_bins.ts";
import { columnEvents, fieldNames, recordEvents, tableEvents } from "./event_files.ts";
import { parseNumberTable } from "./number_table.ts";
import { explained, type SampleShape } from "./sample_shape.ts";

export interface InputChoice {
  /** Makes events into steps: microseconds of one. */
  readonly binUs?: number | undefined;
  /** The array of an archive. */
  readonly array?: string | undefined;
}

/** Where an array is read from, and what it is called. */
export interface ArrayFile {
  readonly label: string;
  readonly reader: PartReader;
  /** `table` and `events` have time first, whatever the run's encoder says: they were made so. */
  readonly made: "array" | "table" | "events";
  /** What was made of events, for people. */
  readonly note?: string;
}

/** Archives, tables and events are held whole. */
const WHOLE_BYTES_MAX = 2 ** 30;
const TEXT_BYTES_MAX = 2 ** 28;
const ZIP_MAGIC = [0x50, 0x4b];
const NPY_MAGIC = [0x93, 0x4e];
const TEXT_NAME = /\.(csv|tsv|txt|dat)$/i;
/** Arrays of these names are taken from an archive that has several. */
const USUAL_NAMES = ["input", "inputs", "data", "x"];

/** An open file as an array. Throws `input_unreadable` and `bad_array`. */
export async function openArray(
  path: string,
  file: PartReader,
  model: SampleShape,
  choice: InputChoice,
): Promise<ArrayFile> {
  const head = await file.read(0, Math.min(file.bytes, NPY_HEAD_BYTES_MAX));
  const begins = (magic: readonly number[]) => magic.every((byte, i) => head[i] === byte);
  if (begins(ZIP_MAGIC)) return await openArchive(path, file, model, choice);
  refuseFor(path, choice.array, "--array", "an .npz archive");
  if (TEXT_NAME.test(path) && !begins(NPY_MAGIC)) return await openText(path, file, model, choice);
  if (begins(NPY_MAGIC)) {
    if (explained(path, () => isStructuredNpy(head))) {
      checkSize(path, file.bytes, WHOLE_BYTES_MAX);
      const bytes = await file.read(0, file.bytes);
      return binned(path, recordEvents(path, bytes), model, choice);
    }
  }
  refuseFor(path, choice.binUs, "--bin-us", "events");
  return { label: path, reader: file, made: "array" };
}

function refuseFor(path: string, flag: unknown, name: string, what: string): void {
  if (flag === undefined) return;
  throw new GanglionError("usage", `${name} is for ${what}, and ${path} is none`);
}

function checkSize(path: string, bytes: number, bytesMax: number): void {
  if (bytes <= bytesMax) return;
  throw new GanglionError(
    "input_unreadable",
    `${path} has ${bytes} bytes, at most ${bytesMax} are taken: save it as an .npy array`,
    { path },
  );
}

async function openArchive(
  path: string,
  file: PartReader,
  model: SampleShape,
  choice: InputChoice,
): Promise<ArrayFile> {
  checkSize(path, file.bytes, WHOLE_BYTES_MAX);
  const bytes = await file.read(0, file.bytes);
  const members = explained(path, () => readZip(bytes, inflateAtMost));
  const arrays = new Map(
    members.filter(({ name }) => name.endsWith(".npy"))
      .map((member) => [member.name.slice(0, -4), member] as const),
  );
  const names = [...arrays.keys()];
  if (names.length === 0) {
    throw new GanglionError("input_unreadable", `${path} is an archive without arrays`, { path });
  }
  const read = (name: string): Uint8Array => {
    const member = arrays.get(name)!;
    checkSize(`${path}, "${name}"`, member.bytes, WHOLE_BYTES_MAX);
    return explained(path, () => member.read());
  };
  const { array } = choice;
  const columns = array === undefined ? fieldNames(names) : null;
  if (columns?.t !== undefined && columns.x !== undefined) {
    return binned(path, columnEvents(path, columns, read), model, choice);
  }
  const usual = names.find((name) => USUAL_NAMES.includes(name));
  const wanted = array ?? (names.length === 1 ? names[0] : usual);
  if (wanted === undefined || !arrays.has(wanted)) {
    throw new GanglionError(
      "usage",
      `${path} holds ${names.join(", ")}: ` +
        (array === undefined ? "choose one with --array" : `there is no "${array}"`),
    );
  }
  return openMember(path, wanted, read(wanted), model, choice);
}

/** One array of an archive, which may be of records itself. */
function openMember(
  path: string,
  name: string,
  data: Uint8Array,
  model: SampleShape,
  choice: InputChoice,
): ArrayFile {
  const label = `${path}, "${name}"`;
  if (explained(label, () => isStructuredNpy(data))) {
    return binned(label, recordEvents(label, data), model, choice);
  }
  refuseFor(label, choice.binUs, "--bin-us", "events");
  return { label, reader: memoryReader(data), made: "array" };
}

const inflateAtMost = (data: Uint8Array, bytesMax: number): Uint8Array =>
  new Uint8Array(inflateRawSync(data, { maxOutputLength: Math.max(1, bytesMax) }));

async function openText(
  path: string,
  file: PartReader,
  model: SampleShape,
  choice: InputChoice,
): Promise<ArrayFile> {
  checkSize(path, file.bytes, TEXT_BYTES_MAX);
  const bytes = await file.read(0, file.bytes);
  if (bytes.includes(0)) {
    throw new GanglionError(
      "input_unreadable",
      `${path} holds bytes, not text: save its events as .npy, .npz or .csv`,
      { path },
    );
  }
  const table = parseNumberTable(path, new TextDecoder().decode(bytes));
  if (choice.binUs !== undefined) {
    return binned(path, tableEvents(path, table), model, choice);
  }
  const { names, columns, rows, values } = table;
  const named = fieldNames(names ?? []);
  if (columns !== model.sampleSize && (named.t !== undefined || (columns > 1 && columns < 5))) {
    throw new GanglionError(
      "bad_array",
      `${path} has ${columns} columns, a time step of the model ${model.sampleSize}; ` +
        "if these are events (t, x, y, p), give --bin-us",
      { path },
    );
  }
  const array = writeNpy(Float32Array.from(values), [rows, columns]);
  return { label: path, reader: memoryReader(array), made: "table" };
}

/** Events as counts in bins. */
function binned(
  label: string,
  events: Events,
  model: SampleShape,
  { binUs }: InputChoice,
): ArrayFile {
  if (binUs === undefined) {
    throw new GanglionError(
      "usage",
      `${label} holds events: give the length of a time step in microseconds with --bin-us`,
    );
  }
  const { values, steps } = binEvents(label, events, binUs, model);
  const note = `${label}: ${events.t.length} events in ${steps} steps of ${binUs} us`;
  const array = writeNpy(values, [steps, ...model.sampleShape]);
  return { label, reader: memoryReader(array), made: "events", note };
}

function memoryReader(bytes: Uint8Array): PartReader {
  return {
    bytes: bytes.length,
    read: (at, length) => Promise.resolve(new Uint8Array(bytes.subarray(at, at + length))),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
