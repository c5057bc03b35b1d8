/**
 * When to collect what steps leave behind. Encoders and command buffers hold memory of the driver that
 * the garbage collector does not count, about 3 KB a submission on Deno, and that only a full collection
 * frees; a server allocates too little of what is counted to cause one. So one is forced: in a pause
 * between steps where there is one, else before a step. Never while a step runs.
 */
import type { Clock, Timer } from "../base/clock.ts";

/** Submissions that are worth a collection in a pause. */
export const WORTH = 2048;
/** Submissions after which a collection no longer waits for a pause: about 25 MB. */
export const LATEST = 8192;
/** Without a step for as long, the next one is not expected at once. */
export const PAUSE_MS = 20;

export class Collector {
  readonly #collect: () => void;
  readonly #clock: Clock;
  #left = 0;
  #stepping = false;
  /** Steps that have begun since the timer was set. */
  #begun = 0;
  #timer: Timer | null = null;

  /** `collect` frees everything that is unreachable before it returns. */
  constructor(collect: () => void, clock: Clock) {
    this.#collect = collect;
    this.#clock = clock;
  }

  /** A step begins. */
  begin(): void {
    if (this.#left >= LATEST) this.#run();
    this.#begun++;
    this.#stepping = true;
  }

  submitted(): void {
    this.#left++;
    if (this.#left >= WORTH && this.#timer === null) this.#awaitPause();
  }

  /** The step has ended, well or not. */
  end(): void {
    this.#stepping = false;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** One timer a pause's length, not one a step. */
  #awaitPause(): void {
    this.#begun = 0;
    this.#timer = this.#clock.after(PAUSE_MS, () => {
      this.#timer = null;
      if (this.#left < WORTH) return;
      if (this.#begun > 0 || this.#stepping) this.#awaitPause();
      else this.#run();
    });
  }

  #run(): void {
    this.#left = 0;
    this.#collect();
  }
}
