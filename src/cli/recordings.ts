/**
 * The input of `infer`, `compare` and `load`: a file as recordings for a model, encoded as the run says.
 * Reads one recording at a time. Says what is wrong with the path, the recording and the place.
 */
import { GanglionError } from "../base/errors.ts";
import { firstNonFinite, sizeOf } from "../base/numeric.ts";
import {
  NPY_HEAD_BYTES_MAX,
  type NpyHead,
  npyValues,
  parseNpy,
  parseNpyHead,
} from "../base/npy.ts";
import {
  type Encoder,
  encodeSample,
  recordingEncoder,
  scaleBytes,
  scalesBytes,
  takesRecordings,
  timeFirst,
} from "../run/mod.ts";
import { openPartReader, type PartReader, readFileLimited } from "../runtime/mod.ts";
import { type InputChoice, openArray } from "./input_files.ts";
import { explained, type SampleShape } from "./sample_shape.ts";

export interface RecordingFile {
  readonly count: number;
  /** Steps of each recording, once encoded. */
  readonly steps: number;
  /** The file holds one recording without an axis that counts them. */
  readonly single: boolean;
  /** How the file was understood, for people; where there is a choice. */
  readonly note?: string;
  /** `[steps, sampleSize]`. */
  readonly read: (index: number) => Promise<Float32Array>;
}

/** An array file is held whole, as f32, only where it is small by nature. */
const SMALL_BYTES_MAX = 2 ** 32;

/** Reads an array whole: labels, or what another program gave. Throws `input_unreadable`. */
export async function readArray(path: string) {
  const bytes = await readFileLimited(path, SMALL_BYTES_MAX);
  return explained(path, () => parseNpy(bytes));
}

/** How an array's axes are to be understood. */
interface Layout {
  readonly single: boolean;
  /** Shape of one recording or sample as it is stored. */
  readonly each: readonly number[];
}

/** The recordings of a file, which stays open. Throws `input_unreadable`, `bad_array`, `non_finite`. */
async function openRecordings(
  path: string,
  file: PartReader,
  plan: SampleShape,
  encoder: Encoder,
): Promise<RecordingFile> {
  const bytes = await file.read(0, Math.min(file.bytes, NPY_HEAD_BYTES_MAX));
  const head = explained(path, () => parseNpyHead(bytes, file.bytes));
  const layout = layOut(head.shape, plan, encoder);
  if (layout === null) throw wrongShape(path, head, plan, encoder);
  const { single, each } = layout;
  const bytesEach = sizeOf(each) * head.itemBytes;
  return {
    count: single ? 1 : head.shape[0]!,
    steps: takesRecordings(encoder) ? each[encoder.timeAxis]! : encoder.steps,
    single,
    async read(index) {
      const part = await file.read(head.dataStart + index * bytesEach, bytesEach);
      const values = npyValues(head.dtype, part);
      checkFinite(path, values, single ? null : index, plan, takesRecordings(encoder));
      if (scalesBytes(encoder, head.dtype)) scaleBytes(values);
      if (!takesRecordings(encoder)) return encodeSample(encoder, values, index);
      const { timeAxis } = encoder;
      const stream = timeAxis === 0 ? values : timeFirst(values, each, timeAxis);
      return recordingEncoder(encoder, plan.sampleSize)(stream);
    },
  };
}

/** Opens a file and its recordings, and closes it after `use`. Throws `usage` for what does not go together. */
export async function withRecordings<T>(
  path: string,
  plan: SampleShape,
  encoder: Encoder,
  choice: InputChoice,
  use: (recordings: RecordingFile) => Promise<T>,
): Promise<T> {
  await using file = await openPartReader(path);
  const { label, reader, made, note } = await openArray(path, file, plan, choice);
  if (made === "events" && !takesRecordings(encoder)) {
    throw new GanglionError(
      "usage",
      `${label} holds events, and the run's encoder ${encoder.kind} takes samples without time; ` +
        "--encoded leaves it out",
    );
  }
  const isMade = made !== "array" && takesRecordings(encoder);
  const applied = isMade ? { ...encoder, timeAxis: 0 } : encoder;
  const recordings = await openRecordings(label, reader, plan, applied);
  return await use(note === undefined ? recordings : { ...recordings, note });
}

/** One recording if it can be; else one more axis in front that counts them. */
function layOut(shape: readonly number[], plan: SampleShape, encoder: Encoder): Layout | null {
  const fits = takesRecordings(encoder)
    ? (each: readonly number[]) => isStream(each, plan, encoder.timeAxis)
    : (each: readonly number[]) => isSample(each, plan);
  if (fits(shape)) return { single: true, each: shape };
  const each = shape.slice(1);
  return shape.length > 0 && fits(each) ? { single: false, each } : null;
}

/** `[T, …sample_shape]`, `[T, prod]`, or `[T]` where a sample is one value; T where `axis` says. */
function isStream(shape: readonly number[], plan: SampleShape, axis: number): boolean {
  if (shape.length <= axis) return false;
  const sample = shape.filter((_, i) => i !== axis);
  if (axis === 0 && sample.length <= 1) return sizeOf(sample) === plan.sampleSize;
  return sameShape(sample, plan.sampleShape);
}

/** `[…sample_shape]`, with or without its axes of length 1, or `[prod]`. */
function isSample(shape: readonly number[], { sampleShape, sampleSize }: SampleShape): boolean {
  if (shape.length <= 1) return sizeOf(shape) === sampleSize;
  return sameShape(shape, sampleShape) ||
    (!shape.includes(1) && sameShape(shape, sampleShape.filter((axis) => axis !== 1)));
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((axis, i) => axis === b[i]);
}

function wrongShape(path: string, { shape }: NpyHead, plan: SampleShape, encoder: Encoder) {
  const { sampleShape, sampleSize } = plan;
  const sample = sampleShape.join(", ");
  const lone = sampleShape.length === 1;
  const taken = takesRecordings(encoder) && encoder.timeAxis > 0
    ? `[${sampleShape.toSpliced(encoder.timeAxis, 0, "T" as never).join(", ")}]`
    : takesRecordings(encoder)
    ? `[T, ${sample}]${lone ? "" : ` or [T, ${sampleSize}]`}`
    : `[${sample}]${lone ? "" : ` or [${sampleSize}]`} with the encoder ${encoder.kind}`;
  return new GanglionError(
    "bad_array",
    `${path} has shape [${shape.join(", ")}]; the model takes ${taken}, and for N of them one ` +
      "more axis in front",
    { path, shape, sample_shape: sampleShape },
  );
}

function checkFinite(
  path: string,
  values: Float32Array,
  recording: number | null,
  { sampleSize }: SampleShape,
  hasSteps: boolean,
): void {
  const bad = firstNonFinite(values);
  if (bad < 0) return;
  const [step, index] = [Math.floor(bad / sampleSize), bad % sampleSize];
  const of = recording === null ? "" : `recording ${recording}, `;
  const place = hasSteps ? `step ${step}, at index ${index} of its sample` : `at index ${index}`;
  throw new GanglionError("non_finite", `${path} holds ${values[bad]} in ${of}${place}`, {
    path,
    ...(recording === null ? {} : { recording }),
    step,
    index,
  });
}
