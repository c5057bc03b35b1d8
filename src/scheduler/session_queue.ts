/**
 * The chunks of one session: those that wait, in order, and those that finished lately, by number.
 * Chunks are numbered from 0 without holes; a number is used up by a chunk that was cancelled, and
 * given back by a chunk that failed. Bounded in steps; all counts are kept, never counted.
 */
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import { Chunk, type ChunkInput } from "./chunk.ts";

export interface QueueShape {
  readonly frame: number;
  readonly sampleSize: number;
}

/** Steps that may wait in a session. */
export function queueCapacity(
  sampleSize: number,
  { queueBytesMax, queueStepsMax }: Pick<Limits, "queueBytesMax" | "queueStepsMax">,
): number {
  const stepsByBytes = Math.floor(queueBytesMax / (4 * sampleSize));
  return Math.max(1, Math.min(queueStepsMax, stepsByBytes));
}

export class SessionQueue {
  /** Steps that may wait at once. */
  readonly capacity: number;
  readonly seqWindow: number;
  readonly #frame: number;
  readonly #known = new Map<number, Chunk>();
  #waiting: Chunk[] = [];
  #head = 0; // index into #waiting
  #nextSeq = 0;
  #stepsWaiting = 0;
  #framesWaiting = 0;
  #resetsWaiting = 0;

  /** `known`: the chunks of a checkpoint whose numbers are remembered, in order. */
  constructor(
    { frame, sampleSize }: QueueShape,
    limits: Limits,
    { nextSeq, known }: { nextSeq: number; known: readonly Chunk[] } = { nextSeq: 0, known: [] },
  ) {
    this.#frame = frame;
    this.seqWindow = limits.seqWindow;
    this.capacity = queueCapacity(sampleSize, limits);
    this.#nextSeq = nextSeq;
    for (const chunk of known) {
      this.#known.set(chunk.seq, chunk);
      if (!chunk.finished) this.#enqueue(chunk);
    }
  }

  get nextSeq(): number {
    return this.#nextSeq;
  }

  /** Steps waiting or running. */
  get stepsWaiting(): number {
    return this.#stepsWaiting;
  }

  get framesWaiting(): number {
    return this.#framesWaiting;
  }

  /** Chunks waiting that begin with a reset. */
  get resetsWaiting(): number {
    return this.#resetsWaiting;
  }

  /** Steps that fit. */
  get credit(): number {
    return this.capacity - this.#stepsWaiting;
  }

  /** Chunks whose numbers are remembered, in order; those that wait are among them. */
  get known(): Iterable<Chunk> {
    return this.#known.values();
  }

  /** The oldest chunk that has steps left. */
  get head(): Chunk | undefined {
    while (this.#waiting[this.#head]?.finished) this.#shift();
    return this.#waiting[this.#head];
  }

  /** The chunk that runs after one that waits or runs. */
  after(chunk: Chunk): Chunk | undefined {
    const at = this.#waiting.indexOf(chunk, this.#head);
    for (let i = at + 1; i < this.#waiting.length; i++) {
      if (!this.#waiting[i]!.finished) return this.#waiting[i];
    }
    return undefined;
  }

  /** Whether this very chunk came before, and is remembered. */
  knows({ seq, digest }: ChunkInput): boolean {
    return seq !== undefined && this.#known.get(seq)?.digest === (digest ?? "");
  }

  /** The chunk that had this number before; null when the number is the next one or none was given. */
  repeated({ seq, digest }: ChunkInput): Chunk | null {
    if (seq === undefined || seq === this.#nextSeq) return null;
    if (seq > this.#nextSeq) {
      throw new GanglionError(
        "chunk_gap",
        `Chunk ${seq} came, chunk ${this.#nextSeq} is expected`,
        { expected: this.#nextSeq },
      );
    }
    const chunk = this.#known.get(seq);
    if (chunk === undefined || seq < this.#nextSeq - this.seqWindow) {
      throw new GanglionError(
        "chunk_too_old",
        `Chunk ${seq} was applied and is older than the last ${this.seqWindow}`,
        { applied: true, seq_window: this.seqWindow },
      );
    }
    if (chunk.digest !== (digest ?? "")) {
      throw new GanglionError("chunk_differs", `Chunk ${seq} had another body before`, { seq });
    }
    if (chunk.state === "cancelled") throw cancelled(seq);
    return chunk;
  }

  /** Throws when so many steps can never wait, or cannot now. */
  assertRoom(steps: number, secondsFor: (frames: number) => number): void {
    this.assertCanFit(steps);
    if (steps > this.credit) {
      throw new GanglionError(
        "queue_full",
        `The queue has room for ${this.credit} of ${this.capacity} steps, the chunk has ${steps}`,
        {
          credit: this.credit,
          steps_max: this.capacity,
          retry_after_s: secondsFor(Math.ceil((steps - this.credit) / this.#frame)),
        },
      );
    }
  }

  /** Throws when so many steps can never wait. */
  assertCanFit(steps: number): void {
    if (steps > this.capacity) {
      throw new GanglionError(
        "chunk_too_long",
        `The chunk has ${steps} steps, the queue has room for ${this.capacity}`,
        { steps, steps_max: this.capacity },
      );
    }
  }

  push(input: ChunkInput, plan: { startStep: number; epoch: number }): Chunk {
    const chunk = new Chunk(this.#nextSeq++, input, plan);
    this.#known.set(chunk.seq, chunk);
    this.#enqueue(chunk);
    this.#forget(this.#nextSeq - this.seqWindow - 1);
    return chunk;
  }

  /** A frame of the head chunk ran. */
  ran(chunk: Chunk, steps: number): void {
    this.#count(-steps, -1);
    if (chunk.reset && chunk.stepsRun === steps) this.#resetsWaiting--;
    if (chunk.seq < this.#nextSeq - this.seqWindow) this.#forget(chunk.seq);
  }

  cancel(seq: number): void {
    const chunk = this.#known.get(seq);
    if (chunk === undefined) {
      // What was forgotten has run: only finished chunks are.
      if (Number.isInteger(seq) && seq >= 0 && seq < this.#nextSeq) throw done(seq);
      throw new GanglionError("chunk_unknown", `The session has no chunk ${seq}`, {
        next_chunk_seq: this.#nextSeq,
      });
    }
    if (chunk.state === "cancelled") return;
    if (chunk.state === "running") {
      throw new GanglionError("chunk_running", `Chunk ${seq} is running`, { seq });
    }
    if (chunk.state !== "waiting") throw done(seq);
    this.#uncount(chunk);
    chunk.cancel();
    while (this.#waiting.length > this.#head && this.#waiting.at(-1)!.finished) {
      this.#waiting.pop();
    }
    if (seq < this.#nextSeq - this.seqWindow) this.#forget(seq);
  }

  /** Takes a chunk and all after it out, returns those that were still to run, and forgets their numbers. */
  rollBackTo(seq: number): Chunk[] {
    const dropped: Chunk[] = [];
    for (let each = seq; each < this.#nextSeq; each++) {
      const chunk = this.#known.get(each);
      this.#known.delete(each);
      if (chunk === undefined || chunk.finished) continue;
      this.#uncount(chunk);
      dropped.push(chunk);
    }
    this.#nextSeq = seq;
    this.#waiting = [];
    this.#head = 0;
    return dropped;
  }

  /** Takes out and returns everything that was still to run, and forgets the rest. */
  clear(): Chunk[] {
    this.#known.clear();
    const chunks = this.#waiting.slice(this.#head).filter((chunk) => !chunk.finished);
    for (const chunk of chunks) this.#uncount(chunk);
    this.#waiting = [];
    this.#head = 0;
    return chunks;
  }

  #enqueue(chunk: Chunk): void {
    const steps = chunk.steps - chunk.stepsRun;
    this.#waiting.push(chunk);
    this.#count(steps, this.#framesOf(steps));
    if (chunk.reset && chunk.stepsRun === 0) this.#resetsWaiting++;
  }

  #framesOf(steps: number): number {
    return Math.ceil(steps / this.#frame);
  }

  #count(steps: number, frames: number): void {
    this.#stepsWaiting += steps;
    this.#framesWaiting += frames;
  }

  #uncount(chunk: Chunk): void {
    const steps = chunk.steps - chunk.stepsRun;
    this.#count(-steps, -this.#framesOf(steps));
    if (chunk.reset && chunk.stepsRun === 0) this.#resetsWaiting--;
  }

  #shift(): void {
    this.#head++;
    if (this.#head > 64 && this.#head * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
  }

  /** What is still to run is never forgotten. */
  #forget(seq: number): void {
    if (this.#known.get(seq)?.finished) this.#known.delete(seq);
  }
}

function cancelled(seq: number): GanglionError {
  return new GanglionError("chunk_cancelled", `Chunk ${seq} was cancelled`, { seq });
}

function done(seq: number): GanglionError {
  return new GanglionError("chunk_done", `Chunk ${seq} has run`, { seq });
}
