/** `ganglion load`: paced sessions on a running server, as a table, JSON, or a page with plots. */
import { GanglionError } from "../base/errors.ts";
import {
  type CapacityResult,
  type LoadInput,
  type LoadOptions,
  type LoadResult,
  runCapacity,
  runLoad,
  ServerClient,
  type WindowResult,
} from "../load/mod.ts";
import { EVENTS } from "../run/mod.ts";
import { cpuMs, exit, onSignal, say, writeFileWhole, writeOut } from "../runtime/mod.ts";
import type { Call } from "./command.ts";
import { loadPage } from "./load_page.ts";
import {
  capacityText,
  isValid,
  loadText,
  reportJson,
  secondsText,
  trialHead,
  trialLine,
  windowLine,
} from "./load_report.ts";
import { checkFolderOf } from "./outputs.ts";
import { ProgressLine } from "./progress.ts";
import type { InputChoice } from "./input_files.ts";
import { inputChoice, takePositionals } from "./reading.ts";
import { withRecordings } from "./recordings.ts";

const DONE = 0, AT_FAULT = 1;
/** As shells show a program that Ctrl-C ended. */
const INTERRUPTED = 130;
/** Values of recordings that are held in memory. */
const INPUT_VALUES_MAX = 2 ** 26;

export async function run(call: Call): Promise<number> {
  const [url] = takePositionals(call.positionals, ["URL"]);
  const { settings } = call;
  for (const path of [settings.output, settings.html]) await checkFolderOf(path);
  const options = await optionsOf(call, url!);
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    onSignal(signal, () => {
      if (stop.signal.aborted) exit(INTERRUPTED);
      say("\nstopping; once more ends it at once");
      stop.abort();
    });
  }
  const progress = new ProgressLine();
  const watched: LoadOptions = { ...options, signal: stop.signal };
  let found: LoadResult | CapacityResult;
  try {
    found = settings["find-capacity"] ? await search(watched, progress) : await runLoad({
      ...watched,
      onWindow: (window) => progress.show(windowLine(window)),
    });
  } finally {
    progress.end();
  }
  const json = reportJson(found);
  if (settings.output !== undefined) await writeText(settings.output, json);
  if (settings.html !== undefined) await writeText(settings.html, loadPage(found));
  await writeOut(
    settings.json ? json : "capacity" in found ? capacityText(found) : loadText(found),
  );
  if (stop.signal.aborted) return INTERRUPTED;
  return isValid(found) ? DONE : AT_FAULT;
}

/** Says a line for every number of sessions that was tried. */
async function search(options: LoadOptions, progress: ProgressLine): Promise<CapacityResult> {
  let trials = 0;
  let estimate = "";
  const begin = performance.now();
  return await runCapacity({
    ...options,
    onWindow: (window: WindowResult) => progress.show(`${windowLine(window)}${estimate}`),
    onTrial(result, left) {
      progress.end();
      if (trials++ === 0) say(trialHead());
      const leftSeconds = left * (performance.now() - begin) / 1000 / trials;
      estimate = `; about ${secondsText(leftSeconds)} left`;
      say(trialLine(result, leftSeconds));
    },
  });
}

async function optionsOf(call: Call, url: string): Promise<LoadOptions> {
  const { settings } = call;
  const { sessions, period, chunk, target, seconds, seed, density, model, input } = settings;
  const [apiKey] = settings["api-key"];
  const server = { url, apiKey, model };
  return {
    ...server,
    sessions,
    periodMs: period,
    chunkFrames: chunk,
    ...(target === undefined ? {} : { targetMs: target }),
    seconds,
    seed,
    input: input === undefined
      ? { kind: "random", density, seed }
      : await readInput(input, server, inputChoice(call)),
    cpuMs,
  };
}

/** Recordings that fit the model that the server has. */
async function readInput(
  path: string,
  server: Pick<LoadOptions, "url" | "apiKey" | "model">,
  choice: InputChoice,
): Promise<LoadInput> {
  const { model } = await ServerClient.connect(server);
  return await withRecordings(path, model, EVENTS, choice, async ({ count, steps, note, read }) => {
    if (note !== undefined) say(note);
    if (count * steps === 0) {
      throw new GanglionError("input_unreadable", `${path} holds no time step`, { path });
    }
    if (count * steps * model.sampleSize > INPUT_VALUES_MAX) {
      throw new GanglionError(
        "input_unreadable",
        `${path} holds ${count * steps * model.sampleSize} values; at most ${INPUT_VALUES_MAX} ` +
          "are sent again and again: give fewer recordings",
        { path },
      );
    }
    const recordings: Float32Array[] = [];
    for (let i = 0; i < count; i++) recordings.push(await read(i));
    return { kind: "recordings", recordings };
  });
}

async function writeText(path: string, text: string): Promise<void> {
  await writeFileWhole(path, new TextEncoder().encode(text));
}
