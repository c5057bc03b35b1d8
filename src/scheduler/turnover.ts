/** How often slots come free, seen from the last sessions that ended: when to ask again for one. */

/** Ends that are remembered. */
const ENDS_MAX = 32;
const SECONDS_MAX = 300;
/** Of the mean, the median time until the next end is about so much, whether ends come evenly or not. */
const MEDIAN = 0.7;

export class Turnover {
  readonly #ends: number[] = []; // milliseconds, oldest first

  /** A slot came free. */
  freed(nowMs: number): void {
    this.#ends.push(nowMs);
    if (this.#ends.length > ENDS_MAX) this.#ends.shift();
  }

  /**
   * Whole seconds, from 1, until somebody with so many waiting ahead may get a slot. 1 as long as
   * nothing is known. Grows with the time that no slot came free.
   */
  secondsUntilFree(ahead: number, nowMs: number): number {
    const [oldest] = this.#ends;
    if (oldest === undefined) return 1;
    const intervalMs = (nowMs - oldest) / Math.max(1, this.#ends.length - 1);
    const seconds = Math.ceil((ahead + MEDIAN) * intervalMs / 1000);
    return Math.min(SECONDS_MAX, Math.max(1, seconds));
  }
}
