/**
 * `ganglion calibrate`: what steps and chunks of a server cost, as a report and as a serQ program. A
 * model is measured in a server of its own, in another process, as clients will meet it.
 */
import { join } from "node:path";
import { type CostFit, fitCost, fitOwn, measureExecutor, measureServer } from "../calibrate/mod.ts";
import { chooseExecutor, chooseInThread } from "../choose_executor.ts";
import { GanglionError } from "../base/errors.ts";
import { type FlagName, FLAGS, limitsOf } from "../config.ts";
import { ServerClient } from "../load/mod.ts";
import { loadRun } from "../load_model.ts";
import {
  environment,
  ownRuntime,
  readFileLimited,
  ROOT,
  say,
  startServing,
  writeFileWhole,
  writeOut,
} from "../runtime/mod.ts";
import { type Calibration, nameOf, programOf, reportJson, reportText } from "./calibrate_report.ts";
import { type Call, given } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { checkFolderOf } from "./outputs.ts";
import { Progress } from "./progress.ts";
import { loadOptions, takePositionals } from "./reading.ts";
import { realPace as pace } from "./real_pace.ts";

/** The program that the constants are written into. */
const TEMPLATE = join(ROOT, "examples", "serq", "stream_server.sq");
const TEMPLATE_BYTES_MAX = 1 << 20;
const READY_MS = 120_000;
/** Share of the time for the executor alone, where there is one. */
const BARE_SHARE = 0.25;

export async function run(call: Call): Promise<number> {
  const { positionals, settings } = call;
  const { model, output, json } = settings;
  if (positionals.length > 1) takePositionals(positionals, ["URL"]);
  const [url] = positionals;
  if (url !== undefined && /\.(nir|h5|hdf5)$/i.test(url)) {
    throw new GanglionError("usage", `A URL stands there; a model is given as --model ${url}`);
  }
  await checkFolderOf(output);
  const template = new TextDecoder().decode(await readFileLimited(TEMPLATE, TEMPLATE_BYTES_MAX));
  let calibration: Calibration;
  if (url !== undefined) calibration = await calibrateServer(call, { url, model }, null);
  else if (model !== undefined) calibration = await calibrateModel(call, model);
  else throw new GanglionError("usage", "Give the URL of a server, or --model FILE");
  const program = programOf(calibration, template, output);
  if (output !== undefined) await writeFileWhole(output, new TextEncoder().encode(program));
  if (json) await writeOut(reportJson(calibration, program));
  else if (output !== undefined) await writeOut(reportText(calibration, program, output));
  else {
    await writeOut(program);
    say(reportText(calibration, program, "FILE.sq").trimEnd());
  }
  return 0;
}

async function calibrateServer(
  call: Call,
  server: { readonly url: string; readonly model: string | undefined },
  bare: CostFit | null,
): Promise<Calibration> {
  const { density, "api-key": keys } = call.settings;
  const seconds = call.settings.seconds * (bare === null ? 1 : 1 - BARE_SHARE);
  const client = await ServerClient.connect({ ...server, apiKey: keys[0] });
  const { model } = client;
  const what = `${nameOf(model)}, ${model.slots} slots, frame ${model.frame}`;
  say(`measuring ${what}: ${Math.round(seconds)} s`);
  const costs = await withProgress(
    "served steps",
    (onProgress) => measureServer(client, { pace, seconds, density, onProgress }),
  );
  if (costs.sessions < model.slots) {
    say(`warning: only ${costs.sessions} of ${model.slots} slots were measured`);
  }
  const served = fitCost(costs.steps);
  return { model, served, own: fitOwn(costs.idle, served), bare, density };
}

async function calibrateModel(call: Call, path: string): Promise<Calibration> {
  const bare = await measureBare(call, path);
  const { settings } = call;
  const flags = ["serve", path, "--host", "127.0.0.1", "--port", "0", "--log", "off"];
  const [key = ""] = settings["api-key"];
  const start = ownRuntime("src/cli/main.ts");
  const server = await startServing({
    ...start,
    args: [...start.args, ...flags, ...flagWords(call)],
    env: { ...environment(), GANGLION_API_KEY: key, GANGLION_STATE_DIR: "", GANGLION_NAME: "" },
  }, READY_MS).catch((error: unknown) => {
    const reason = (error as Error).message.split("\n").at(-1);
    throw new GanglionError("server_unreachable", `A server of ${path} did not start: ${reason}`);
  });
  try {
    const url = server.line.replace("listening ", "");
    return await calibrateServer(call, { url, model: undefined }, bare);
  } finally {
    await server.stop();
  }
}

/** The executor as a server has it: in a thread of its own, unless that is not wanted. */
async function measureBare(call: Call, path: string): Promise<CostFit> {
  const { settings } = call;
  const { plan, run: record } = await loadRun(path, loadOptions(call));
  const limits = limitsOf(settings);
  const options = {
    slots: limits.slots,
    frame: given(call, "frame") ?? record?.frame ?? limits.frame,
    device: settings.device,
    say,
  };
  const choose = settings["no-worker"] ? chooseExecutor : chooseInThread;
  const executor = await choose(plan, options);
  try {
    const seconds = call.settings.seconds * BARE_SHARE;
    const { density } = settings;
    return fitCost(
      await withProgress(
        "bare steps",
        (onProgress) => measureExecutor(executor, { pace, seconds, density, onProgress }),
      ),
    );
  } finally {
    await executor.close();
  }
}

/** The flags of this call that `serve` takes too, as words; it reads variables itself. */
function flagWords({ settings, sources }: Call): string[] {
  const served = new Set(Object.values(COMMANDS.serve!.flags).flat());
  const own: readonly FlagName[] = ["api-key"];
  return [...sources].flatMap(([name, source]) => {
    if (source !== "flag" || !served.has(name) || own.includes(name)) return [];
    const value: unknown = settings[name];
    if (FLAGS[name].placeholder === null) return value === true ? [`--${name}`] : [];
    const values = Array.isArray(value)
      ? value
      : typeof value === "object"
      ? Object.entries(value as object).map(([key, each]) => `${key}=${each}`)
      : [value];
    return values.map((each) => `--${name}=${each}`);
  });
}

async function withProgress<T>(
  what: string,
  measure: (onProgress: (share: number) => void) => Promise<T>,
): Promise<T> {
  const progress = new Progress(what, 100);
  try {
    return await measure((share) => progress.update(Math.round(100 * share)));
  } finally {
    progress.end();
  }
}
