/**
 * One client's stream above the slots: chunks in, frames out, outputs in the outbox. All calls are
 * synchronous and O(1) a frame. The step loop takes the frame at the head and either commits its
 * outputs or gives it back. Step numbers, epochs and chunk numbers are made here and nowhere else.
 */
import { assert } from "../base/assert.ts";
import { GanglionError } from "../base/errors.ts";
import type { Chunk, ChunkInput } from "./chunk.ts";
import { EVENT_BYTES, Outbox, type OutputEvent } from "./outbox.ts";
import { OutputReader, type ReadFrom } from "./reader.ts";
import { SessionQueue } from "./session_queue.ts";
import type {
  EndReason,
  Epoch,
  Notice,
  SessionOptions,
  SessionSurroundings,
  TakenFrame,
} from "./session_types.ts";
import type { Outputs } from "./slot_scheduler.ts";
import { Timeline } from "./timeline.ts";

export class StreamSession {
  readonly options: SessionOptions;
  readonly outbox: Outbox;
  readonly queue: SessionQueue;
  readonly #around: SessionSurroundings;
  readonly #readers = new Set<OutputReader>();
  readonly #timeline = new Timeline();
  #restNext = false; // a reset that no frame has carried out yet
  #taken: TakenFrame | null = null;
  #endReason: EndReason | null = null;
  #refusal: EndReason | null = null;
  #notice: Notice | null = null;
  /** Frames whose output came later than the frame period allows. */
  framesLate = 0;

  constructor(options: SessionOptions, around: SessionSurroundings) {
    this.options = options;
    this.#around = around;
    this.outbox = new Outbox(around.limits.ringBytesMax, options.outputs === "hold");
    this.queue = new SessionQueue(options, around.limits);
  }

  get id(): string {
    return this.options.id;
  }

  get epoch(): number {
    return this.#timeline.epoch;
  }

  get epochs(): readonly Epoch[] {
    return this.#timeline.epochs;
  }

  get stepsDone(): number {
    return this.#timeline.stepsDone;
  }

  get endReason(): EndReason | null {
    return this.#endReason;
  }

  get readers(): number {
    return this.#readers.size;
  }

  /** Nothing waits or runs. */
  get isQuiet(): boolean {
    return this.queue.stepsWaiting === 0;
  }

  /** Whether a step could take a frame now. */
  get hasFrame(): boolean {
    return this.#taken === null && this.queue.stepsWaiting > 0;
  }

  /** Failed runs of the frame at the head. */
  get attempts(): number {
    return this.queue.head?.attempts ?? 0;
  }

  /**
   * Queues a chunk. A number that was given before makes no second chunk: `isRepeat`. Throws
   * without any effect when the number, the queue or the ring say no.
   */
  submit(input: ChunkInput): { chunk: Chunk; isRepeat: boolean } {
    this.assertOpen();
    this.#assertTaking();
    const repeated = this.queue.repeated(input);
    if (repeated !== null) return { chunk: repeated, isRepeat: true };
    this.queue.assertRoom(input.steps, this.#around.secondsFor);
    this.#assertOutputsFit(input.steps);
    const chunk = this.queue.push(input, {
      startStep: this.stepsDone + this.queue.stepsWaiting,
      epoch: this.epoch + this.queue.resetsWaiting + (input.reset ? 1 : 0),
    });
    this.#around.onActivity(this);
    this.#around.onFrames(this);
    return { chunk, isRepeat: false };
  }

  /** Drops a chunk of which no frame was taken; again is no error. */
  cancel(seq: number): void {
    this.assertOpen();
    this.queue.cancel(seq);
    this.#around.onActivity(this);
  }

  /** The state goes back to rest before the next step. Needs an empty queue. */
  reset(): void {
    this.assertOpen();
    if (!this.isQuiet) {
      throw new GanglionError(
        "session_busy",
        `The session has ${this.queue.framesWaiting} frames waiting`,
        { frames_waiting: this.queue.framesWaiting },
      );
    }
    this.#restNext = true;
    this.#timeline.newEpoch();
    this.#around.onActivity(this);
  }

  /** A reader of the outputs; also of a session that has ended. */
  read(from: ReadFrom): OutputReader {
    const { readersMax, readerBytesMax } = this.#around.limits;
    if (this.#readers.size >= readersMax) {
      throw new GanglionError(
        "too_many_readers",
        `The session has ${readersMax} readers, the most it may have`,
        { readers_max: readersMax, retry_after_s: 1 },
      );
    }
    this.#around.onReaderCame(this);
    const reader = new OutputReader(this.outbox, {
      from: typeof from === "string" || this.#timeline.knows(from) ? from : "unknown",
      bytesMax: readerBytesMax,
      isOver: () => this.#endReason !== null,
      onClose: () => {
        this.#readers.delete(reader);
        this.#around.onReaderLeft(this);
      },
      now: { epoch: this.epoch, step: this.stepsDone },
    });
    this.#readers.add(reader);
    if (this.#notice !== null) reader.tell(this.#notice);
    return reader;
  }

  /** For the loop: the frame at the head. It stays there until committed. */
  take(): TakenFrame {
    assert(this.hasFrame, "a frame waits and none is taken");
    const chunk = this.queue.head!;
    const { steps, input } = chunk.head(this.options.frame);
    const isFirst = chunk.stepsRun === 0;
    chunk.state = "running";
    if (isFirst) chunk.startStep = this.stepsDone;
    this.#taken = { chunk, steps, input, reset: this.#restNext || (isFirst && chunk.reset) };
    return this.#taken;
  }

  /** For the loop: the taken frame ran. */
  commit({ data, probes }: Outputs): void {
    const { chunk, steps } = this.#release();
    const startStep = this.stepsDone;
    if (chunk.stepsRun === 0) {
      if (chunk.reset) this.#timeline.newEpoch();
      chunk.epoch = this.epoch;
    }
    this.#restNext = false;
    const position = this.#timeline.advance(steps);
    const event: OutputEvent = { kind: "output", position, chunk, startStep, steps, data, probes };
    chunk.addOutput(event);
    this.queue.ran(chunk, steps);
    this.outbox.push(event);
    if (chunk.finished) this.#around.onActivity(this);
    this.#around.onRan(this, chunk);
    this.#tellReaders();
  }

  /** For the loop: the step failed. The frame stays at the head, and is given up after `retries`. */
  giveBack(retries: number): void {
    const { chunk } = this.#release();
    chunk.attempts++;
    if (chunk.attempts <= retries) return;
    const atStep = this.stepsDone;
    for (const dropped of this.queue.rollBackTo(chunk.seq)) {
      const code = dropped === chunk ? "step_failed" : "after_failed_chunk";
      const facts = { seq: dropped.seq, at_step: atStep };
      dropped.fail(
        new GanglionError(
          code,
          dropped === chunk
            ? `Chunk ${chunk.seq} was given up at step ${atStep} after ${chunk.attempts} runs`
            : `Chunk ${dropped.seq} was dropped, since chunk ${chunk.seq} failed`,
          facts,
        ),
      );
      this.outbox.push({ kind: "error", position: this.#timeline.mark(), seq: dropped.seq, code });
    }
    this.#around.onActivity(this);
    this.#tellReaders();
  }

  /** For the service: something that readers should know soon, also those who come later. */
  notify(notice: Notice): void {
    this.#notice = notice;
    for (const reader of this.#readers) reader.tell(notice);
    this.#tellReaders();
  }

  /** For the service: a notice that no longer holds. */
  withdraw(reason: Notice["reason"]): void {
    if (this.#notice?.reason === reason) this.#notice = null;
  }

  /** For the service: what was taken still runs, nothing more is taken. */
  stopTaking(reason: EndReason): void {
    this.#refusal = reason;
  }

  /** For the service: the session is over. Drops what waits; readers get the rest and `end`. */
  end(reason: EndReason): void {
    assert(this.#endReason === null, "a session ends once");
    this.#endReason = reason;
    this.#notice = null;
    this.#taken = null;
    for (const chunk of this.queue.clear()) chunk.fail(this.goneError());
    this.#tellReaders();
  }

  /** Closes all readers, whatever they have read. */
  closeReaders(): void {
    for (const reader of [...this.#readers]) {
      reader.close();
      reader.onReady();
    }
  }

  goneError(): GanglionError {
    return new GanglionError("session_gone", `The session has ended (${this.#endReason})`, {
      reason: this.#endReason,
      steps_done: this.stepsDone,
    });
  }

  /** Throws `session_gone` when the session has ended. */
  assertOpen(): void {
    if (this.#endReason !== null) throw this.goneError();
  }

  #assertTaking(): void {
    if (this.#refusal === null) return;
    throw new GanglionError("session_gone", `The session is ending (${this.#refusal})`, {
      reason: this.#refusal,
      steps_done: this.stepsDone,
    });
  }

  #release(): TakenFrame {
    const taken = this.#taken;
    assert(taken !== null, "a frame was taken");
    this.#taken = null;
    return taken;
  }

  /** With `hold`, outputs that nobody received must fit in the ring together with those to come. */
  #assertOutputsFit(steps: number): void {
    if (this.options.outputs !== "hold") return;
    const { ringBytesMax } = this.#around.limits;
    const { frame, outputStepBytes } = this.options;
    const frames = Math.ceil(steps / frame);
    const own = steps * outputStepBytes + frames * EVENT_BYTES;
    if (own > ringBytesMax) {
      throw new GanglionError(
        "chunk_too_long",
        `The chunk's outputs take ${own} bytes, the ring that holds them has ${ringBytesMax}`,
        { output_bytes: own, ring_bytes: ringBytesMax },
      );
    }
    const { stepsWaiting, framesWaiting } = this.queue;
    const waiting = stepsWaiting * outputStepBytes + framesWaiting * EVENT_BYTES;
    const unread = this.outbox.bytesUnreceived;
    if (unread + waiting + own > ringBytesMax) {
      throw new GanglionError(
        "outputs_unread",
        `${unread} bytes of outputs are unread; with those to come they would overflow the ring`,
        {
          unread_bytes: unread,
          ring_bytes: ringBytesMax,
          credit: this.queue.credit,
          retry_after_s: 1,
        },
      );
    }
  }

  #tellReaders(): void {
    for (const reader of [...this.#readers]) reader.onReady();
  }
}
