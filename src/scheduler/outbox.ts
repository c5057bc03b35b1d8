/**
 * The ring of what a session has to tell: outputs of frames that ran, and errors, oldest first,
 * bounded in bytes. Events have absolute indices that never move, so a reader is only an index.
 * When the ring is full the oldest are dropped; with `hold`, only those that somebody received.
 * Every operation is O(1) amortised, but for `find` (a binary search).
 */
import type { RingImage } from "../checkpoint/mod.ts";
import { EventLog } from "./event_log.ts";
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
  /** Of its chunk. */
  readonly seq: number;
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

export class Outbox {
  readonly #bytesMax: number;
  readonly #hold: boolean;
  readonly #log: EventLog;
  /** Absolute indices of events that were received though one before them was not. */
  readonly #receivedAhead = new Set<number>();
  #first = 0; // absolute index of the oldest event
  #bytesEver = 0;
  #receivedTo = 0; // absolute index up to which every event was received
  #past: RingImage;

  constructor(bytesMax: number, hold: boolean, past: RingImage = NOTHING_PAST) {
    this.#bytesMax = bytesMax;
    this.#hold = hold;
    this.#past = past;
    this.#log = new EventLog(bytesMax);
  }

  /** Absolute index of the oldest event held. */
  get first(): number {
    return this.#first;
  }

  /** Absolute index that the next event will get. */
  get end(): number {
    return this.#first + this.#log.length;
  }

  get bytes(): number {
    return this.bytesFrom(this.#first);
  }

  /** Bytes of events that nobody received yet. */
  get bytesUnreceived(): number {
    return this.bytesFrom(this.#receivedTo);
  }

  /** What is known of events that are not held any more. */
  get past(): RingImage {
    return this.#past;
  }

  /** What is held, oldest first. */
  get events(): OutboxEvent[] {
    return Array.from({ length: this.#log.length }, (_, i) => this.#log.at(i));
  }

  at(index: number): OutboxEvent | undefined {
    return this.#holds(index) ? this.#log.at(index - this.#first) : undefined;
  }

  /** Bytes from an index, which must be held or the end, to the end. */
  bytesFrom(index: number): number {
    return this.#holds(index) ? this.#bytesEver - this.#log.bytesBefore(index - this.#first) : 0;
  }

  /** How many of the oldest events held were all received. */
  get receivedCount(): number {
    return this.#receivedTo - this.#first;
  }

  /** Values of an output are copied; recorded values are not, and nobody may change them. */
  push(event: OutboxEvent, received = false): void {
    this.#log.push(event, this.#bytesEver);
    this.#bytesEver += eventBytes(event);
    if (received) this.received(this.end - 1);
    this.#trim();
  }

  /** Somebody has everything before this index. */
  receivedBefore(index: number): void {
    while (this.#receivedTo < Math.min(index, this.end)) this.received(this.#receivedTo);
  }

  /** Somebody got the event: it may be dropped from a ring that holds. */
  received(index: number): void {
    if (!this.#holds(index) || index < this.#receivedTo) return;
    if (index > this.#receivedTo) return void this.#receivedAhead.add(index);
    this.#receivedTo++;
    this.#skipReceived();
    this.#trim();
  }

  /** Index of the first held event after a position; the end when there is none. */
  find(position: Position): number {
    let low = this.#first;
    let high = this.end;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const there = this.#log.position(middle - this.#first);
      if (comparePositions(there, position) > 0) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Drops everything. */
  clear(): void {
    this.#dropOldest(this.#log.length);
  }

  /** Drops everything: another time-line begins, and nothing before is ever missing from it. */
  beginAgain(begin: RingImage["begin"]): void {
    this.clear();
    const { lastDropped, clearedTo } = this.#past;
    this.#past = { begin, lastDropped: null, clearedTo: lastDropped ?? clearedTo };
  }

  #holds(index: number): boolean {
    return index >= this.#first && index < this.end;
  }

  #trim(): void {
    // The newest event always stays, however large: live readers have yet to see it.
    while (this.bytes > this.#bytesMax && this.#log.length > 1) {
      if (this.#hold && this.#first >= this.#receivedTo) break;
      this.#dropOldest(1);
    }
  }

  #dropOldest(count: number): void {
    if (count === 0) return;
    const lastDropped = this.#log.position(count - 1);
    this.#past = { ...this.#past, lastDropped };
    for (let i = 0; i < count; i++) {
      if (this.#receivedAhead.size > 0) this.#receivedAhead.delete(this.#first);
      this.#first++;
      this.#log.dropOldest();
    }
    this.#receivedTo = Math.max(this.#receivedTo, this.#first);
    this.#skipReceived();
  }

  #skipReceived(): void {
    while (this.#receivedAhead.delete(this.#receivedTo)) this.#receivedTo++;
  }
}
