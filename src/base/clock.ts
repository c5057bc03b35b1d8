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

/** Resolves after everything that is ready now (input, output, other promises) had its turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
