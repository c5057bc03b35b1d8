/**
 * Ends a session that nobody uses: nothing queued or running, and no activity for its idle time; says
 * so some time before. One timer a session, set again when it fires, so that activity costs no timer.
 */
import type { Clock, Timer } from "../base/clock.ts";

/** Longer timers fire at once in some runtimes. */
export const TIMER_MS_MAX = 2 ** 31 - 1;

export interface IdleWatchOptions {
  readonly clock: Clock;
  /** 0 for never. */
  readonly ttlMs: number;
  /** So long before the end it is told. */
  readonly noticeMs: number;
  readonly isQuiet: () => boolean;
  readonly onNotice: (leftMs: number) => void;
  readonly onIdle: () => void;
}

export class IdleWatch {
  readonly #options: IdleWatchOptions;
  #activeAtMs = 0;
  #activeAtWallMs = 0;
  #told = false;
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
    this.#told = false;
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #arm(): void {
    const { clock, ttlMs, isQuiet, onNotice, onIdle } = this.#options;
    if (ttlMs === 0) return;
    const noticeMs = Math.min(this.#options.noticeMs, ttlMs / 2);
    const leftMs = isQuiet() ? ttlMs - (clock.now() - this.#activeAtMs) : ttlMs;
    if (leftMs <= 0) return onIdle();
    if (leftMs <= noticeMs && !this.#told) {
      this.#told = true;
      onNotice(leftMs);
    }
    const nextMs = this.#told ? leftMs : leftMs - noticeMs;
    this.#timer = clock.after(Math.min(nextMs, TIMER_MS_MAX), () => this.#arm());
  }
}
