/**
 * Events of one session, oldest first, in a few large blocks: their numbers in one array, their values in
 * pages. A server holds millions of events; as objects each would take several times its bytes, and every
 * full collection of garbage would stop the server for as long as it takes to visit them all. An event
 * becomes an object when somebody asks for it. Indices count from the oldest that is held.
 */
import { assert } from "../base/assert.ts";
import type { OutboxEvent, OutputEvent, Position } from "./outbox.ts";

/** Of an event: where it stands, its bytes and those of all before it, and for an output what it is of. */
const EPOCH = 0;
const STEP = 1;
const PART = 2;
const BYTES_BEFORE = 3;
const SEQ = 4;
const START_STEP = 5;
const STEPS = 6;
/** Values of an output in its page. */
const AT = 7;
const LENGTH = 8;
const NUMBERS = 9;

const EVENTS_MIN = 8;
/** Values of a page; each new one is twice as large as the one before. */
const PAGE_MIN = 256;
const PAGE_MAX = 16_384;

const NO_PROBES: OutputEvent["probes"] = {};

/** What few events have: of an output its recorded values and prediction; of anything else all of it. */
type Extra = Pick<OutputEvent, "probes" | "prediction"> | Exclude<OutboxEvent, OutputEvent>;

export class EventLog {
  readonly #pageMax: number;
  #numbers = new Float64Array(EVENTS_MIN * NUMBERS);
  /** Of an output its page; null for anything else. */
  #pages = nulls<Float32Array>(EVENTS_MIN);
  #extras = nulls<Extra>(EVENTS_MIN);
  #begin = 0; // where the oldest is
  #length = 0;
  #page = new Float32Array(0);
  #pageUsed = 0;

  /** `bytesMax`: about what will be held; pages are a small part of it. */
  constructor(bytesMax: number) {
    this.#pageMax = Math.min(PAGE_MAX, Math.max(PAGE_MIN, bytesMax >>> 5));
  }

  get length(): number {
    return this.#length;
  }

  /** Copies the values of an output. `bytesBefore`: of all events ever pushed. */
  push(event: OutboxEvent, bytesBefore: number): void {
    if (this.#length === this.#pages.length) this.#grow();
    const place = this.#place(this.#length++);
    const at = place * NUMBERS;
    const numbers = this.#numbers;
    const { epoch, step, part } = event.position;
    numbers[at + EPOCH] = epoch;
    numbers[at + STEP] = step;
    numbers[at + PART] = part;
    numbers[at + BYTES_BEFORE] = bytesBefore;
    if (event.kind !== "output") {
      this.#extras[place] = event;
      return;
    }
    const { seq, startStep, steps, data, probes, prediction } = event;
    numbers[at + SEQ] = seq;
    numbers[at + START_STEP] = startStep;
    numbers[at + STEPS] = steps;
    numbers[at + AT] = this.#keep(data);
    numbers[at + LENGTH] = data.length;
    this.#pages[place] = this.#page;
    for (const _ in probes) {
      this.#extras[place] = { probes };
      break;
    }
    if (prediction !== undefined) this.#extras[place] = { probes, prediction };
  }

  at(index: number): OutboxEvent {
    assert(index >= 0 && index < this.#length, "the event is held");
    const place = this.#place(index);
    const page = this.#pages[place]!;
    const extra = this.#extras[place]!;
    if (extra !== null && "kind" in extra) return extra;
    const numbers = this.#numbers;
    const at = place * NUMBERS;
    const begin = numbers[at + AT]!;
    return {
      kind: "output",
      position: this.position(index),
      seq: numbers[at + SEQ]!,
      startStep: numbers[at + START_STEP]!,
      steps: numbers[at + STEPS]!,
      data: page!.subarray(begin, begin + numbers[at + LENGTH]!),
      ...(extra ?? { probes: NO_PROBES }),
    };
  }

  position(index: number): Position {
    const at = this.#place(index) * NUMBERS;
    const numbers = this.#numbers;
    return { epoch: numbers[at + EPOCH]!, step: numbers[at + STEP]!, part: numbers[at + PART]! };
  }

  bytesBefore(index: number): number {
    return this.#numbers[this.#place(index) * NUMBERS + BYTES_BEFORE]!;
  }

  dropOldest(): void {
    assert(this.#length > 0, "there is an event");
    // A page goes with the last event that names it.
    this.#pages[this.#begin] = null;
    this.#extras[this.#begin] = null;
    this.#begin = this.#place(1);
    this.#length--;
  }

  #place(index: number): number {
    return (this.#begin + index) & (this.#pages.length - 1);
  }

  /** Where the values now are in the last page. */
  #keep(values: Float32Array): number {
    if (this.#pageUsed + values.length > this.#page.length) {
      const length = Math.min(this.#pageMax, Math.max(PAGE_MIN, 2 * this.#page.length));
      this.#page = new Float32Array(Math.max(length, values.length));
      this.#pageUsed = 0;
    }
    const at = this.#pageUsed;
    this.#page.set(values, at);
    this.#pageUsed += values.length;
    return at;
  }

  #grow(): void {
    const old = this.#pages.length;
    const numbers = new Float64Array(2 * old * NUMBERS);
    const pages = nulls<Float32Array>(2 * old);
    const extras = nulls<Extra>(2 * old);
    for (let i = 0; i < old; i++) {
      const place = this.#place(i);
      pages[i] = this.#pages[place]!;
      extras[i] = this.#extras[place]!;
    }
    const tail = this.#numbers.subarray(this.#begin * NUMBERS);
    numbers.set(tail);
    numbers.set(this.#numbers.subarray(0, this.#begin * NUMBERS), tail.length);
    this.#numbers = numbers;
    this.#pages = pages;
    this.#extras = extras;
    this.#begin = 0;
  }
}

function nulls<T>(length: number): (T | null)[] {
  return new Array<T | null>(length).fill(null);
}
