/**
 * The largest number of sessions that a server holds in real time: doubles until one number fails, then
 * halves the gap. A number fails when it failed twice, so that one hiccup of the machine does not count; a
 * failure while the client was late itself says nothing and is tried again, within reason.
 */

/** What was found for one number of sessions. */
export interface Trial<T> {
  readonly sessions: number;
  readonly holds: boolean;
  readonly result: T;
}

export interface Capacity<T> {
  /** Largest number that held; 0 where none did. */
  readonly sessions: number;
  /** The server takes no more sessions, so it might hold more than that. */
  readonly atLimit: boolean;
  /** The search ended before its end: the capacity is at least `sessions`. */
  readonly interrupted: boolean;
  /** In the order in which they ran. */
  readonly trials: readonly Trial<T>[];
}

export interface CapacityOptions<T> {
  /** Number of sessions to begin with. */
  readonly start: number;
  /** As many as the server takes. */
  readonly max: number;
  /** Gets each trial, and the most numbers of sessions that are still to be tried after it. */
  readonly onTrial?: (result: T, left: number) => void;
  /** Measures a number of sessions; null: stopped from outside. */
  readonly probe: (sessions: number) => Promise<Probed<T> | null>;
}

interface Probed<T> {
  readonly holds: boolean;
  /** False where the client was too late itself to judge. */
  readonly isSure: boolean;
  readonly result: T;
}

const FAILURES = 2;
/** Tries of one number of sessions, sure or not. */
const TRIES_MAX = 5;
/** The gap that is left: this share of the capacity, at least one session. */
const RESOLUTION = 0.025;

export async function findCapacity<T>(options: CapacityOptions<T>): Promise<Capacity<T>> {
  const { max, probe, onTrial } = options;
  const trials: Trial<T>[] = [];
  let held = 0;
  let failed = Infinity;
  const done = (interrupted: boolean): Capacity<T> => ({
    sessions: held,
    atLimit: !interrupted && held === max,
    interrupted,
    trials,
  });
  for (;;) {
    const sessions = nextNumber(held, failed, options);
    if (sessions === null) return done(false);
    let holds = false;
    let failures = 0;
    for (let tries = 0; tries < TRIES_MAX && failures < FAILURES && !holds; tries++) {
      const found = await probe(sessions);
      if (found === null) return done(true);
      const { isSure, result } = found;
      ({ holds } = found);
      trials.push({ sessions, holds, result });
      if (!holds && isSure) failures++;
      const isDecided = holds || failures === FAILURES || tries === TRIES_MAX - 1;
      const left = isDecided
        ? numbersLeft(holds ? sessions : held, holds ? failed : sessions, options)
        : numbersLeft(held, failed, options);
      onTrial?.(result, left);
    }
    if (holds) held = sessions;
    else failed = sessions;
  }
}

type Bounds = Pick<CapacityOptions<unknown>, "start" | "max">;

/** What is tried when `held` held and `failed` did not (Infinity: none yet); null: the search is over. */
function nextNumber(held: number, failed: number, { start, max }: Bounds): number | null {
  if (failed < Infinity) {
    const isClose = failed - held <= Math.max(1, RESOLUTION * failed);
    return isClose ? null : Math.floor((held + failed) / 2);
  }
  if (held >= max) return null;
  return Math.min(held === 0 ? start : 2 * held, max);
}

/** As many numbers as the search may still try, if every one is the less lucky way. */
function numbersLeft(held: number, failed: number, bounds: Bounds): number {
  const sessions = nextNumber(held, failed, bounds);
  if (sessions === null) return 0;
  return 1 +
    Math.max(numbersLeft(sessions, failed, bounds), numbersLeft(held, sessions, bounds));
}
