/**
 * The ring of what a session has to tell: outputs of frames that ran, and errors, oldest first,
 * bounded in bytes. Events have absolute indices that never move, so a reader is only an index.
 * When the ring is full the oldest are dropped; with `hold`, only those that somebody received.
 * Every operation is O(1) amortised, but for `find` (a binary search).
 */
import type { RingImage } from "../checkpoint/mod.ts";
import type { Chunk } from "./chunk.ts";
import type { Prediction } from "./session_types.ts";

/** Where an event stands on the session's time-line. `part` counts the events after an output. */
export interface Position {
  readonly epoch: number;
  /** The end step of the output; the step at which anything else happened. */
  readonly step: number;
  /** 0 for an output, 1… for what follows it at the same step. */
  readonly part: number;
}

export interface OutputEvent {
  readonly kind: "output";
  readonly position: Position;
  readonly chunk: Chunk;
  readonly startStep: number;
  readonly steps: number;
  /** [steps, output size]. */
  readonly data: Float32Array;
  readonly probes: Readonly<Record<string, Float32Array>>;
  /** After the last of its steps; only where the session asked for it. */
  readonly prediction?: Prediction;
}

export interface ErrorEvent {
  readonly kind: "error";
  readonly position: Position;
  readonly seq: number;
  readonly code: "step_failed" | "after_failed_chunk";
}

/** The time-line goes on from an earlier step. */
export interface RolledBackEvent {
  readonly kind: "rolled_back";
  readonly position: Position;
  readonly nextSeq: number;
}

/** Another device took over, whose last bits may differ. */
export interface NumericsEvent {
  readonly kind: "numerics";
  readonly position: Position;
  readonly was: string;
  readonly numerics: string;
}

export type OutboxEvent = OutputEvent | ErrorEvent | RolledBackEvent | NumericsEvent;

/** Bytes that an event counts beside its values. */
export const EVENT_BYTES = 128;

export function eventBytes(event: OutboxEvent): number {
  if (event.kind !== "output") return EVENT_BYTES;
  let bytes = EVENT_BYTES + event.data.byteLength;
  for (const name in event.probes) bytes += event.probes[name]!.byteLength;
  return bytes;
}

export function comparePositions(a: Position, b: Position): number {
  return a.epoch - b.epoch || a.step - b.step || a.part - b.part;
}

const NOTHING_PAST: RingImage = {
  begin: { epoch: 1, step: 0 },
  lastDropped: null,
  clearedTo: null,
};

interface Held {
  readonly event: OutboxEvent;
  readonly bytes: number;
  /** Bytes of all events ever pushed before this one. */
  readonly bytesBefore: number;
  received: boolean;
}

export class Outbox {
  readonly #bytesMax: number;
  readonly #hold: boolean;
  #held: Held[] = [];
  #head = 0; // index into #held of the oldest event
  #first = 0; // absolute index of the oldest event
  #bytesEver = 0;
  #bytesDropped = 0;
  #receivedTo = 0; // absolute index up to which every event was received
  #past: RingImage;

  constructor(bytesMax: number, hold: boolean, past: RingImage = NOTHING_PAST) {
    this.#bytesMax = bytesMax;
    this.#hold = hold;
    this.#past = past;
  }

  /** Absolute index of the oldest event held. */
  get first(): number {
    return this.#first;
  }

  /** Absolute index that the next event will get. */
  get end(): number {
    return this.#first + this.#held.length - this.#head;
  }

  get bytes(): number {
    return this.#bytesEver - this.#bytesDropped;
  }

  /** Bytes of events that nobody received yet. */
  get bytesUnreceived(): number {
    return this.#bytesEver - this.#bytesBefore(this.#receivedTo);
  }

  /** What is known of events that are not held any more. */
  get past(): RingImage {
    return this.#past;
  }

  /** What is held, oldest first. */
  get events(): OutboxEvent[] {
    return this.#held.slice(this.#head).map(({ event }) => event);
  }

  at(index: number): OutboxEvent | undefined {
    return this.#at(index)?.event;
  }

  /** Bytes from an index, which must be held or the end, to the end. */
  bytesFrom(index: number): number {
    return this.#bytesEver - this.#bytesBefore(index);
  }

  /** How many of the oldest events held were all received. */
  get receivedCount(): number {
    return this.#receivedTo - this.#first;
  }

  push(event: OutboxEvent, received = false): void {
    const bytes = eventBytes(event);
    this.#held.push({ event, bytes, bytesBefore: this.#bytesEver, received });
    this.#bytesEver += bytes;
    if (received) this.#skipReceived();
    this.#trim();
  }

  /** Somebody has everything before this index. */
  receivedBefore(index: number): void {
    while (this.#receivedTo < Math.min(index, this.end)) this.received(this.#receivedTo);
  }

  /** Somebody got the event: it may be dropped from a ring that holds. */
  received(index: number): void {
    const held = this.#at(index);
    if (held === undefined || held.received) return;
    held.received = true;
    this.#skipReceived();
    this.#trim();
  }

  /** Index of the first held event after a position; the end when there is none. */
  find(position: Position): number {
    let low = this.#first;
    let high = this.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comparePositions(this.at(middle)!.position, position) > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Drops everything. */
  clear(): void {
    while (this.#first < this.end) this.#dropOldest();
  }

  /** Drops everything: another time-line begins, and nothing before is ever missing from it. */
  beginAgain(begin: RingImage["begin"]): void {
    this.clear();
    const { lastDropped, clearedTo } = this.#past;
    this.#past = { begin, lastDropped: null, clearedTo: lastDropped ?? clearedTo };
  }

  #at(index: number): Held | undefined {
    return index < this.#first ? undefined : this.#held[this.#head + index - this.#first];
  }

  #bytesBefore(index: number): number {
    return this.#at(index)?.bytesBefore ?? this.#bytesEver;
  }

  #skipReceived(): void {
    while (this.#at(this.#receivedTo)?.received) this.#receivedTo++;
  }

  #trim(): void {
    // The newest event always stays, however large: live readers have yet to see it.
    while (this.bytes > this.#bytesMax && this.end - this.#first > 1) {
      if (this.#hold && this.#first >= this.#receivedTo) break;
      this.#dropOldest();
    }
  }

  #dropOldest(): void {
    const { event, bytes } = this.#held[this.#head]!;
    this.#past = { ...this.#past, lastDropped: event.position };
    this.#bytesDropped += bytes;
    this.#head++;
    this.#first++;
    this.#receivedTo = Math.max(this.#receivedTo, this.#first);
    this.#skipReceived();
    if (event.kind === "output") event.chunk.outputDropped();
    if (this.#head > 64 && this.#head * 2 > this.#held.length) {
      this.#held = this.#held.slice(this.#head);
      this.#head = 0;
    }
  }
}
