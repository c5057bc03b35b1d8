/**
 * Ends a session that nobody uses: nothing queued or running, and no activity for its idle time. One
 * timer a session, set again when it fires, so that activity costs no timer.
 */
import type { Clock, Timer } from "../base/clock.ts";

/** Longer timers fire at once in some runtimes. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export interface IdleWatchOptions {
  readonly clock: Clock;
  /** 0 for never. */
  readonly ttlMs: number;
  readonly isQuiet: () => boolean;
  readonly onIdle: () => void;
}

export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #activeAtMs = 0;
  #activeAtWallMs = 0;
  #timer: Timer | null = null;

  constructor(options: IdleWatchOptions) {
    this.#options = options;
    this.touch();
    this.#arm();
  }

  /** Wall clock of the last activity. */
  get activeAtWallMs(): number {
    return this.#activeAtWallMs;
  }

  /** A chunk was posted or finished, or the session was changed. */
  touch(): void {
    const { clock } = this.#options;
    this.#activeAtMs = clock.now();
    this.#activeAtWallMs = clock.wallMs();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    const { clock, ttlMs, isQuiet, onIdle } = this.#options;
    if (ttlMs === 0) return;
    const leftMs = isQuiet() ? ttlMs - (clock.now() - this.#activeAtMs) : ttlMs;
    if (leftMs <= 0) return onIdle();
    this.#timer = clock.after(Math.min(leftMs, TIMER_MS_MAX), () => this.#arm());
  }
}
