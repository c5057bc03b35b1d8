/**
 * How the executor's threads share a round. The rows' facts stand in shared memory; every thread takes
 * the next row until none is left, the executor's own among them, which then waits for the others. A row
 * is taken by one thread only, and reads and writes nothing of another row. A row that fails elsewhere
 * runs again on the executor's own thread, so that its error is told there.
 */
import { GanglionError } from "../base/errors.ts";
import type { Plan } from "../model/plan.ts";
import { bufferOf, kernelsFor, type Memory } from "./kernels.ts";
import { FACTS, mapMemory, type MapOptions, type MemoryMap, type RowFacts } from "./memory_map.ts";
import { RowRunner } from "./row_runner.ts";

/** A thread that runs `helpOut` with what it gets. It answers nothing; its death is told. */
export interface HelperThread {
  post(opening: HelperOpening): void;
  listen(onMessage: (message: never) => void, onDeath: (reason: string) => void): void;
  terminate(): void;
}

export interface HelperOpening {
  readonly plan: Plan;
  readonly options: MapOptions;
  readonly memory: Memory;
  /** Which of the threads it is; 0 is the executor's own. */
  readonly thread: number;
}

/** Words of `map.signals`. A ticket is the round's number above, the next row below. */
const ROUND = 0; // −1: there will be no more
const TICKET = 1;
const ROWS = 2;
const DONE = 3;
const WAKE = 4; // counts; helpers sleep on it
const INDEX_BITS = 16; // a row's index, with room for threads that come and find nothing

/** Word of a row's facts behind those of `RowFacts`. */
const FAILED = 6;

const ROUND_MS_MAX = 60_000;
/** How often a thread looks whether the others are done before it sleeps: some ten microseconds. */
const LOOKS = 2000;

/** What a thread sees of the rounds. */
class Rounds {
  readonly #ints: Int32Array;
  readonly #signals: number;
  readonly #facts: number;

  constructor(map: MemoryMap, buffer: ArrayBufferLike) {
    this.#ints = new Int32Array(buffer);
    this.#signals = map.signals >>> 2;
    this.#facts = map.facts >>> 2;
  }

  /** Opens a round of these rows to all threads. */
  begin(rows: readonly RowFacts[]): void {
    const round = (this.#load(ROUND) + 1) & 0x7fff;
    // In this order: who still holds a ticket of the round before must not take a row of this one.
    this.#store(ROUND, round);
    rows.forEach(({ from, to, steps, input, isBits, output }, i) => {
      this.#ints.set([from, to, steps, input, Number(isBits), output, 0], this.#facts + i * FACTS);
    });
    this.#store(ROWS, rows.length);
    this.#store(DONE, 0);
    this.#store(TICKET, round << INDEX_BITS);
    this.#wake();
  }

  /** The next row that nobody has taken, or −1. */
  take(): number {
    const ticket = Atomics.add(this.#ints, this.#signals + TICKET, 1);
    const index = ticket & (2 ** INDEX_BITS - 1);
    if (index >= this.#load(ROWS)) return -1;
    return ticket >> INDEX_BITS === this.#load(ROUND) ? index : -1;
  }

  row(index: number): RowFacts {
    const at = this.#facts + index * FACTS;
    const ints = this.#ints;
    return {
      from: ints[at]!,
      to: ints[at + 1]!,
      steps: ints[at + 2]!,
      input: ints[at + 3]!,
      isBits: ints[at + 4] === 1,
      output: ints[at + 5]!,
    };
  }

  done(index: number, hasFailed: boolean): void {
    if (hasFailed) this.#ints[this.#facts + index * FACTS + FAILED] = 1;
    const before = Atomics.add(this.#ints, this.#signals + DONE, 1);
    if (before + 1 === this.#load(ROWS)) Atomics.notify(this.#ints, this.#signals + DONE);
  }

  hasFailed(index: number): boolean {
    return this.#ints[this.#facts + index * FACTS + FAILED] === 1;
  }

  /** Waits until every row has been run; false when that takes too long. */
  awaitAll(): boolean {
    const rows = this.#load(ROWS);
    // The others mostly end within microseconds, and sleep costs more than those.
    for (let looks = 0; looks < LOOKS; looks++) if (this.#load(DONE) >= rows) return true;
    for (let done = this.#load(DONE); done < rows; done = this.#load(DONE)) {
      const woken = Atomics.wait(this.#ints, this.#signals + DONE, done, ROUND_MS_MAX);
      if (woken === "timed-out" && this.#load(DONE) === done) return false;
    }
    return true;
  }

  /** Helpers' turns: calls `turn` whenever there may be rows, until the rounds end. */
  attend(turn: () => void): void {
    for (;;) {
      const seen = this.#load(WAKE);
      if (this.#load(ROUND) < 0) return;
      turn();
      Atomics.wait(this.#ints, this.#signals + WAKE, seen);
    }
  }

  end(): void {
    this.#store(ROUND, -1);
    this.#wake();
  }

  #wake(): void {
    Atomics.add(this.#ints, this.#signals + WAKE, 1);
    Atomics.notify(this.#ints, this.#signals + WAKE);
  }

  #load(word: number): number {
    return Atomics.load(this.#ints, this.#signals + word);
  }

  #store(word: number, value: number): void {
    Atomics.store(this.#ints, this.#signals + word, value);
  }
}

/** The executor's end. */
export class Team {
  readonly #rounds: Rounds;
  readonly #helpers: readonly HelperThread[];

  constructor(
    helpers: readonly HelperThread[],
    map: MemoryMap,
    opening: Omit<HelperOpening, "thread">,
    onDeath: (reason: string) => void,
  ) {
    this.#rounds = new Rounds(map, bufferOf(opening.memory));
    this.#helpers = helpers;
    helpers.forEach((helper, i) => {
      helper.listen(() => undefined, onDeath);
      helper.post({ ...opening, thread: i + 1 });
    });
  }

  /** Runs all rows, `own` for those of this thread. Throws the error of a row that fails. */
  run(rows: readonly RowFacts[], own: (row: RowFacts) => void): void {
    const rounds = this.#rounds;
    rounds.begin(rows);
    let failure: { error: unknown } | null = null;
    for (let index = rounds.take(); index >= 0; index = rounds.take()) {
      try {
        own(rows[index]!);
      } catch (error) {
        failure ??= { error };
      }
      rounds.done(index, false);
    }
    if (!rounds.awaitAll()) {
      throw new GanglionError(
        "device_lost",
        `A thread of the CPU executor has not answered for ${ROUND_MS_MAX / 1000} s`,
      );
    }
    if (failure !== null) throw failure.error;
    rows.forEach((row, index) => {
      if (rounds.hasFailed(index)) own(row);
    });
  }

  close(): void {
    this.#rounds.end();
    for (const helper of this.#helpers) helper.terminate();
  }
}

/** A helper's whole life: takes part in every round until there are no more. Blocks its thread. */
export function helpOut({ plan, options, memory, thread }: HelperOpening): void {
  const map = mapMemory(plan, options);
  const runner = new RowRunner(plan, map, memory, kernelsFor(plan, map, memory, thread), thread);
  const rounds = new Rounds(map, bufferOf(memory));
  rounds.attend(() => {
    for (let index = rounds.take(); index >= 0; index = rounds.take()) {
      let hasFailed = false;
      try {
        runner.run(rounds.row(index));
      } catch {
        hasFailed = true;
      }
      rounds.done(index, hasFailed);
    }
  });
}
