/**
 * Where the outputs of `infer` go. One array to an `.npy` file is written piece by piece as recordings
 * end in any order; an archive or stdout is gathered in memory, within a limit.
 */
import { dirname } from "node:path";
import { GanglionError } from "../base/errors.ts";
import { writeNpy, writeNpyHead } from "../base/npy.ts";
import { type NamedArray, writeNpz } from "../base/npz.ts";
import { sizeOf } from "../base/numeric.ts";
import { isFolder, openPartWriter, writeFileWhole, writeOut } from "../runtime/mod.ts";

/** Shape of an array over all recordings and steps: `[N, T, …each]`, or `[T, …each]` for a lone one. */
export interface ArrayShape {
  readonly name: string;
  /** `[N, T]` or `[T]`. */
  readonly lead: readonly number[];
  readonly each: readonly number[];
}

export interface OutputSink {
  /** Values of a recording from step `at`, `[steps, …each]`. */
  put(name: string, recording: number, at: number, values: Float32Array): Promise<void>;
  /** Ends the file; `more` are further arrays of an archive. */
  finish(more?: Readonly<Record<string, NamedArray>>): Promise<void>;
  discard(): Promise<void>;
}

/** What is gathered in memory is at most so much. */
const GATHERED_BYTES_MAX = 2 ** 31;

/** Says before the work, not after it, that a file cannot be written. Throws `usage`. */
export async function checkFolderOf(path: string | undefined): Promise<void> {
  if (path === undefined || await isFolder(dirname(path))) return;
  throw new GanglionError(
    "usage",
    `${path} cannot be written: the folder ${dirname(path)} does not exist`,
    { path },
  );
}

/** Keeps nothing: for a run whose report is all that is wanted. */
export const NO_SINK: OutputSink = {
  put: () => Promise.resolve(),
  finish: () => Promise.resolve(),
  discard: () => Promise.resolve(),
};

/** Value of `name` at recording and step, counted in f32 values from the start of its array. */
function placeOf({ lead, each }: ArrayShape, recording: number, at: number): number {
  return (recording * lead.at(-1)! + at) * sizeOf(each);
}

/** One array to a file. */
export async function npyFileSink(path: string, array: ArrayShape): Promise<OutputSink> {
  const file = await openPartWriter(path);
  const head = writeNpyHead([...array.lead, ...array.each]);
  await file.write(0, head);
  return {
    async put(name, recording, at, values) {
      if (name !== array.name) return;
      const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      await file.write(head.length + placeOf(array, recording, at) * 4, bytes);
    },
    finish: () => file.finish(),
    discard: () => file.discard(),
  };
}

/** Arrays in memory, then all of them as an archive, or the first alone; without a path on stdout. */
export function gatheringSink(
  path: string | undefined,
  arrays: readonly ArrayShape[],
  archive: boolean,
): OutputSink {
  const shapes = arrays.map(({ lead, each }) => [...lead, ...each]);
  const bytes = shapes.reduce((sum, shape) => sum + sizeOf(shape) * 4, 0);
  if (bytes > GATHERED_BYTES_MAX) {
    throw new GanglionError(
      "usage",
      `The result has ${bytes} bytes, more than ${GATHERED_BYTES_MAX} are not gathered in memory; ` +
        "write the outputs alone, with -o FILE.npy",
    );
  }
  const held: Record<string, NamedArray> = {};
  for (const [i, { name }] of arrays.entries()) {
    held[name] = { shape: shapes[i]!, values: new Float32Array(sizeOf(shapes[i]!)) };
  }
  return {
    put(name, recording, at, values) {
      const array = arrays.find((each) => each.name === name)!;
      held[name]!.values.set(values, placeOf(array, recording, at));
      return Promise.resolve();
    },
    async finish(more = {}) {
      const { values, shape } = held[arrays[0]!.name]!;
      const bytes = archive ? writeNpz({ ...held, ...more }) : writeNpy(values, shape);
      if (path === undefined) await writeOut(bytes);
      else await writeFileWhole(path, bytes);
    },
    discard: () => Promise.resolve(),
  };
}
