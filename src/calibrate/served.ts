/**
 * What a running server costs, measured from outside. The cost of a step is the time between two
 * answers of a session while every one of so many sessions has chunks waiting, one frame each: so it
 * includes what the server does for each chunk that keeps it from the next step.
 */
import { GanglionError } from "../base/errors.ts";
import type { ServerClient } from "../load/mod.ts";
import { endSessions, openSessions, post } from "./chunk_client.ts";
import { costOf, sizesUpTo, type StepCost } from "./fit.ts";

/** Time and chance, passed in. */
export interface Pace {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
}

export interface MeasureOptions {
  readonly pace: Pace;
  /** How long to measure. */
  readonly seconds: number;
  /** Share of the inputs that are 1. */
  readonly density: number;
  /** Called with the share that is done. */
  readonly onProgress?: (share: number) => void;
}

export interface ServedCosts {
  readonly steps: readonly StepCost[];
  /** Seconds from due to answered, of chunks of one frame that met an idle server. */
  readonly idle: readonly number[];
  /** Sessions that could be opened, at most as many as slots. */
  readonly sessions: number;
}

/** More sessions tell nothing new, and are a load of their own. */
const SESSIONS_MAX = 256;
/** Chunks that a session has sent and not got back. */
const DEPTH = 3;
/** Answers until every session is in every step. */
const SKIPPED = DEPTH;
/** Rounds of one measurement. */
const ROUNDS_MIN = 6;
const ROUNDS_MAX = 1000;
/** The sizes come in turns, so that other load on the machine hits them alike. */
const PASSES_MIN = 12;
/** So that no session is idle for so long that the server ends it. */
const PASS_SECONDS_MAX = 20;
/** Share of the time for chunks that meet an idle server, and their number in a pass. */
const IDLE_SHARE = 0.3;
const IDLE_MIN = 3;
const IDLE_MAX = 50;
/** Time from an answer to the next of them: long enough for processors and caches to rest. */
const GAP_MS = [5, 35] as const;

export async function measureServer(
  client: ServerClient,
  options: MeasureOptions,
): Promise<ServedCosts> {
  const { id, slots } = client.model;
  const sessions = await openSessions(client, Math.min(slots, SESSIONS_MAX));
  try {
    if (sessions.length === 0) {
      throw new GanglionError(
        "no_slot",
        `All ${slots} slots of ${id} are taken; calibrate a server that rests`,
      );
    }
    return { ...await measurePasses(client, sessions, options), sessions: sessions.length };
  } finally {
    await endSessions(client, sessions);
  }
}

async function measurePasses(
  client: ServerClient,
  sessions: readonly string[],
  { pace, seconds, density, onProgress }: MeasureOptions,
): Promise<Omit<ServedCosts, "sessions">> {
  const input = frameOf(client.model, density, pace.random);
  const sizes = sizesUpTo(sessions.length);
  const found = sizes.map((): number[] => []);
  const round = (rows: number, count: number) =>
    roundSeconds(client, sessions.slice(0, rows), input, count, pace);
  // A first pass warms up, and finds out how many rounds fill the time.
  const passes = Math.max(PASSES_MIN, Math.ceil(seconds / PASS_SECONDS_MAX));
  const budget = seconds * (1 - IDLE_SHARE) / (sizes.length * passes);
  const counts: number[] = [];
  for (const rows of sizes) {
    const each = await round(rows, ROUNDS_MIN);
    counts.push(Math.max(ROUNDS_MIN, Math.min(ROUNDS_MAX, Math.round(budget / each) - SKIPPED)));
  }
  const idle: number[] = [];
  const idleMs = 1000 * seconds * IDLE_SHARE / passes;
  for (let pass = 0; pass < passes; pass++) {
    for (const [i, rows] of sizes.entries()) found[i]!.push(await round(rows, counts[i]!));
    idle.push(...await idleSeconds(client, sessions[0]!, input, idleMs, pace));
    onProgress?.((pass + 1) / passes);
  }
  return { steps: sizes.map((rows, i) => costOf(rows, found[i]!)), idle };
}

/** Mean seconds of a round while all these sessions have frames waiting. */
async function roundSeconds(
  client: ServerClient,
  sessions: readonly string[],
  input: Float32Array<ArrayBuffer>,
  rounds: number,
  { now }: Pace,
): Promise<number> {
  const spans = await Promise.all(sessions.map(async (session) => {
    let [begin, end] = [0, 0];
    const waiting: Promise<void>[] = [];
    const answer = async (index: number): Promise<void> => {
      await post(client, session, input);
      if (index === SKIPPED - 1) begin = now();
      if (index === SKIPPED + rounds - 1) end = now();
    };
    for (let index = 0; index < SKIPPED + rounds; index++) {
      if (waiting.length === DEPTH) await waiting.shift();
      waiting.push(answer(index));
    }
    await Promise.all(waiting);
    return end - begin;
  }));
  const mean = spans.reduce((sum, span) => sum + span, 0) / spans.length;
  return mean / rounds / 1000;
}

/** Latencies of chunks that meet an idle server, from when they were due. */
async function idleSeconds(
  client: ServerClient,
  session: string,
  input: Float32Array<ArrayBuffer>,
  milliseconds: number,
  { now, sleep, random }: Pace,
): Promise<number[]> {
  const until = now() + milliseconds;
  const found: number[] = [];
  const [least, most] = GAP_MS;
  while (found.length < IDLE_MIN || (now() < until && found.length < IDLE_MAX)) {
    const due = now() + least + (most - least) * random();
    await sleep(due - now());
    await post(client, session, input);
    found.push((now() - due) / 1000);
  }
  return found;
}

/** One frame of random spikes, `[frame, sampleSize]`. */
export function frameOf(
  { frame, sampleSize }: { readonly frame: number; readonly sampleSize: number },
  density: number,
  random: () => number,
): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: frame * sampleSize }, () => random() < density ? 1 : 0);
}
