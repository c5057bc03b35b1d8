/** How many of something each key has, against a limit, so that one key cannot take everything. */
import { type ErrorCode, GanglionError } from "../base/errors.ts";

export interface KeyCountsOptions {
  readonly max: number;
  readonly code: ErrorCode;
  /** What is counted, in the plural. */
  readonly what: string;
}

export class KeyCounts {
  readonly #options: KeyCountsOptions;
  readonly #counts = new Map<string | null, number>();

  constructor(options: KeyCountsOptions) {
    this.#options = options;
  }

  /** Counts one more of a key's; throws when it has as many as it may. */
  enter(key: string | null): void {
    const { max, code, what } = this.#options;
    const count = this.#counts.get(key) ?? 0;
    if (count >= max) {
      throw new GanglionError(code, `This key has ${max} ${what}, the most it may have`, {
        per_key_max: max,
        retry_after_s: 1,
      });
    }
    this.#counts.set(key, count + 1);
  }

  leave(key: string | null): void {
    const count = this.#counts.get(key)! - 1;
    if (count === 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}
