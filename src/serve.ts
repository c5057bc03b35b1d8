/**
 * The composition root: every part of a server is built here, in the order in which a request meets
 * them from below: models → executors → service → HTTP application. Knows no socket and no signal.
 */
import { realClock } from "./base/clock.ts";
import { GanglionError } from "./base/errors.ts";
import type { Limits } from "./base/limits.ts";
import { chooseExecutor, chooseInThread, type DeviceChoice } from "./choose_executor.ts";
import { type App, createApp } from "./http/mod.ts";
import { type LoadOptions, loadRun, modelName } from "./load_model.ts";
import type { Plan } from "./model/mod.ts";
import { RunningReadout } from "./run/mod.ts";
import { ModelHost, Service } from "./scheduler/mod.ts";

export interface ServeOptions {
  /** Paths of model files and run folders. */
  readonly models: readonly string[];
  /** Their ids in the API, in order; a file's stem where there is none. */
  readonly names?: readonly string[];
  readonly load?: LoadOptions;
  readonly device?: DeviceChoice;
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
  /** Gets a line for each thing that was decided. */
  readonly say?: (line: string) => void;
  /** Gets each model's plan before its executor is made. */
  readonly onPlan?: (plan: Plan) => void;
}

export interface Server extends App {
  readonly models: readonly ModelHost[];
  /** Lets what was taken run for at most `graceMs`, ends every session, and frees the devices. */
  close(graceMs: number): Promise<void>;
}

export async function createServer(options: ServeOptions): Promise<Server> {
  const { limits, apiKeys = [], corsOrigin = null, version, commit } = options;
  const clock = realClock;
  const models: ModelHost[] = [];
  for (const [id, path] of modelIds(options)) {
    models.push(await openModel(id, path, options));
  }
  const service = new Service({ models, clock, limits });
  const app = createApp({
    service,
    clock,
    apiKeys,
    corsOrigin,
    limits,
    version,
    ...(commit ? { commit } : {}),
  });
  return {
    models,
    fetch: (request, connection) => app.fetch(request, connection),
    async close(graceMs) {
      const grace = new Promise<void>((resolve) => clock.after(graceMs, resolve));
      await Promise.race([service.drain(), grace]);
      service.close();
      await Promise.all(models.map(({ executor }) => executor.close()));
    },
  };
}

/** Id → path. Throws `usage` where two models would have one id. */
function modelIds({ models, names = [] }: ServeOptions): Map<string, string> {
  if (names.length > models.length) {
    throw new GanglionError("usage", `There are ${names.length} names for ${models.length} models`);
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

async function openModel(id: string, path: string, options: ServeOptions): Promise<ModelHost> {
  const { load, device = "auto", thread = true, limits, say, onPlan } = options;
  const { plan, run } = await loadRun(path, { ...load, name: id });
  onPlan?.(plan);
  const { slots } = limits;
  const frame = options.frame ?? run?.frame ?? limits.frame;
  const executor = await (thread ? chooseInThread : chooseExecutor)(plan, {
    slots,
    frame,
    device,
    measure: device === "auto",
    ...(say === undefined ? {} : { say }),
  });
  const { readout, labels } = run ?? {};
  if (readout === undefined) return new ModelHost({ id, executor });
  const predictor = () => new RunningReadout(readout, plan.outputSize, labels);
  return new ModelHost({ id, executor, predictor });
}
