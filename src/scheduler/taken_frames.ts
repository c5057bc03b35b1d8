/**
 * The frames of one session that are on their way through steps, oldest first. They stay in the queue
 * until each has run, so that all of them can be given back.
 */
import { assert } from "../base/assert.ts";
import type { Chunk } from "./chunk.ts";
import type { SessionQueue } from "./session_queue.ts";
import type { TakenFrame } from "./session_types.ts";

export class TakenFrames {
  readonly #queue: SessionQueue;
  readonly #frame: number;
  readonly #frames: TakenFrame[] = [];
  #steps = 0;
  #at = 0; // where the next frame of the newest chunk begins

  constructor(queue: SessionQueue, frame: number) {
    this.#queue = queue;
    this.#frame = frame;
  }

  get isEmpty(): boolean {
    return this.#frames.length === 0;
  }

  /**
   * The chunk whose frame is next. Undefined when there is none, and before a chunk with a reset as long as
   * others are on their way: it begins an epoch.
   */
  get next(): Chunk | undefined {
    const chunk = this.#frames.at(-1)?.chunk;
    if (chunk === undefined) return this.#queue.head;
    if (this.#at < chunk.steps) return chunk;
    const after = this.#queue.after(chunk);
    return after?.reset ? undefined : after;
  }

  /** Takes the next frame. `stepsDone`: of the session; `rest`: it starts from rest whatever its chunk says. */
  take(stepsDone: number, rest: boolean): TakenFrame {
    const chunk = this.next;
    assert(chunk !== undefined, "a frame waits");
    if (chunk !== this.#frames.at(-1)?.chunk) this.#at = chunk.stepsRun;
    const isFirst = this.#at === 0;
    chunk.state = "running";
    if (isFirst) chunk.startStep = stepsDone + this.#steps;
    const reset = this.isEmpty && (rest || (isFirst && chunk.reset));
    const { steps, input } = chunk.frameAt(this.#at, this.#frame);
    const taken = { chunk, steps, input, reset, readoutBefore: null };
    this.#frames.push(taken);
    this.#at += steps;
    this.#steps += steps;
    return taken;
  }

  /** The oldest one, which has run. */
  ran(): TakenFrame {
    const taken = this.#frames.shift();
    assert(taken !== undefined, "a frame was taken");
    this.#steps -= taken.steps;
    return taken;
  }

  /** All of them wait again; the chunk of the oldest. */
  giveBack(): Chunk | undefined {
    const [oldest] = this.#frames;
    for (const { chunk } of this.#frames) if (chunk.stepsRun === 0) chunk.state = "waiting";
    this.clear();
    return oldest?.chunk;
  }

  /** Their chunks are gone. */
  clear(): void {
    this.#frames.length = 0;
    this.#steps = 0;
  }
}
