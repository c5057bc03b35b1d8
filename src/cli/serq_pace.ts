/**
 * The pace of long simulations: virtual time costs real time, so now and then signals and the progress
 * line get their turn. Ctrl-C stops the run that is under way, and those after it.
 */
import { nextTurn } from "../base/clock.ts";
import { onSignal, say, writeOut } from "../runtime/mod.ts";
import type { Interpreter } from "../serq/mod.ts";
import { ProgressLine } from "./progress.ts";

const SLICE_MS = 50;
const SLICE_EVENTS = 512;

export class Pace {
  /** Set by Ctrl-C. */
  interrupted = false;
  readonly #line = new ProgressLine();
  #sliceStart = performance.now();

  constructor() {
    onSignal("SIGINT", () => {
      this.interrupted = true;
    });
  }

  /** Runs to the end, or to Ctrl-C: false. `which` names the run where there are several. */
  async run(interpreter: Interpreter, which: string): Promise<boolean> {
    await this.#rest(interpreter, which);
    for (let count = 1; !this.interrupted && interpreter.step(); count += 1) {
      if (count % SLICE_EVENTS === 0) await this.#rest(interpreter, which);
    }
    interpreter.finish();
    return !this.interrupted;
  }

  /** Clears the progress line, before anything else is written. */
  end(): void {
    this.#line.end();
  }

  say(line: string): void {
    this.end();
    say(line);
  }

  async write(text: string): Promise<void> {
    this.end();
    await writeOut(text);
  }

  async #rest({ machine }: Interpreter, which: string): Promise<void> {
    if (performance.now() - this.#sliceStart < SLICE_MS) return;
    const { horizon, arrivals } = machine.program;
    const [what, done, total] = typeof arrivals === "number"
      ? ["arrival", machine.arrivals, arrivals]
      : ["time", Number(machine.now.toPrecision(4)), horizon];
    const percent = Math.floor(100 * done / total);
    this.#line.show(`${which}${what} ${done} of ${total} (${percent} %)`);
    await nextTurn();
    this.#sliceStart = performance.now();
  }
}
