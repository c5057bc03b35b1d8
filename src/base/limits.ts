/** Every limit of the service: default, bounds and reason. Validated at start, shown by `--print-config`. */

export interface Limit {
  readonly default: number;
  readonly min: number;
  readonly max: number;
  readonly why: string;
}

const limit = (value: number, min: number, max: number, why: string): Limit => ({
  default: value,
  min,
  max,
  why,
});

export const LIMITS = {
  slots: limit(8, 1, 65_535, "rows of resident state; a dispatch has at most 65,535 groups"),
  frame: limit(10, 1, 256, "time steps a session advances in one step"),
  sessionsMax: limit(0, 0, 2 ** 24, "sessions of a model, idle ones parked; 0: one a slot"),
  parkedBytesMax: limit(
    1 << 30,
    0,
    2 ** 40,
    "bytes of states and rings beside the slots per model",
  ),
  checkpointSteps: limit(1000, 1, 2 ** 31, "steps a session runs between two of its checkpoints"),
  checkpointMs: limit(1000, 1, 2 ** 31, "time until a change of a session is kept on disk"),
  journalBytesMax: limit(16 << 20, 1, 2 ** 32, "input bytes kept per session since its checkpoint"),
  bodyBytesMax: limit(64 << 20, 1, 2 ** 31, "a body is held whole in memory"),
  controlBytesMax: limit(
    64 << 10,
    1,
    2 ** 31,
    "a JSON body that is no chunk; a state in it comes on top",
  ),
  answerBytesMax: limit(64 << 20, 1, 2 ** 31, "f32 bytes of outputs in one answer to ?wait=true"),
  queueStepsMax: limit(65_536, 1, 2 ** 31, "time steps waiting per session"),
  queueBytesMax: limit(64 << 20, 1, 2 ** 32, "input bytes waiting per session"),
  seqWindow: limit(256, 1, 65_536, "finished chunks a session remembers for repeats"),
  waitingSessionsMax: limit(1024, 0, 65_536, "requests waiting for a slot per model"),
  ringBytesMax: limit(4 << 20, 1, 2 ** 32, "output bytes held per session for late readers"),
  readersMax: limit(16, 1, 1024, "SSE readers per session"),
  readerBytesMax: limit(1 << 20, 1, 2 ** 30, "unsent bytes a reader may fall behind"),
  recordValuesMax: limit(65_536, 0, 2 ** 24, "recorded values per time step and session"),
  stepGatherMs: limit(0, 0, 1000, "longest time a frame waits for others to share its step"),
  sessionsPerKeyMax: limit(65_535, 1, 65_535, "sessions open or waiting for a slot per key"),
  readersPerKeyMax: limit(4096, 1, 65_536, "SSE readers of all sessions of a key"),
  sessionsPerStreamMax: limit(64, 1, 1024, "sessions in one stream of GET /v1/outputs"),
  readerStallSeconds: limit(30, 1, 3600, "time a reader may take nothing before it is cut"),
  bodySeconds: limit(60, 1, 3600, "time in which a body must have come"),
  ticketsMax: limit(65_536, 1, 2 ** 20, "unused tickets; the oldest is dropped"),
  ticketSeconds: limit(60, 1, 3600, "time in which a ticket must be used"),
  serverEventsMax: limit(1024, 1, 65_536, "events held for readers of GET /v1/events"),
  serverReadersMax: limit(16, 1, 1024, "readers of GET /v1/events"),
  framePeriodMsMax: limit(60_000, 1, 2 ** 31, "longest frame period of a session"),
  lifetimeSeconds: limit(0, 0, 2 ** 31, "life time of a session, busy or not; 0 means for ever"),
  noticeSeconds: limit(30, 0, 3600, "how long before its end a session says that it is expiring"),
  ttlSecondsMax: limit(86_400, 1, 2 ** 31, "longest idle life time of a session"),
  ttlSeconds: limit(300, 0, 2 ** 31, "default idle life time of a session; 0 means for ever"),
  stepSecondsMax: limit(60, 0, 86_400, "time a step may take before /livez fails; 0: any"),
  stepRetries: limit(2, 0, 10, "times a failed step is run again before its chunk is given up"),
  waitSecondsMax: limit(60, 1, 3600, "longest time ?wait=true holds an answer back"),
  goneSeconds: limit(600, 0, 86_400, "time an ended session answers 410 before 404"),
  goneMax: limit(65_536, 0, 2 ** 24, "ended sessions that are remembered"),
  goneBytesMax: limit(256 << 20, 0, 2 ** 40, "output bytes held for ended sessions, all together"),
  memoryBytesMax: limit(0, 0, 2 ** 50, "memory the server may count on; 0 means the machine's"),
  modelBytesMax: limit(1 << 30, 1, 2 ** 40, "size of a model file"),
  modelSecondsMax: limit(60, 1, 3600, "time to read a model file"),
  modelNodesMax: limit(2_000, 1, 1e6, "nodes of a model, nested graphs included"),
  modelDepthMax: limit(8, 1, 64, "nesting of graphs"),
} satisfies Record<string, Limit>;

export type LimitName = keyof typeof LIMITS;
export type Limits = Readonly<Record<LimitName, number>>;

/** All defaults, some replaced. Throws a RangeError naming the limit and its bounds. */
export function makeLimits(overrides: Partial<Limits> = {}): Limits {
  const limits: Partial<Record<LimitName, number>> = {};
  for (const name of Object.keys(LIMITS) as LimitName[]) {
    const { default: value, min, max } = LIMITS[name];
    const wanted = overrides[name] ?? value;
    if (!Number.isInteger(wanted) || wanted < min || wanted > max) {
      throw new RangeError(`${name} must be a whole number from ${min} to ${max}, got ${wanted}`);
    }
    limits[name] = wanted;
  }
  return limits as Limits;
}
