/**
 * Load as one call: connects, opens sessions, measures, ends them. `runLoad` for a number of sessions,
 * `runCapacity` for the largest number in real time. Both can be stopped and give what they have.
 */
import { type Clock, realClock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { type Agreement, agreementOf } from "./agreement.ts";
import { type Capacity, findCapacity } from "./capacity.ts";
import { type LoadInput, makeBodies } from "./chunks.ts";
import { HttpSessions } from "./http_sessions.ts";
import { measure, WINDOWS_COUNTED } from "./measure.ts";
import { type ConnectOptions, ServerClient, type ServerModel } from "./server_client.ts";
import type { Measurement, Pace, Rules, WindowResult } from "./types.ts";

export interface LoadOptions extends ConnectOptions {
  /** Sessions at once; for a capacity the number to begin with [8]. */
  readonly sessions?: number;
  /** Time between two frames of a session [20]. */
  readonly periodMs?: number;
  /** Frames in a chunk [1]. */
  readonly chunkFrames?: number;
  /** 99th percentile that is still in time [the time between two chunks]. */
  readonly targetMs?: number;
  /** Longest measurement, without the warm-up [10]. */
  readonly seconds?: number;
  /** Draws phases, and spikes where they are random [1]. */
  readonly seed?: number;
  /** What is sent [random spikes, 5 % of the inputs in each step]. */
  readonly input?: LoadInput;
  /** Processor time of this process in ms; without it the client's share is not measured. */
  readonly cpuMs?: () => number;
  readonly clock?: Clock;
  /** Stops it early. */
  readonly signal?: AbortSignal;
  readonly onWindow?: (window: WindowResult) => void;
}

/** What was asked of the server, all defaults filled in. */
export interface LoadSetting {
  readonly url: string;
  readonly model: ServerModel;
  readonly periodMs: number;
  readonly chunkFrames: number;
  readonly targetMs: number;
  readonly seed: number;
}

export interface LoadResult extends Measurement {
  readonly setting: LoadSetting;
  readonly sessions: number;
  /** Ours against the server's own numbers. */
  readonly agreement: Agreement | null;
}

export interface CapacityResult {
  readonly setting: LoadSetting;
  readonly capacity: Capacity<LoadResult>;
}

export interface CapacityOptions extends LoadOptions {
  /** Gets each trial, and the most numbers of sessions that are still to be tried after it. */
  readonly onTrial?: (result: LoadResult, left: number) => void;
}

const DEFAULTS = { sessions: 8, periodMs: 20, chunkFrames: 1, seconds: 10, seed: 1 };
const DENSITY = 0.05;
const WINDOW_MS_MIN = 1000;
/** Chunks of a session that a window holds at least. */
const WINDOW_CHUNKS_MIN = 4;
/** Chunks that know their 99th percentile, and windows into which the longest measurement is cut then. */
const P99_COUNT = 1000;
const WINDOWS_WISHED = 5;
const OVERLOAD_MS_MIN = 2000;
const OVERLOAD_CHUNKS = 10;

/** Measures a number of sessions. Throws when the server cannot be reached, refuses, or goes away. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const load = await Load.prepare(options);
  return await load.measure(options.sessions ?? DEFAULTS.sessions, false);
}

/** Searches the largest number of sessions whose 99th percentile is at most the target. */
export async function runCapacity(options: CapacityOptions): Promise<CapacityResult> {
  const load = await Load.prepare(options);
  const max = await load.client.room();
  if (max === 0) {
    throw new GanglionError(
      "no_slot",
      `All ${load.client.model.slots} slots of "${load.client.model.id}" hold sessions; ` +
        "close some, or start the server with more --slots",
    );
  }
  const capacity = await findCapacity<LoadResult>({
    start: options.sessions ?? DEFAULTS.sessions,
    max,
    ...(options.onTrial && { onTrial: options.onTrial }),
    async probe(sessions) {
      if (options.signal?.aborted) return null;
      const result = await load.measure(sessions, true);
      if (result.ending === "interrupted") return null;
      return { holds: result.holds, isSure: !result.client.late, result };
    },
  });
  return { setting: load.setting, capacity };
}

class Load {
  readonly client: ServerClient;
  readonly setting: LoadSetting;
  readonly options: LoadOptions;

  private constructor(client: ServerClient, setting: LoadSetting, options: LoadOptions) {
    this.client = client;
    this.setting = setting;
    this.options = options;
  }

  static async prepare(options: LoadOptions): Promise<Load> {
    const { periodMs, chunkFrames, seed } = { ...DEFAULTS, ...options };
    const client = await ServerClient.connect(options);
    const targetMs = options.targetMs ?? periodMs * chunkFrames;
    const { url, model } = client;
    return new Load(client, { url, model, periodMs, chunkFrames, targetMs, seed }, options);
  }

  async measure(sessions: number, isSearch: boolean): Promise<LoadResult> {
    const { client, setting } = this;
    const { clock = realClock, cpuMs = () => NaN, signal, onWindow } = this.options;
    const { periodMs, chunkFrames, seed, model } = setting;
    const chunkSteps = chunkFrames * model.frame;
    const input = this.options.input ?? { kind: "random", density: DENSITY, seed };
    const bodies = makeBodies(input, model.sampleSize, chunkSteps);
    const pace: Pace = { sessions, periodMs, chunkFrames, seed };
    let opened: HttpSessions | undefined;
    try {
      const found = await measure(pace, this.#rules(sessions, isSearch), async (listener) => {
        const open = { sessions, periodMs, chunkSteps, bodies };
        return opened = await HttpSessions.open(client, open, listener);
      }, { clock, cpuMs, signal, onWindow });
      return { ...found, setting, sessions, agreement: agreementOf(found, sessions) };
    } finally {
      await opened?.[Symbol.asyncDispose]();
    }
  }

  /** A search must come to its end: short windows, and no patience with what is late. */
  #rules(sessions: number, isSearch: boolean): Rules {
    const { periodMs, chunkFrames, targetMs } = this.setting;
    const intervalMs = periodMs * chunkFrames;
    const mostMs = 1000 * (this.options.seconds ?? DEFAULTS.seconds);
    const wishedMs = isSearch ? 0 : P99_COUNT / WINDOWS_COUNTED / sessions * intervalMs;
    const windowMs = Math.max(
      WINDOW_MS_MIN,
      WINDOW_CHUNKS_MIN * intervalMs,
      Math.min(wishedMs, mostMs / WINDOWS_WISHED),
    );
    return {
      targetMs,
      endsWhenLate: isSearch,
      windowMs,
      warmUpMs: Math.max(WINDOW_MS_MIN, 2 * intervalMs),
      windowsMax: Math.max(WINDOWS_COUNTED, Math.ceil(mostMs / windowMs)),
      overloadMs: Math.max(OVERLOAD_MS_MIN, OVERLOAD_CHUNKS * intervalMs),
    };
  }
}
