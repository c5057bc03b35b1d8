/**
 * Watches what an executor is asked for: steps, and states that are read or written. One call that does
 * not end within the limit makes the process count as not live, until it ends after all. Nothing is cut:
 * an executor that hangs can be helped only by who can start another process.
 */
import type { Clock, Timer } from "../base/clock.ts";

export interface StepWatchdogOptions {
  readonly clock: Clock;
  /** 0: any time is fine. */
  readonly secondsMax: number;
  /** A call has not ended within the limit; told once a call. */
  readonly onStuck: (seconds: number) => void;
  /** A call of which `onStuck` was told has ended, well or not. */
  readonly onFree: (seconds: number) => void;
}

export class StepWatchdog {
  readonly #options: StepWatchdogOptions;
  readonly #timers = new Set<Timer>();
  #stuck = 0;

  constructor(options: StepWatchdogOptions) {
    this.#options = options;
  }

  /** Some call has been running for longer than the limit. */
  get isStuck(): boolean {
    return this.#stuck > 0;
  }

  /** Passes on what the call resolves or rejects with. */
  async during<T>(call: Promise<T>): Promise<T> {
    const { clock, secondsMax, onStuck, onFree } = this.#options;
    if (secondsMax === 0) return await call;
    const begin = clock.now();
    let isStuck = false;
    const timer = clock.after(secondsMax * 1000, () => {
      isStuck = true;
      this.#stuck++;
      onStuck(secondsMax);
    });
    this.#timers.add(timer);
    try {
      return await call;
    } finally {
      timer.cancel();
      this.#timers.delete(timer);
      if (isStuck) {
        this.#stuck--;
        onFree(Math.round((clock.now() - begin) / 1000));
      }
    }
  }

  /** What runs is watched no more. */
  stop(): void {
    for (const timer of this.#timers) timer.cancel();
  }
}
