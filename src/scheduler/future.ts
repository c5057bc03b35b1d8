/**
 * The outcome of a submitted frame. It can be cancelled until its frame is taken by a step; from then
 * on it ends with the outputs or the step's error. Nothing is left pending: `close` settles all.
 */

export type FutureState = "waiting" | "running" | "done" | "failed" | "cancelled";

export class CancelledError extends Error {
  constructor() {
    super("The frame was cancelled before it ran");
    this.name = "CancelledError";
  }
}

export class Future<T> {
  #state: FutureState = "waiting";
  #settle: { resolve: (value: T) => void; reject: (error: unknown) => void };
  readonly #promise: Promise<T>;

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    // A future that nobody reads must not count as an unhandled rejection.
    promise.catch(() => undefined);
    this.#promise = promise;
    this.#settle = { resolve, reject };
  }

  get state(): FutureState {
    return this.#state;
  }

  /** The outputs; rejects with the step's error, or with `CancelledError`. */
  result(): Promise<T> {
    return this.#promise;
  }

  /** Drops the frame if no step has taken it. Returns whether the future is cancelled now. */
  cancel(): boolean {
    if (this.#state === "waiting") {
      this.#state = "cancelled";
      this.#settle.reject(new CancelledError());
    }
    return this.#state === "cancelled";
  }

  /** For the scheduler: the frame is taken. False when it was cancelled before. */
  claim(): boolean {
    if (this.#state !== "waiting") return false;
    this.#state = "running";
    return true;
  }

  /** For the scheduler. */
  resolve(value: T): void {
    this.#state = "done";
    this.#settle.resolve(value);
  }

  /** For the scheduler. */
  fail(error: unknown): void {
    this.#state = "failed";
    this.#settle.reject(error);
  }
}
