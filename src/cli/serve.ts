/** `ganglion serve`: models over HTTP, from the first signal of life to the last. */
import { realClock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { limitsOf, type Settings } from "../config.ts";
import {
  announce,
  assertFree,
  coresToSpare,
  exit,
  listen,
  type Listener,
  machineBytes,
  onLauncherGone,
  onSignal,
  openStateFolder,
  outliveReaders,
  readCommit,
  readWebFiles,
  residentBytes,
  runtime,
  say as sayLine,
  type StateFolder,
  VERSION,
} from "../runtime/mod.ts";
import { createServer, type Server } from "../serve.ts";
import { type Call, given } from "./command.ts";
import { loadOptions, sayNotes } from "./reading.ts";
import { serverLog } from "./server_log.ts";

/** What was taken may run so long after a signal. */
const GRACE_MS = 2000;
/** Then the process ends, whatever still holds it. */
const FORCED_MS = 3000;
/** Keeping sessions on a disk may take longer. */
const FORCED_WITH_STORE_MS = 10_000;
/** A launcher passes on the Ctrl-C that the terminal has sent us too: no second one so soon. */
const REPEAT_MS = 500;

const INTERRUPTED = 130;

type Say = (line: string) => void;

export async function run(call: Call): Promise<number> {
  const { positionals, settings } = call;
  const frame = given(call, "frame");
  if (positionals.length === 0) throw new GanglionError("usage", "MODEL must be given");
  const { host, port, name, device } = settings;
  const apiKeys = settings["api-key"];
  const corsOrigin = settings["cors-origin"] ?? null;
  checkExposure(settings);
  outliveReaders();
  const log = serverLog(settings.log, sayLine, realClock.wallMs);
  const { say } = log;
  say(`ganglion ${VERSION} on ${runtime.name} ${runtime.version}`);
  // Loading and timing a model takes a while: in vain where nobody could call it.
  await assertFree({ host, port });
  const folder = settings["state-dir"];
  const store = folder === undefined ? null : await openStateFolder(folder);
  const server = await createServer({
    ...(store === null ? {} : { store }),
    models: positionals,
    names: name,
    load: loadOptions(call),
    ...(frame === undefined ? {} : { frame }),
    device,
    cpuThreads: settings["cpu-threads"] || coresToSpare(),
    thread: !settings["no-worker"],
    limits: limitsOf(settings),
    apiKeys,
    corsOrigin,
    version: VERSION,
    commit: await readCommit(),
    ...log,
    memoryBytes: await machineBytes(),
    residentBytes,
    webFiles: await readWebFiles(),
    onPlan: (plan) => sayNotes(plan, say),
  });
  const listener = await listen(server, { host, port });
  const ending = endOnSignal(server, listener, store, say);
  sayLosses(server, ending, say);
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${listener.port}`;
  sayWelcome(server, url, apiKeys.length > 0, say);
  announce(`listening ${url}`);
  const code = await ending.code;
  await store?.close();
  return code;
}

function checkExposure({ host, insecure, "api-key": keys }: Settings): void {
  const local = host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
  if (local || insecure || keys.length > 0) return;
  throw new GanglionError(
    "usage",
    `Listening on ${host} opens the server to others: give --api-key (or GANGLION_API_KEY), ` +
      "or --insecure where something else guards it",
  );
}

function sayWelcome({ models }: Server, url: string, keyed: boolean, say: Say): void {
  for (const { id, plan, executor } of models) {
    const { kind, device, numerics } = executor.info;
    say(
      `serving ${id}: [${plan.sampleShape}] to [${plan.outputShape}], dt ${plan.dt} s, ` +
        `${executor.slots} slots, frame ${executor.frame}, ${kind} (${device}), ${numerics}`,
    );
  }
  const key = keyed ? ' -H "Authorization: Bearer $GANGLION_API_KEY"' : "";
  const model = models.length === 1 ? "{}" : `{"model":"${models[0]!.id}"}`;
  say(`dashboard   ${url}/`);
  say(`API         ${url}/docs`);
  say(`models      ${url}/v1/models`);
  say("open a session with");
  say(`  curl -s${key} -H 'Content-Type: application/json' -d '${model}' ${url}/v1/sessions`);
  say("Ctrl-C stops.");
}

/** A device that is lost for good is worth a line; its sessions have ended with `device_lost`. */
function sayLosses({ models }: Server, ending: { readonly begun: boolean }, say: Say): void {
  for (const { id, executor, canRebuild } of models) {
    if (canRebuild) continue; // it says itself how that goes
    void executor.lost.then(({ reason }) => {
      if (ending.begun) return;
      say(`ganglion: the device of ${id} was lost (${reason}); restart the server`);
    });
  }
}

interface Ending {
  begun: boolean;
  /** The exit code, after a signal or when the launcher has gone. */
  readonly code: Promise<number>;
}

function endOnSignal(
  server: Server,
  listener: Listener,
  store: StateFolder | null,
  say: Say,
): Ending {
  const { promise, resolve } = Promise.withResolvers<number>();
  const ending: Ending = { begun: false, code: promise };
  let begunAt = 0;
  const end = (): void => {
    const now = performance.now();
    if (ending.begun) {
      if (now - begunAt > REPEAT_MS) exit(INTERRUPTED);
      return;
    }
    ending.begun = true;
    begunAt = now;
    say("stopping: no new sessions; what was sent still runs for 2 s at most");
    if (store !== null) say("then every session is kept for the next start");
    let isKept = false;
    setTimeout(() => {
      say("ganglion: some connections did not end in time and were cut");
      exit(isKept || store === null ? 0 : 1);
    }, store === null ? FORCED_MS : FORCED_WITH_STORE_MS);
    const stop = async (): Promise<void> => {
      // Until everything has run, readiness says that we are going.
      await server.drain(GRACE_MS);
      const stopped = listener.stop();
      await server.close();
      isKept = true;
      await stopped;
    };
    stop().then(
      () => resolve(0),
      (error: unknown) => {
        say(`ganglion: stopping failed: ${String(error)}`);
        resolve(1);
      },
    );
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) onSignal(signal, end);
  onLauncherGone(end);
  return ending;
}
