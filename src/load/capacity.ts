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
  const { start, max, probe } = options;
  const trials: Trial<T>[] = [];
  let held = 0;
  let failed: number | null = null;
  const done = (interrupted: boolean): Capacity<T> => ({
    sessions: held,
    atLimit: !interrupted && held === max,
    interrupted,
    trials,
  });
  while (failed === null ? held < max : failed - held > Math.max(1, RESOLUTION * failed)) {
    const sessions: number = failed !== null
      ? Math.floor((held + failed) / 2)
      : held === 0
      ? Math.min(start, max)
      : Math.min(2 * held, max);
    let holds = false;
    let failures = 0;
    for (let tries = 0; tries < TRIES_MAX && failures < FAILURES && !holds; tries++) {
      const found = await probe(sessions);
      if (found === null) return done(true);
      const { isSure, result } = found;
      ({ holds } = found);
      trials.push({ sessions, holds, result });
      if (!holds && isSure) failures++;
    }
    if (holds) held = sessions;
    else failed = sessions;
  }
  return done(false);
}
