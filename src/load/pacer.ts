/**
 * When every chunk of every session is due: at its session's place in the interval, which is drawn once,
 * and then interval after interval, whatever became of the chunks before (an open loop).
 */
import { philox } from "../run/mod.ts";
import type { Pace } from "./types.ts";

export interface Due {
  readonly session: number;
  readonly chunk: number;
  /** In ms since the start. */
  readonly atMs: number;
}

export class Pacer {
  /** Time between two chunks of a session. */
  readonly intervalMs: number;
  readonly #phases: readonly number[];
  /** Sessions in the order in which they are due within an interval. */
  readonly #order: readonly number[];

  constructor({ sessions, periodMs, chunkFrames, seed }: Pace) {
    this.intervalMs = periodMs * chunkFrames;
    const key = [seed >>> 0, Math.floor(seed / 2 ** 32)] as const;
    this.#phases = Array.from(
      { length: sessions },
      (_, session) => philox([session, 0, 0, 0], key)[0] * 2 ** -32 * this.intervalMs,
    );
    this.#order = this.#phases.map((_, session) => session)
      .sort((a, b) => this.#phases[a]! - this.#phases[b]!);
  }

  /** The n-th chunk of all, from 0, in the order in which they are due. */
  at(n: number): Due {
    const count = this.#order.length;
    const session = this.#order[n % count]!;
    const chunk = Math.floor(n / count);
    return { session, chunk, atMs: this.dueMs(session, chunk) };
  }

  dueMs(session: number, chunk: number): number {
    return this.#phases[session]! + chunk * this.intervalMs;
  }
}
