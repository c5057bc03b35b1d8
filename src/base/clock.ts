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

export const realClock: Clock = {
  now: () => performance.now(),
  wallMs: () => Date.now(),
  after(ms, action) {
    const id: unknown = setTimeout(action, ms);
    const handle = id as { unref?: () => void };
    if (typeof handle === "object") handle.unref?.();
    return { cancel: () => clearTimeout(id as number) };
  },
};

/**
 * A clock whose timers of equal length share one timer of `clock`. For time-outs, of which there is one a
 * request and nearly every one is cancelled: a timer of the runtime for each costs more than the rest.
 */
export function sharingTimers(clock: Clock): Clock {
  const queues = new Map<number, TimerQueue>();
  return {
    now: () => clock.now(),
    wallMs: () => clock.wallMs(),
    after(ms, action) {
      let queue = queues.get(ms);
      if (queue === undefined) {
        queues.set(ms, queue = new TimerQueue(clock, ms, () => queues.delete(ms)));
      }
      return queue.add(action);
    },
  };
}

interface WaitingTimer {
  readonly dueMs: number;
  readonly action: () => void;
}

/** Timers of one length, which therefore end in the order in which they began. */
class TimerQueue {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #onEmpty: () => void;
  readonly #waiting = new Set<WaitingTimer>();

  constructor(clock: Clock, ms: number, onEmpty: () => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#onEmpty = onEmpty;
    this.#arm(ms);
  }

  add(action: () => void): Timer {
    const timer = { dueMs: this.#clock.now() + this.#ms, action };
    this.#waiting.add(timer);
    return { cancel: () => void this.#waiting.delete(timer) };
  }

  /** Rings when the oldest timer is due, also when it was cancelled since. */
  #arm(ms: number): void {
    this.#clock.after(ms, () => {
      const now = this.#clock.now();
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
