/**
 * The composition root: every part of a server is built here, in the order in which a request meets
 * them from below: models → executors → service → HTTP application. Knows no socket and no signal.
 */
import { realClock } from "./base/clock.ts";
import { GanglionError } from "./base/errors.ts";
import type { Limits } from "./base/limits.ts";
import { decodeSession } from "./checkpoint/mod.ts";
import { chooseExecutor, chooseInThread, type DeviceChoice } from "./choose_executor.ts";
import type { Executor } from "./engine/mod.ts";
import { type App, createApp, type RequestEntry, ServerEvents, type WebFile } from "./http/mod.ts";
import { type LoadOptions, loadRun, modelName } from "./load_model.ts";
import { ServerMetrics } from "./metrics/mod.ts";
import type { Plan } from "./model/mod.ts";
import { RunningReadout } from "./run/mod.ts";
import { checkMemory, ModelHost, observers, Service, type StateStore } from "./scheduler/mod.ts";

export type { RequestEntry, WebFile } from "./http/mod.ts";

/** Where sessions are kept between two processes. */
export interface SessionStore extends StateStore {
  list(): Promise<string[]>;
  read(id: string): Promise<Uint8Array>;
}

export interface ServeOptions {
  /** Paths of model files and run folders. */
  readonly models: readonly string[];
  /** Their ids in the API, in order; a file's name without its extension where there is none. */
  readonly names?: readonly string[];
  readonly load?: LoadOptions;
  readonly device?: DeviceChoice;
  /** Threads of the CPU executor, 1 where not given. */
  readonly cpuThreads?: number;
  /** False: the executor shares this thread (`--no-worker`). */
  readonly thread?: boolean;
  /** All limits; `slots` and `frame` among them. */
  readonly limits: Limits;
  /** Frame of every model, whatever its run folder says. */
  readonly frame?: number;
  /** None: only this machine may call. */
  readonly apiKeys?: readonly string[];
  readonly corsOrigin?: string | null;
  readonly version: string;
  readonly commit?: string | null;
  /** Gets an entry for each request that was answered. */
  readonly onRequest?: (entry: RequestEntry) => void;
  /** Gets every fault of our own. */
  readonly onFault?: (error: unknown, requestId: string) => void;
  /** Memory that the machine has; unknown when left out. */
  readonly memoryBytes?: number;
  /** Of the pages for browsers; without them there are none. */
  readonly webFiles?: readonly WebFile[];
  /** Memory of the process, for the metrics. */
  readonly residentBytes?: () => number;
  /** Gets a line for each thing that was decided. */
  readonly say?: (line: string) => void;
  /** Keeps sessions beyond the end of the process; those it holds go on. */
  readonly store?: SessionStore;
  /** Gets each model's plan before its executor is made. */
  readonly onPlan?: (plan: Plan) => void;
}

export interface Server extends App {
  readonly models: readonly ModelHost[];
  /** Takes nothing new, and lets what was taken run for at most `graceMs`. */
  drain(graceMs: number): Promise<void>;
  /** Keeps every session in the store, or ends it, and frees the devices. */
  close(): Promise<void>;
}

/** A model as it was read: its plan, and the run that it came in. */
type Loaded = Awaited<ReturnType<typeof loadRun>>;

export async function createServer(options: ServeOptions): Promise<Server> {
  const { limits, apiKeys = [], corsOrigin = null, version, commit } = options;
  const clock = realClock;
  const loaded = new Map<string, Loaded>();
  for (const [id, path] of modelIds(options)) {
    const model = await loadRun(path, { ...options.load, name: id });
    options.onPlan?.(model.plan);
    loaded.set(id, model);
  }
  const warning = checkMemory(
    [...loaded.values()].map(({ plan }) => plan),
    limits,
    options.memoryBytes ?? null,
  );
  if (warning !== null) options.say?.(`memory: ${warning}`);
  const models: ModelHost[] = [];
  for (const [id, model] of loaded) {
    models.push(await openHost(id, model, options));
  }
  const metrics = new ServerMetrics(version, commit ?? null);
  const serverEvents = new ServerEvents({
    clock,
    eventsMax: limits.serverEventsMax,
    readersMax: limits.serverReadersMax,
  });
  const observe = observers(metrics.observe, serverEvents.observe);
  const { store, say = () => {} } = options;
  const keeping = store === undefined ? {} : { store };
  const service = new Service({ models, clock, limits, observe, say, ...keeping });
  if (store !== undefined) await resumeSessions(service, store, say);
  const app = createApp({
    service,
    clock,
    apiKeys,
    corsOrigin,
    limits,
    metrics,
    serverEvents,
    version,
    ...optional(options),
    ...(commit ? { commit } : {}),
  });
  return {
    models,
    fetch: (request, connection) => app.fetch(request, connection),
    async drain(graceMs) {
      const grace = Promise.withResolvers<void>();
      const timer = clock.after(graceMs, grace.resolve);
      await Promise.race([service.drain(), grace.promise]);
      timer.cancel();
    },
    async close() {
      await service.suspend();
      service.close();
      serverEvents.close();
      await Promise.all(models.map(({ executor }) => executor.close()));
    },
  };
}

/** What is left out must not be there as undefined. */
function optional({ onRequest, onFault, residentBytes, webFiles }: ServeOptions) {
  return {
    ...(onRequest && { onRequest }),
    ...(onFault && { onFault }),
    ...(residentBytes && { residentBytes }),
    ...(webFiles && { webFiles }),
  };
}

/** Id → path. Throws `usage` where two models would have one id. */
function modelIds({ models, names = [] }: ServeOptions): Map<string, string> {
  if (names.length > models.length) {
    throw new GanglionError(
      "usage",
      `More names are given than models: ${names.length} with --name, ${models.length} to serve`,
    );
  }
  const ids = new Map<string, string>();
  for (const [i, path] of models.entries()) {
    const id = names[i] ?? modelName(path);
    if (ids.has(id)) {
      throw new GanglionError(
        "usage",
        `Two models have the id "${id}"; give each its own, in their order, with --name`,
      );
    }
    ids.set(id, path);
  }
  return ids;
}

async function openHost(id: string, model: Loaded, options: ServeOptions): Promise<ModelHost> {
  const { plan, run } = model;
  const executor = await openExecutor(model, options);
  const { readout, labels } = run ?? {};
  const readouts = {
    ...(labels && { labels }),
    ...(readout && { predictor: () => new RunningReadout(readout, plan.outputSize, labels) }),
  };
  // A host executor cannot be lost, so that nothing need be kept for that.
  if (executor.info.kind !== "webgpu") return new ModelHost({ id, executor, ...readouts });
  const { say = () => {} } = options;
  const rebuild = async () => {
    say(`the device of ${id} was lost; opening another`);
    try {
      const next = await openExecutor(model, options);
      say(`${id} goes on on ${next.info.device}, ${next.info.numerics}`);
      return next;
    } catch (error) {
      say(`no device for ${id}: ${error instanceof Error ? error.message : String(error)}`);
      throw error;
    }
  };
  return new ModelHost({ id, executor, rebuild, ...readouts });
}

/** Goes on with the sessions of the last process. One that cannot is said and left where it is. */
async function resumeSessions(
  service: Service,
  store: SessionStore,
  say: (line: string) => void,
): Promise<void> {
  let count = 0;
  for (const id of await store.list()) {
    try {
      const image = decodeSession(await store.read(id));
      const { info } = service.model(image.model);
      if (image.numerics !== info.numerics) {
        say(`session ${id} was computed as ${image.numerics} and goes on as ${info.numerics}`);
      }
      service.resume(image);
      count++;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      say(`session ${id} cannot go on: ${reason}`);
    }
  }
  if (count === 0) return;
  // Their new epochs must be on the disk before anybody hears of them.
  await service.keep();
  say(`sessions that go on: ${count}`);
}

async function openExecutor({ plan, run }: Loaded, options: ServeOptions): Promise<Executor> {
  const { device = "auto", cpuThreads = 1, thread = true, limits, say } = options;
  const { slots } = limits;
  const frame = options.frame ?? run?.frame ?? limits.frame;
  return await (thread ? chooseInThread : chooseExecutor)(plan, {
    slots,
    frame,
    device,
    cpuThreads,
    measure: device === "auto",
    ...(say === undefined ? {} : { say }),
  });
}
