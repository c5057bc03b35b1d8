/** Time as an interface, so that tests run the scheduler in virtual time. The only reader of real time. */

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Wall clock, milliseconds since 1970, for what people read. */
  wallMs(): number;
  /** Runs `action` once after `ms`. A pending timer does not keep the process alive. */
  after(ms: number, action: () => void): Timer;
}

/**
 * Timers of whole milliseconds between these are time-outs, of which nearly every one is cancelled. Longer
 * ones are not shared, for what is shared ends only when it is due.
 */
const SHARED_FROM_MS = 1000;
const SHARED_TO_MS = 120_000;

const queues = new Map<number, TimerQueue>();

/**
 * The machine's clock. Time-outs of equal length share one timer of the runtime, since every request has
 * one and a timer of the runtime costs more than most of what a request does.
 */
export const realClock: Clock = {
  now: () => performance.now(),
  wallMs: () => Date.now(),
  after(ms, action) {
    const isTimeOut = Number.isInteger(ms) && ms >= SHARED_FROM_MS && ms <= SHARED_TO_MS;
    if (!isTimeOut) return startTimer(ms, action);
    let queue = queues.get(ms);
    if (queue === undefined) queues.set(ms, queue = new TimerQueue(ms, () => queues.delete(ms)));
    return queue.add(action);
  },
};

function startTimer(ms: number, action: () => void): Timer {
  const id: unknown = setTimeout(action, ms);
  const handle = id as { unref?: () => void };
  if (typeof handle === "object") handle.unref?.();
  return { cancel: () => clearTimeout(id as number) };
}

interface WaitingTimer {
  readonly dueMs: number;
  readonly action: () => void;
}

/** Timers of one length, which therefore end in the order in which they began. */
class TimerQueue {
  readonly #ms: number;
  readonly #onEmpty: () => void;
  readonly #waiting = new Set<WaitingTimer>();

  constructor(ms: number, onEmpty: () => void) {
    this.#ms = ms;
    this.#onEmpty = onEmpty;
    this.#arm(ms);
  }

  add(action: () => void): Timer {
    const timer = { dueMs: performance.now() + this.#ms, action };
    this.#waiting.add(timer);
    return { cancel: () => void this.#waiting.delete(timer) };
  }

  /** Rings when the oldest timer is due, also when it was cancelled since. */
  #arm(ms: number): void {
    startTimer(ms, () => {
      const now = performance.now();
      const due: WaitingTimer[] = [];
      let next: WaitingTimer | null = null;
      for (const timer of this.#waiting) {
        if (timer.dueMs <= now) due.push(timer);
        else next = timer;
        if (next !== null) break;
      }
      if (next === null) this.#onEmpty();
      else this.#arm(next.dueMs - now);
      // What one of them cancels does not run.
      for (const timer of due) if (this.#waiting.delete(timer)) timer.action();
    });
  }
}

/** Resolves after everything that is ready now (input, output, other promises) had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
