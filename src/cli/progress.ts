/** One line of progress on stderr, redrawn in place; silent when stderr is no terminal. */
import { isTerminal, sayRaw } from "../runtime/mod.ts";

const REDRAW_MS = 100;
const CLEAR = "\r\x1b[K";

/** A line that stands until the next one, or the end. */
export class ProgressLine {
  readonly #shown = isTerminal("stderr");

  show(text: string): void {
    if (this.#shown) sayRaw(`${CLEAR}${text}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shown) sayRaw(CLEAR);
  }
}

/** `recording 12 of 40 (30 %)` */
export class Progress {
  readonly #what: string;
  readonly #total: number;
  readonly #line = new ProgressLine();
  #drawnAt = performance.now(); // the first line comes only when there is something to wait for

  constructor(what: string, total: number) {
    this.#what = what;
    this.#total = total;
  }

  update(done: number): void {
    const now = performance.now();
    if (now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    const percent = Math.floor(100 * done / this.#total);
    this.#line.show(`${this.#what} ${done} of ${this.#total} (${percent} %)`);
  }

  end(): void {
    this.#line.end();
  }
}
