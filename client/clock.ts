/** Time and chance, passed in so that tests run in virtual time. */

export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
  /** Runs `action` once after `ms`. */
  after(ms: number, action: () => void): { cancel(): void };
}

export const realClock: Clock = {
  now: () => performance.now(),
  after(ms, action) {
    const id = setTimeout(action, ms);
    return { cancel: () => clearTimeout(id) };
  },
};

/** Resolves after `ms`, or when `wake` resolves; rejects with the signal's reason when it aborts. */
export function sleep(
  clock: Clock,
  ms: number,
  signal?: AbortSignal | null,
  wake?: Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const end = (settle: () => void) => () => {
      timer.cancel();
      signal?.removeEventListener("abort", aborted);
      settle();
    };
    const aborted = end(() => reject(signal!.reason));
    const timer = clock.after(ms, end(resolve));
    signal?.addEventListener("abort", aborted);
    void wake?.then(end(resolve));
  });
}

/** A promise to wait for that something else settles. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** `Promise.withResolvers`, which Node 20 lacks. */
export function deferred<T>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
