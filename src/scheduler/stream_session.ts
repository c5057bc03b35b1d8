/**
 * One client's stream above the slots: chunks in, frames out, outputs in the outbox. All calls are
 * synchronous and O(1) a frame. The step loop takes the frame at the head and either commits its
 * outputs or gives it back. Step numbers, epochs and chunk numbers are made here and nowhere else.
 */
import { assert } from "../base/assert.ts";
import { GanglionError } from "../base/errors.ts";
import type { ReadoutImage, SessionImage } from "../checkpoint/mod.ts";
import { Chunk, type ChunkInput } from "./chunk.ts";
import { EVENT_BYTES, Outbox, type OutboxEvent, type OutputEvent } from "./outbox.ts";
import { OutputReader, type ReadFrom } from "./reader.ts";
import type { Seat } from "./seat.ts";
import { SessionQueue } from "./session_queue.ts";
import type {
  EndReason,
  Epoch,
  Notice,
  Prediction,
  SessionOptions,
  SessionSurroundings,
  TakenFrame,
} from "./session_types.ts";
import type { Outputs } from "./slot_scheduler.ts";
import { TakenFrames } from "./taken_frames.ts";
import { Timeline } from "./timeline.ts";

/** Where a session begins: at rest with step 0, at a step with the state of its seat, or as it was. */
export interface Origin {
  readonly seat: Seat;
  readonly image?: SessionImage;
}

export class StreamSession {
  readonly options: SessionOptions;
  readonly seat: Seat;
  readonly outbox: Outbox;
  readonly queue: SessionQueue;
  /** Chunks up to this number survive the end of the process; null for none. */
  durableSeq: number | null = null;
  readonly #around: SessionSurroundings;
  readonly #readers = new Set<OutputReader>();
  readonly #timeline: Timeline;
  #restNext = false; // a reset that no frame has carried out yet
  #mustAccept = false; // nobody has acknowledged the roll-back yet
  #epochKept: number; // a crash cannot make us use epochs up to this one again
  #untold: OutboxEvent | null = null; // waits until its epoch is kept
  #freed = 0; // times that chunk numbers became free again
  #freedAtImage = 0;
  readonly #taken: TakenFrames;
  #endReason: EndReason | null = null;
  #refusal: EndReason | null = null;
  #notice: Notice | null = null;
  /** Frames whose output came later than the frame period allows. */
  framesLate = 0;

  constructor(options: SessionOptions, around: SessionSurroundings, { seat, image }: Origin) {
    this.options = options;
    this.seat = seat;
    this.#around = around;
    this.#epochKept = around.isKept ? 1 : Infinity;
    this.#timeline = new Timeline(image?.timeline ?? { step: seat.baseStep });
    const begin = { epoch: this.epoch, step: this.stepsDone };
    this.outbox = new Outbox(
      around.limits.ringBytesMax,
      options.outputs === "hold",
      image?.ring ?? { begin, lastDropped: null, clearedTo: null },
    );
    image?.events.forEach((event, i) =>
      this.outbox.push(event as OutboxEvent, i < image.eventsReceived)
    );
    const known = image?.chunks.map((each) => Chunk.fromImage(each)) ?? [];
    for (const chunk of known) chunk.findOutputs(this.outbox);
    this.queue = new SessionQueue(options, around.limits, { nextSeq: image?.nextSeq ?? 0, known });
    this.#taken = new TakenFrames(this.queue, options.frame);
    if (image !== undefined) {
      if (this.queue.nextSeq > 0) this.durableSeq = this.queue.nextSeq - 1;
      this.#tellRollBack(this.stepsDone, { isCut: true, epoch: image.epochReserved + 1 });
    }
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

  /** The next frame starts from rest, whatever the seat holds. */
  get restNext(): boolean {
    return this.#restNext;
  }

  /** Nothing waits or runs. */
  get isQuiet(): boolean {
    return this.queue.stepsWaiting === 0;
  }

  /** Whether a step could take a frame now. */
  get hasFrame(): boolean {
    return this.queue.stepsWaiting > 0 && !this.isHeld && this.#taken.next !== undefined;
  }

  /** The next frame would tell an epoch that a crash could bring a second time. */
  get isHeld(): boolean {
    const head = this.queue.head;
    const begins = head !== undefined && head.reset && head.stepsRun === 0 ? 1 : 0;
    return this.epoch + begins > this.#epochKept;
  }

  /** Failed runs of the frame at the head. */
  get attempts(): number {
    return this.queue.head?.attempts ?? 0;
  }

  /**
   * Queues a chunk. A number that was given before makes no second chunk: `isRepeat`. Throws
   * without any effect when the number, the queue or the ring say no, and when the client knows only
   * of an older epoch. After a roll-back the first chunk that has neither a number nor the epoch is
   * refused once.
   */
  submit(input: ChunkInput): { chunk: Chunk; isRepeat: boolean } {
    this.assertOpen();
    this.#assertTaking();
    this.#assertEpochKnown(input);
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
    this.assertQuiet();
    this.#restNext = true;
    this.seat.rebase(null, this.stepsDone); // nothing before it is ever needed again
    this.#timeline.newEpoch();
    this.options.predictor?.reset();
    this.#around.onActivity(this);
  }

  /** For the service: the seat holds another state. Steps are counted on from `step`. */
  restored(step: number): void {
    this.#restNext = false;
    this.#timeline.newEpoch(step);
    this.options.predictor?.reset();
    this.#untold = null;
    this.outbox.beginAgain({ epoch: this.epoch, step });
    this.#around.onActivity(this);
    this.tellReaders();
  }

  /**
   * For the service: the seat holds the state at an earlier step, at which the running prediction was
   * this; chunks from `seq` on are lost.
   */
  rollBack(toStep: number, seq: number, readout: ReadoutImage | null): void {
    for (const chunk of this.#forgetFrom(seq)) {
      chunk.fail(
        new GanglionError("rolled_back", `Chunk ${chunk.seq} was lost with the device`, {
          seq: chunk.seq,
          to_step: toStep,
          next_chunk_seq: seq,
          epoch: this.epoch + 1,
        }),
      );
    }
    this.#taken.clear();
    if (readout !== null) this.options.predictor?.load(readout);
    this.#tellRollBack(toStep);
    this.#around.onActivity(this);
    this.tellReaders();
  }

  /** For the service: another device took over, whose last bits may differ. */
  numericsChanged(was: string, numerics: string): void {
    this.outbox.push({ kind: "numerics", position: this.#timeline.mark(), was, numerics });
    this.tellReaders();
  }

  /** For the service: a checkpoint is safe, or cannot be written (null), which must stop nobody. */
  kept(image: SessionImage | null): void {
    const isNewest = this.#freed === this.#freedAtImage;
    if (image !== null && image.nextSeq > 0 && isNewest) this.durableSeq = image.nextSeq - 1;
    this.#epochKept = image?.epochReserved ?? Infinity;
    const untold = this.#untold;
    if (untold !== null && untold.position.epoch <= this.#epochKept) {
      this.#untold = null;
      this.outbox.push(untold);
      this.tellReaders();
    }
    if (this.hasFrame) this.#around.onFrames(this);
  }

  /** For the service: all of the session but its state, as data that does not change any more. */
  image(): Omit<SessionImage, "modelDigest" | "numerics" | "state"> {
    const { id, model, owner, ttlSeconds, record, outputs, framePeriodMs, createdAtMs, predictor } =
      this.options;
    this.#freedAtImage = this.#freed;
    return {
      ...{ id, model, owner, ttlSeconds, record, outputs, framePeriodMs, createdAtMs },
      timeline: this.#timeline.toImage(),
      epochReserved: this.epoch + this.queue.resetsWaiting,
      nextSeq: this.queue.nextSeq,
      chunks: [...this.queue.known].map((chunk) => chunk.toImage()),
      events: this.outbox.events,
      eventsReceived: this.outbox.receivedCount,
      ring: this.outbox.past,
      readout: predictor?.save() ?? null,
    };
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
      from: typeof from === "string" ? from : this.#timeline.resolve(from) ?? "unknown",
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

  /** For the loop: the next frame. It stays in the queue until it is committed. */
  take(): TakenFrame {
    assert(this.hasFrame, "a frame waits");
    return this.#taken.take(this.stepsDone, this.#restNext);
  }

  /** For the loop: the oldest taken frame ran. Its readers are to be told once the whole round is committed. */
  commit({ data, probes }: Outputs): TakenFrame {
    const taken = this.#taken.ran();
    const { chunk, steps, reset } = taken;
    const startStep = this.stepsDone;
    if (chunk.stepsRun === 0) {
      if (chunk.reset) this.#timeline.newEpoch();
      chunk.epoch = this.epoch;
    }
    this.#restNext = false;
    taken.readoutBefore = this.options.predictor?.save() ?? null;
    const position = this.#timeline.advance(steps);
    const prediction = this.#predict(data, reset);
    const event: OutputEvent = prediction === null
      ? { kind: "output", position, seq: chunk.seq, startStep, steps, data, probes }
      : { kind: "output", position, seq: chunk.seq, startStep, steps, data, probes, prediction };
    this.outbox.push(event);
    chunk.ran(event, this.outbox);
    this.queue.ran(chunk, steps);
    if (chunk.finished) this.#around.onActivity(this);
    this.#around.onRan(this, chunk);
    return taken;
  }

  /** For the loop: what was taken waits again. Its step has not run, or changed nothing. */
  giveBack(): void {
    this.#taken.giveBack();
  }

  /** For the loop: the step of the oldest taken frame failed; it is given up after `retries`. */
  failed(retries: number): void {
    const chunk = this.#taken.giveBack();
    assert(chunk !== undefined, "a frame was taken");
    chunk.attempts++;
    if (chunk.attempts <= retries) return;
    const atStep = this.stepsDone;
    for (const dropped of this.#forgetFrom(chunk.seq)) {
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
    this.tellReaders();
  }

  /** For the service: something that readers should know soon, also those who come later. */
  notify(notice: Notice): void {
    this.#notice = notice;
    for (const reader of this.#readers) reader.tell(notice);
    this.tellReaders();
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
    this.#taken.clear();
    for (const chunk of this.queue.clear()) chunk.fail(this.goneError());
    this.tellReaders();
  }

  /** For the service: the process ends, the session goes on in the next one. Sends all away. */
  suspend(): void {
    for (const chunk of this.queue.known) chunk.stopWaiting();
    this.closeReaders();
  }

  /** There may be something for them to pull. */
  tellReaders(): void {
    if (this.#readers.size === 0) return;
    for (const reader of [...this.#readers]) reader.onReady();
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

  /** What the outputs so far say; null where nobody asked. */
  #predict(outputs: Float32Array, reset: boolean): Prediction | null {
    const { predictor } = this.options;
    if (predictor === null) return null;
    if (reset) predictor.reset();
    predictor.push(outputs);
    return predictor.prediction();
  }

  /** Throws `session_busy` when frames wait. */
  assertQuiet(): void {
    if (this.isQuiet) return;
    throw new GanglionError(
      "session_busy",
      `The session has ${this.queue.framesWaiting} frames waiting`,
      { frames_waiting: this.queue.framesWaiting },
    );
  }

  /** Numbers from `seq` on are free again; the chunks that were still to run. */
  #forgetFrom(seq: number): Chunk[] {
    if (this.durableSeq !== null && this.durableSeq >= seq) {
      this.durableSeq = seq === 0 ? null : seq - 1;
    }
    this.#freed++;
    return this.queue.rollBackTo(seq);
  }

  #tellRollBack(toStep: number, how: { isCut?: boolean; epoch?: number } = {}): void {
    this.#timeline.newEpoch(toStep, how);
    const { nextSeq } = this.queue;
    const event = { kind: "rolled_back", position: this.#timeline.mark(), nextSeq } as const;
    if (how.isCut || this.epoch <= this.#epochKept) this.outbox.push(event);
    else this.#untold = event;
    this.#mustAccept = true;
  }

  #assertEpochKnown(input: ChunkInput): void {
    const mustAccept = this.#mustAccept;
    this.#mustAccept = false;
    // What was applied in an older epoch was applied: a repeat has its answer whatever came since.
    if (this.queue.knows(input)) return;
    const { seq, epoch: known } = input;
    const epoch = this.epoch + this.queue.resetsWaiting;
    const isStale = known !== undefined && known < epoch;
    if (!isStale && (!mustAccept || seq !== undefined || known !== undefined)) return;
    const { fromStep } = this.epochs.at(-1)!;
    throw new GanglionError(
      "rolled_back",
      isStale
        ? `The chunk is for epoch ${known}, and would run in epoch ${epoch}`
        : `The session was rolled back to step ${fromStep}`,
      { to_step: fromStep, next_chunk_seq: this.queue.nextSeq, epoch },
    );
  }

  #assertTaking(): void {
    if (this.#refusal === null) return;
    throw new GanglionError("session_gone", `The session is ending (${this.#refusal})`, {
      reason: this.#refusal,
      steps_done: this.stepsDone,
    });
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
}
