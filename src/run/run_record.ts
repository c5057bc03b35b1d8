/**
 * `run.json`: how the model file beside it is read, fed and read out. Text ↔ record; checked by hand,
 * so that an error names the field. Knows no files: who opens the folder is `load_run.ts`.
 */
import { GanglionError } from "../base/errors.ts";
import { FieldReader } from "../base/field_reader.ts";
import { LIMITS } from "../base/limits.ts";
import type { CompileOptions, FieldLike, Plan } from "../model/mod.ts";
import { readEncoder } from "./encoder_record.ts";
import { type Encoder, EVENTS, takesRecordings } from "./encoders.ts";
import { type ReadoutName, READOUTS } from "./readouts.ts";

export const RUN_FILE = "run.json";
export const MODEL_FILE = "model.nir";
const VERSION = 1;
const NAMES_MAX = 100_000;

export type RunOptions = Omit<CompileOptions, "name" | "dt">;

/** What is not there is left open: the file's own, or the default. */
export interface RunRecord {
  /** Name of the model file in the same folder. */
  readonly model: string;
  /** Parameters in place of the model's own: a `.safetensors` file of `node.field` tensors. */
  readonly variables?: string;
  readonly encoder: Encoder;
  readonly readout?: ReadoutName;
  /** Name of each class, one a value of the output. */
  readonly labels?: readonly string[];
  /** Seconds a step. */
  readonly dt?: number;
  /** Most steps that a session advances in one step of the server. */
  readonly frame?: number;
  /** Call-time parameters, `node.field` to its value. */
  readonly call?: Readonly<Record<string, FieldLike>>;
  /** How the model file is read where NIR leaves a choice. */
  readonly options?: RunOptions;
}

const FIELDS = [
  "version",
  "model",
  "variables",
  "encoder",
  "readout",
  "labels",
  "dt",
  "frame",
  "call",
  "options",
] as const;

/** The options that a run may set. Their choices are judged where models are compiled. */
const OPTIONS: Readonly<Record<keyof RunOptions, "word" | "flag" | "edges">> = {
  discretization: "word",
  compare: "word",
  reset: "word",
  ifGain: "word",
  cubaOrder: "word",
  dialect: "word",
  gain: "word",
  form: "word",
  spikes: "word",
  late: "word",
  synapse: "word",
  rest: "word",
  clamp: "flag",
  flattenBatch: "flag",
  strict: "flag",
  cut: "edges",
};

/** Reads the text of a `run.json`. `file` is how errors call it. Throws `run_invalid`. */
export function parseRun(text: string, file: string = RUN_FILE): RunRecord {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new GanglionError("run_invalid", `${file} is not JSON: ${reason}`);
  }
  const fields = new FieldReader(json, file, "run_invalid");
  if (fields.has("class")) {
    throw new GanglionError(
      "run_invalid",
      `${file} has "class": it is the record of a Python program, whose classes cannot run here; ` +
        "export the model as NIR and describe the run with the fields of docs/runs.md",
      { field: "class" },
    );
  }
  return readRecord(fields);
}

function readRecord(fields: FieldReader): RunRecord {
  fields.only(FIELDS, "a run");
  if (fields.whole("version", 1, Number.MAX_SAFE_INTEGER, VERSION) > VERSION) {
    throw fields.wrong("version", `must be ${VERSION}, the newest that is known`);
  }
  const given = <T>(name: keyof RunRecord, read: () => T): { readonly [key: string]: T } =>
    fields.has(name) ? { [name]: read() } : {};
  return {
    model: fields.fileName("model", MODEL_FILE),
    ...given("variables", () => fields.fileName("variables")),
    encoder: fields.has("encoder") ? readEncoder(fields.inner("encoder")) : EVENTS,
    ...given("readout", () => fields.choice("readout", READOUTS)),
    ...given("labels", () => readLabels(fields)),
    ...given("dt", () => readDt(fields)),
    ...given("frame", () => fields.whole("frame", LIMITS.frame.min, LIMITS.frame.max)),
    ...given("call", () => readCall(fields.inner("call"))),
    ...given("options", () => readOptions(fields.inner("options"))),
  };
}

/** The text of a `run.json`, fields in the order of the table. */
export function writeRun(record: RunRecord): string {
  const all: Readonly<Record<string, unknown>> = { version: VERSION, ...record };
  const sorted = FIELDS.filter((name) => all[name] !== undefined).map((name) => [name, all[name]]);
  return `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`;
}

/** Throws `run_invalid` where a run and its compiled model do not fit. */
export function checkRun({ labels, encoder }: RunRecord, plan: Plan): void {
  if (labels !== undefined && labels.length !== plan.outputSize) {
    throw new GanglionError(
      "run_invalid",
      `"labels" has ${labels.length} names, the model has ${plan.outputSize} outputs`,
      { field: "labels" },
    );
  }
  if (takesRecordings(encoder) && encoder.timeAxis > plan.sampleShape.length) {
    throw new GanglionError(
      "run_invalid",
      `"encoder.timeAxis" is ${encoder.timeAxis}, but a recording of this model has ` +
        `${plan.sampleShape.length + 1} axes`,
      { field: "encoder.timeAxis" },
    );
  }
}

function readLabels(fields: FieldReader): readonly string[] {
  const labels = fields.texts("labels");
  if (labels.length === 0 || labels.length > NAMES_MAX) {
    throw fields.wrong("labels", `must hold 1 to ${NAMES_MAX} names`);
  }
  return labels;
}

function readDt(fields: FieldReader): number {
  const dt = fields.number("dt");
  if (!(dt > 0)) throw fields.wrong("dt", "must be a positive number of seconds");
  return dt;
}

function readCall(fields: FieldReader): Readonly<Record<string, FieldLike>> {
  return Object.fromEntries(
    fields.names().map((name) => {
      const value = fields.raw(name);
      if (!isNumbers(value)) {
        throw fields.wrong(name, "must be a number or nested lists of numbers");
      }
      return [name, value];
    }),
  );
}

function isNumbers(value: unknown): value is FieldLike {
  return Array.isArray(value)
    ? value.length > 0 && value.every(isNumbers)
    : typeof value === "number" && Number.isFinite(value);
}

function readOptions(fields: FieldReader): RunOptions {
  fields.only(Object.keys(OPTIONS), "the options");
  const read = (name: keyof RunOptions): unknown => {
    const form = OPTIONS[name];
    if (form === "flag") return fields.flag(name, false);
    const value = fields.raw(name);
    if (form === "word") {
      if (typeof value === "string") return value;
      throw fields.wrong(name, "must be a word");
    }
    const pairs = Array.isArray(value) &&
      value.every((pair) =>
        Array.isArray(pair) && pair.length === 2 && pair.every((end) => typeof end === "string")
      );
    if (pairs) return value;
    throw fields.wrong(name, 'must be a list of pairs of node names, [["a", "b"]]');
  };
  return Object.fromEntries(
    fields.names().map((name) => [name, read(name as keyof RunOptions)]),
  ) as RunOptions;
}
