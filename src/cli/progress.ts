/** One line of progress on stderr, redrawn in place; silent when stderr is no terminal. */
import { isTerminal, sayRaw } from "../runtime/mod.ts";

const REDRAW_MS = 100;

export class Progress {
  readonly #what: string;
  readonly #total: number;
  readonly #shown = isTerminal("stderr");
  #drawnAt = performance.now(); // the first line comes only when there is something to wait for

  constructor(what: string, total: number) {
    this.#what = what;
    this.#total = total;
  }

  update(done: number): void {
    const now = performance.now();
    if (!this.#shown || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    sayRaw(`\r${this.#what} ${done} of ${this.#total} (${Math.floor(100 * done / this.#total)} %)`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown) sayRaw("\r\x1b[K");
  }
}
