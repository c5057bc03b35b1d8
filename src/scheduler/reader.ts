/**
 * One reader of a session's outbox: a cursor. It pulls; nothing is queued for it, so a reader that
 * does not read costs nothing and stalls nobody. One that falls too far behind is told `lagged`.
 */
import {
  comparePositions,
  type Outbox,
  type OutboxEvent,
  type OutputEvent,
  type Position,
} from "./outbox.ts";
import type { Notice } from "./session_types.ts";

export type Resume = "start" | "full" | "partial" | "reset";

/** Said first to every reader. */
export interface Opening {
  readonly epoch: number;
  readonly resume: Resume;
  readonly nextStartStep: number;
  readonly missing: { readonly fromStep: number; readonly toStep: number } | null;
}

/** Where a reader wants to begin: the oldest event held, the next one to come, or after a position. */
export type ReadFrom = "oldest" | "now" | "unknown" | Position;

/** An event, or the part of one that the reader lacks. */
export type ReaderEvent = OutboxEvent | Notice | { readonly kind: "end" | "lagged" };

export interface ReaderOptions {
  readonly from: ReadFrom;
  /** Bytes it may fall behind once it has caught up. */
  readonly bytesMax: number;
  /** True when the session will tell nothing more after what the ring holds. */
  readonly isOver: () => boolean;
  readonly onClose: (reader: OutputReader) => void;
  /** The session's epoch and steps now. */
  readonly now: { readonly epoch: number; readonly step: number };
}

export class OutputReader {
  readonly opening: Opening;
  /** Called when there may be something to pull. */
  onReady: () => void = () => {};
  readonly #outbox: Outbox;
  readonly #options: ReaderOptions;
  #cursor: number;
  #notice: Notice | null = null; // only the newest matters
  #skipTo: Position | null = null;
  #caughtUp = false;
  #closed = false;

  constructor(outbox: Outbox, options: ReaderOptions) {
    this.#outbox = outbox;
    this.#options = options;
    const { from } = options;
    if (from === "now") this.#cursor = outbox.end;
    else if (typeof from === "string") this.#cursor = outbox.first;
    else {
      this.#cursor = outbox.find(from);
      this.#skipTo = from;
      outbox.receivedBefore(this.#cursor);
    }
    this.opening = openingOf(outbox, this.#cursor, options);
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** True when the session has ended and told this reader everything before. */
  get isComplete(): boolean {
    return this.#options.isOver() && this.#cursor >= this.#outbox.end;
  }

  /** Whether `pull` has something, or the reader is closed. */
  get hasNews(): boolean {
    return this.#closed || this.#notice !== null || this.#cursor < this.#outbox.end ||
      this.#options.isOver();
  }

  /** Says something beside the events of the ring, before the next of them. */
  tell(notice: Notice): void {
    this.#notice = notice;
  }

  /** The next event, or null when there is none yet. After `end` or `lagged` the reader is closed. */
  pull(): ReaderEvent | null {
    if (this.#closed) return null;
    const notice = this.#notice;
    this.#notice = null;
    if (notice !== null) return notice;
    const { isOver } = this.#options;
    if (this.#cursor < this.#outbox.first) {
      if (!isOver()) return this.#last("lagged");
      this.#cursor = this.#outbox.first;
    }
    const event = this.#outbox.at(this.#cursor);
    if (event === undefined) {
      this.#caughtUp = true;
      return isOver() ? this.#last("end") : null;
    }
    this.#outbox.received(this.#cursor++);
    return event.kind === "output" ? restOf(event, this.#skipTo) : event;
  }

  /** For a reader that cannot pull now: closes it and returns true when it is too far behind. */
  closeIfLagging(): boolean {
    if (this.#closed || this.#options.isOver()) return false;
    const isBehind = this.#cursor < this.#outbox.first ||
      (this.#caughtUp && this.#outbox.bytesFrom(this.#cursor) > this.#options.bytesMax);
    if (isBehind) this.close();
    return isBehind;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#options.onClose(this);
  }

  #last(kind: "end" | "lagged"): ReaderEvent {
    this.close();
    return { kind };
  }
}

/** The steps of an output after a position inside it. */
function restOf(event: OutputEvent, after: Position | null): OutputEvent {
  if (after === null || event.position.epoch !== after.epoch || event.startStep >= after.step) {
    return event;
  }
  const skip = after.step - event.startStep;
  const cut = (values: Float32Array) => values.subarray(skip * (values.length / event.steps));
  const probes: Record<string, Float32Array> = {};
  for (const name in event.probes) probes[name] = cut(event.probes[name]!);
  return {
    ...event,
    startStep: after.step,
    steps: event.steps - skip,
    data: cut(event.data),
    probes,
  };
}

function openingOf(outbox: Outbox, cursor: number, { from, now }: ReaderOptions): Opening {
  const { epoch } = now;
  const next = firstStep(outbox, cursor) ?? now.step;
  if (from === "now") return { epoch, resume: "start", nextStartStep: now.step, missing: null };
  const { begin, lastDropped: dropped, clearedTo } = outbox.past;
  const missingFrom = (fromStep: number) =>
    dropped === null ? null : { fromStep, toStep: dropped.step };
  // An id from before a state was put in stands for its place only if nothing was to come after it.
  const isBefore = typeof from !== "string" && from.epoch < begin.epoch;
  const isCleared = isBefore && clearedTo !== null && comparePositions(from, clearedTo) < 0;
  if (typeof from === "string" || isCleared) {
    const resume = from === "oldest" ? "start" : "reset";
    return { epoch, resume, nextStartStep: next, missing: missingFrom(begin.step) };
  }
  const isWhole = dropped === null || dropped.epoch < from.epoch ||
    (dropped.epoch === from.epoch && dropped.step <= from.step);
  const nextEpoch = outbox.at(cursor)?.position.epoch ?? epoch;
  const nextStartStep = nextEpoch === from.epoch ? from.step : next;
  return isWhole ? { epoch, resume: "full", nextStartStep, missing: null } : {
    epoch,
    resume: "partial",
    nextStartStep: next,
    missing: missingFrom(isBefore ? begin.step : from.step),
  };
}

/** The first step that a reader at `cursor` will be given, if an output is held. */
function firstStep(outbox: Outbox, cursor: number): number | undefined {
  const event = outbox.at(cursor);
  if (event === undefined) return undefined;
  return event.kind === "output" ? event.startStep : event.position.step;
}
