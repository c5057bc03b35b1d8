/** `ganglion infer`: recordings through the engine that serves, each from rest to its end. */
import { basename, resolve } from "node:path";
import { GanglionError } from "../base/errors.ts";
import type { NamedArray } from "../base/npz.ts";
import { limitsOf } from "../config.ts";
import { loadRun } from "../load_model.ts";
import { type Plan, probesOf } from "../model/mod.ts";
import { EVENTS, type RunRecord } from "../run/mod.ts";
import { runRecordings } from "../run_recordings.ts";
import { isTerminal, say, writeFileWhole, writeOut } from "../runtime/mod.ts";
import { StreamServer } from "../stream_server.ts";
import { type Call, given } from "./command.ts";
import { Plot } from "./infer_plot.ts";
import { predictionLine, type Ran, reportJson, reportText } from "./infer_report.ts";
import {
  type ArrayShape,
  checkFolderOf,
  gatheringSink,
  NO_SINK,
  npyFileSink,
  type OutputSink,
} from "./outputs.ts";
import { Progress } from "./progress.ts";
import { inputChoice, loadOptions, sayNotes, takePositionals } from "./reading.ts";
import { type RecordingFile, withRecordings } from "./recordings.ts";
import { readTrueClasses, Tally } from "./tally.ts";

export async function run(call: Call): Promise<number> {
  const [modelPath, inputPath] = takePositionals(call.positionals, ["MODEL", "INPUT"]);
  checkOutput(call);
  await checkFolderOf(call.settings.plot);
  const { plan, run: record } = await loadRun(modelPath!, loadOptions(call));
  sayNotes(plan);
  checkRecord(plan, call.settings.record);
  const encoder = call.settings.encoded ? EVENTS : record?.encoder ?? EVENTS;
  await withRecordings(
    inputPath!,
    plan,
    encoder,
    inputChoice(call),
    (file) => inferAll(call, plan, record, file, basename(inputPath!)),
  );
  return 0;
}

async function inferAll(
  call: Call,
  plan: Plan,
  record: RunRecord | null,
  file: RecordingFile,
  source: string,
): Promise<void> {
  const { labels: labelsPath, output, json, record: recorded, plot: plotPath } = call.settings;
  const { count, steps, note } = file;
  if (note !== undefined) say(note);
  const truth = labelsPath === undefined
    ? null
    : await readTrueClasses(labelsPath, count, plan.outputSize);
  const readout = call.settings.readout ?? record?.readout ?? (truth === null ? null : "sum");
  const tally = new Tally(plan, count, readout, wantsReport(call));
  const plot = plotPath === undefined ? null : new Plot(plan, file, recorded);
  const sink = await openSink(call, plan, file, readout !== null);
  await using server = await StreamServer.create(plan, {
    slots: given(call, "slots") ?? Math.max(1, Math.min(count, call.settings.slots)),
    frame: given(call, "frame") ?? record?.frame ?? limitsOf(call.settings).frame,
    sampleShape: plan.sampleShape,
    partialFrames: true,
    device: call.settings.device,
    say,
  });
  try {
    await runAll(server, file, recorded, tally, sink, plot);
    await sink.finish(readout === null ? {} : decisions(tally, plan, count));
  } catch (error) {
    await sink.discard();
    throw error;
  }
  const ran: Ran = { tally, count, steps, labels: record?.labels ?? null, truth, dt: plan.dt };
  if (plot !== null) {
    await writeFileWhole(plotPath!, new TextEncoder().encode(await plot.page(ran, source)));
  }
  if (wantsReport(call)) await writeOut(json ? reportJson(ran) : reportText(ran));
  else if (readout !== null) say(predictionLine(ran));
  const { kind, device, numerics } = server.info;
  const what = file.single ? `${steps} steps` : `${count} recordings of ${steps} steps`;
  say(
    `${what} on ${kind} (${device}), numerics ${numerics}${
      [output, plotPath].filter((path) => path !== undefined).map((path) => `: ${path}`).join("")
    }`,
  );
}

async function runAll(
  server: StreamServer,
  file: RecordingFile,
  recorded: readonly string[],
  tally: Tally,
  sink: OutputSink,
  plot: Plot | null,
): Promise<void> {
  const total = file.single ? file.steps : file.count;
  const progress = new Progress(file.single ? "step" : "recording", total);
  let done = 0;
  const record = [...new Set([...recorded, ...tally.spikeProbes, ...plot?.record ?? []])];
  await runRecordings(server, file, {
    record,
    async onPart(part) {
      const { recording, at, outputs } = part;
      tally.add(part);
      plot?.add(part);
      await sink.put("output", recording, at, outputs.data);
      for (const name of recorded) await sink.put(name, recording, at, outputs.probes[name]!);
      done += file.single ? part.steps : Number(part.last);
      progress.update(done);
    },
  });
  progress.end();
}

/** Nothing asks for the array on stdout: a report takes its place, or a page was wanted. */
function wantsNoArray(call: Call): boolean {
  return call.settings.output === undefined &&
    (wantsReport(call) || call.settings.plot !== undefined);
}

/** A report goes to stdout. */
function wantsReport({ settings }: Call): boolean {
  return settings.labels !== undefined || settings.json || settings.rates;
}

function checkOutput(call: Call): void {
  const { output, record, plot } = call.settings;
  for (const [flag, out] of [["-o", output], ["--plot", plot]] as const) {
    if (out === undefined) continue;
    if (call.positionals.every((path) => resolve(path) !== resolve(out))) continue;
    throw new GanglionError("usage", `${flag} ${out} would overwrite what is read`);
  }
  if (output === undefined && !wantsNoArray(call) && isTerminal("stdout")) {
    throw new GanglionError("usage", "The result is binary: give -o FILE, or redirect stdout");
  }
  if (output === undefined && record.length > 0 && wantsReport(call) && plot === undefined) {
    throw new GanglionError("usage", "Recorded values need a file: give -o FILE.npz");
  }
  if (output !== undefined && record.length > 0 && !isArchive(output) && plot === undefined) {
    throw new GanglionError(
      "usage",
      `With --record the result is an archive: name it .npz, not ${output}`,
    );
  }
}

const isArchive = (path: string): boolean => /\.npz$/i.test(path);

async function openSink(
  call: Call,
  plan: Plan,
  file: RecordingFile,
  decides: boolean,
): Promise<OutputSink> {
  const { output, record } = call.settings;
  const lead = file.single ? [file.steps] : [file.count, file.steps];
  const array = (name: string, each: readonly number[]): ArrayShape => ({ name, lead, each });
  const outputs = array("output", plan.outputShape);
  if (wantsNoArray(call)) return NO_SINK;
  if (output !== undefined && !isArchive(output)) return await npyFileSink(output, outputs);
  if (output !== undefined && record.length === 0 && !decides) {
    throw new GanglionError(
      "usage",
      `Without --record or a readout the result is one array: name it .npy, not ${output}`,
    );
  }
  const probes = probesOf(plan).filter(({ name }) => record.includes(name));
  const arrays = [outputs, ...probes.map((each) => array(each.name, each.shape))];
  return gatheringSink(output, arrays, output !== undefined || probes.length > 0);
}

/** What an archive holds beside the outputs. */
function decisions(tally: Tally, plan: Plan, count: number): Record<string, NamedArray> {
  const predictions = Float32Array.from(tally.predictions, (each) => each ?? NaN);
  return {
    scores: { values: tally.scores, shape: [count, plan.outputSize] },
    prediction: { values: predictions, shape: [count] },
  };
}

function checkRecord(plan: Plan, record: readonly string[]): void {
  const names = probesOf(plan).map(({ name }) => name);
  const unknown = record.find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw new GanglionError(
    "usage",
    `The model has no value "${unknown}"; it has: ${names.join(" ")}`,
  );
}
