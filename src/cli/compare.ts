/**
 * `ganglion compare`: our outputs against those of another program for the same input: the first step
 * and neuron that differ, and the membrane there. Exit code 0 equal, 1 different.
 */
import { GanglionError } from "../base/errors.ts";
import { NPY_HEAD_BYTES_MAX, type NpyHead, npyValues, parseNpyHead } from "../base/npy.ts";
import { loadRun } from "../load_model.ts";
import type { Plan } from "../model/mod.ts";
import { EVENTS } from "../run/mod.ts";
import { type Membrane, membraneAt } from "../membrane.ts";
import { runRecordings } from "../run_recordings.ts";
import { openPartReader, type PartReader, say, writeOut } from "../runtime/mod.ts";
import { StreamServer } from "../stream_server.ts";
import { type Call, given } from "./command.ts";
import { compareJson, compareText } from "./compare_report.ts";
import { type Difference, Differences, shiftBetween } from "./difference.ts";
import { inputChoice, loadOptions, sayNotes, takePositionals } from "./reading.ts";
import { type RecordingFile, sameShape, withRecordings } from "./recordings.ts";
import { limitsOf } from "../config.ts";

const EQUAL = 0, DIFFERENT = 1;
const SLOTS = 64;

export async function run(call: Call): Promise<number> {
  const wanted = ["MODEL", "INPUT", "THEIRS.npy"];
  const [modelPath, inputPath, theirsPath] = takePositionals(call.positionals, wanted);
  const { plan, run: record } = await loadRun(modelPath!, loadOptions(call));
  sayNotes(plan);
  const encoder = call.settings.encoded ? EVENTS : record?.encoder ?? EVENTS;
  await using file = await openPartReader(theirsPath!);
  return await withRecordings(inputPath!, plan, encoder, inputChoice(call), async (recordings) => {
    if (recordings.note !== undefined) say(recordings.note);
    const theirs = await openTheirs(theirsPath!, file, plan, recordings);
    await using server = await StreamServer.create(plan, {
      slots: Math.max(1, Math.min(recordings.count, SLOTS)),
      frame: given(call, "frame") ?? record?.frame ?? limitsOf(call.settings).frame,
      sampleShape: plan.sampleShape,
      partialFrames: true,
      device: call.settings.device,
      say,
    });
    const { tolerance, json } = call.settings;
    const { difference, shift } = await compareAll(server, recordings, theirs, tolerance);
    const { first } = difference;
    let membrane: Membrane | null = null;
    if (first !== null) {
      const { recording, step, neuron } = first;
      const input = await recordings.read(recording);
      membrane = await membraneAt({ plan, input, step, neuron });
    }
    const found = { plan, difference, shift, membrane, tolerance, batch: !recordings.single };
    await writeOut(json ? compareJson(found) : compareText(found));
    return first === null ? EQUAL : DIFFERENT;
  });
}

type ReadTheirs = (recording: number) => Promise<Float32Array>;

/** Their outputs, recording by recording. Throws `bad_array` where their shape is not ours. */
async function openTheirs(
  path: string,
  file: PartReader,
  plan: Plan,
  { count, steps, single }: RecordingFile,
): Promise<ReadTheirs> {
  let head: NpyHead;
  try {
    const bytes = await file.read(0, Math.min(file.bytes, NPY_HEAD_BYTES_MAX));
    head = parseNpyHead(bytes, file.bytes);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new GanglionError("input_unreadable", `${path}: ${reason}`, { path }, { cause });
  }
  const lead = single ? [steps] : [count, steps];
  const { shape, dtype, itemBytes, dataStart } = head;
  const taken = [[...lead, ...plan.outputShape], [...lead, plan.outputSize]];
  if (!taken.some((each) => sameShape(each, shape))) {
    throw new GanglionError(
      "bad_array",
      `${path} has shape [${shape.join(", ")}]; our outputs have [${taken[0]!.join(", ")}]`,
      { path, shape },
    );
  }
  const bytesEach = steps * plan.outputSize * itemBytes;
  return async (recording) =>
    npyValues(dtype, await file.read(dataStart + recording * bytesEach, bytesEach));
}

/** Holds the outputs of the recordings that run. */
async function compareAll(
  server: StreamServer,
  recordings: RecordingFile,
  readTheirs: ReadTheirs,
  tolerance: number,
): Promise<{ difference: Difference; shift: number | null }> {
  const size = server.plan.outputSize;
  const differences = new Differences(tolerance, size);
  const held = new Map<number, Float32Array>();
  let shift: { readonly recording: number; readonly steps: number | null } | null = null;
  await runRecordings(server, recordings, {
    async onPart({ recording, at, outputs, last }) {
      const ours = held.get(recording) ?? new Float32Array(recordings.steps * size);
      held.set(recording, ours);
      ours.set(outputs.data, at * size);
      if (!last) return;
      held.delete(recording);
      const theirs = await readTheirs(recording);
      differences.add(recording, ours, theirs);
      // Looked for where they differ first.
      if (differences.sum().first?.recording === recording) {
        shift = { recording, steps: shiftBetween(ours, theirs, size, tolerance) };
      }
    },
  });
  const found = shift as { readonly steps: number | null } | null;
  return { difference: differences.sum(), shift: found?.steps ?? null };
}
