/** Ends a session when its time is over, and says so some time before. */
import type { Clock, Timer } from "../base/clock.ts";
import { TIMER_MS_MAX } from "./idle_watch.ts";

export interface LifetimeWatchOptions {
  readonly clock: Clock;
  /** 0 for ever. */
  readonly lifeMs: number;
  /** So long before the end it is told. */
  readonly noticeMs: number;
  readonly onNotice: (leftMs: number) => void;
  readonly onOver: () => void;
}

export class LifetimeWatch {
  readonly #options: LifetimeWatchOptions;
  readonly #endMs: number;
  #told = false;
  #timer: Timer | null = null;

  constructor(options: LifetimeWatchOptions) {
    this.#options = options;
    this.#endMs = options.clock.now() + options.lifeMs;
    if (options.lifeMs > 0) this.#arm();
  }

  get isOver(): boolean {
    const { clock, lifeMs } = this.#options;
    return lifeMs > 0 && clock.now() >= this.#endMs;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    const { clock, lifeMs, onNotice, onOver } = this.#options;
    const noticeMs = Math.min(this.#options.noticeMs, lifeMs / 2);
    const leftMs = this.#endMs - clock.now();
    if (leftMs <= 0) return onOver();
    if (leftMs <= noticeMs && !this.#told) {
      this.#told = true;
      onNotice(leftMs);
    }
    const nextMs = this.#told ? leftMs : leftMs - noticeMs;
    this.#timer = clock.after(Math.min(nextMs, TIMER_MS_MAX), () => this.#arm());
  }
}
