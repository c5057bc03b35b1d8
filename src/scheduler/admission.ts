/** Requests that wait for a slot: a bounded queue, first in, first out. Each ends exactly once. */
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { Turnover } from "./turnover.ts";

interface Waiting {
  readonly admit: () => void;
  readonly refuse: (error: GanglionError) => void;
}

export interface AdmissionOptions {
  readonly clock: Clock;
  readonly waitingMax: number;
  readonly slots: number;
  readonly slotsFree: () => number;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #queue = new Set<Waiting>();
  readonly #turnover = new Turnover();

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** Requests that wait now. */
  get waiting(): number {
    return this.#queue.size;
  }

  /**
   * Calls `take` as soon as a slot is free and nobody waits before, and resolves with what it
   * returns. Rejects with `no_slot` after `waitMs`, or when `signal` aborts.
   */
  enter<T>(take: () => T, waitMs: number, signal?: AbortSignal): Promise<T> {
    const { clock, slotsFree, waitingMax } = this.#options;
    return new Promise((resolve, reject) => {
      if (slotsFree() > 0 && this.#queue.size === 0) return resolve(take());
      if (waitMs === 0 || this.#queue.size >= waitingMax || signal?.aborted) {
        return reject(this.#noSlot());
      }
      const leave = () => {
        this.#queue.delete(waiting);
        timer.cancel();
        signal?.removeEventListener("abort", giveUp);
      };
      const waiting: Waiting = {
        admit: () => {
          leave();
          resolve(take());
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      const giveUp = () => waiting.refuse(this.#noSlot());
      const timer = clock.after(waitMs, giveUp);
      signal?.addEventListener("abort", giveUp);
      this.#queue.add(waiting);
    });
  }

  /** A slot became free. */
  admit(): void {
    this.#turnover.freed(this.#options.clock.now());
    for (const waiting of this.#queue) {
      if (this.#options.slotsFree() === 0) return;
      waiting.admit();
    }
  }

  /** Sends all away. */
  refuseAll(error: GanglionError): void {
    for (const waiting of [...this.#queue]) waiting.refuse(error);
  }

  #noSlot(): GanglionError {
    const { slots, clock } = this.#options;
    const waiting = this.#queue.size;
    return new GanglionError("no_slot", `All ${slots} slots hold sessions`, {
      slots,
      waiting,
      retry_after_s: this.#turnover.secondsUntilFree(waiting, clock.now()),
    });
  }
}
