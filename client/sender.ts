/**
 * The chunks of a session on their way to the server: one at a time, in order, under the numbers that
 * the server expects, each again until it is taken. What was taken stays in the replay ring until it is
 * durable, so that a session that was rolled back gets again what it has lost. The server counts a
 * number once, so a repeat does no harm.
 */
import type { components } from "./api.gen.ts";
import { type Deferred, deferred, sleep } from "./clock.ts";
import type { Body, Output } from "./codec.ts";
import { GanglionError } from "./errors.ts";
import { Backoff, type Connection, isWorthRepeating } from "./transport.ts";

type View = components["schemas"]["Session"];

/** What the server says to a chunk that it has taken. */
export interface Taken {
  readonly seq: number;
  readonly steps: number;
  /** A plan until the chunk ran. */
  readonly startStep: number;
  readonly epoch: number;
  /** Steps that the queue has room for; null where the answer does not say. */
  readonly credit: number | null;
  /** Chunks up to this number survive a kill; null for none, undefined where it is not said. */
  readonly durableSeq?: number | null;
  /** For a chunk that waits: what it gave. */
  readonly output: Output | null;
}

export interface SenderHost {
  readonly connection: Connection;
  /** One try, under a number. */
  post(body: Body, seq: number, waits: boolean): Promise<Taken>;
  view(): Promise<View>;
  /** Aborts when the session is given up. */
  readonly signal: AbortSignal;
  /** Bytes of chunks that may be kept once they were taken. */
  readonly replayBytesMax: number;
}

interface Entry {
  readonly body: Body;
  readonly waits: boolean;
  readonly answer: Deferred<Taken>;
  isAnswered: boolean;
  isTaken: boolean;
  /** An answer was lost, so that the server may have it. */
  isDoubtful: boolean;
  /** Where it began when it was taken; a replay must begin at the same step. */
  startStep: number | null;
}

/** How often to look whether the server has made room, or chunks durable. */
const POLL_MS = 1000;
const DURABLE_POLL_MS = 200;
/** The session is over, or not ours. */
const GONE = [401, 403, 404, 410];
/** This chunk is not taken as it is; it has used up no number. */
const REFUSED = [400, 406, 413, 415, 422];

export class Sender {
  readonly #host: SenderHost;
  readonly #backoff: Backoff;
  #ring: Entry[] = [];
  #first!: number; // number of the oldest in the ring
  #next = 0; // index of the next to send
  #takenBytes = 0;
  #epoch!: number;
  #durable!: number | null;
  #credit!: number;
  #room: { readonly steps: number; readonly wake: Deferred<void> } | null = null;
  #isWhole = true; // every chunk since the session began is in the ring
  #turns = 0; // times that numbers were given anew while a request may have been under way
  #posting: Entry | null = null;
  #pump: Promise<void> | null = null;
  #broken: unknown = null;

  constructor(host: SenderHost, view: View) {
    this.#host = host;
    this.#backoff = new Backoff(host.connection);
    this.#begin(view);
  }

  /**
   * Queues a chunk. Resolves when the server has taken it; with `waits` when it has run, with what it
   * gave. When the signal aborts, the chunk is withdrawn unless it was already on its way.
   */
  push(body: Body, waits: boolean, signal?: AbortSignal | null): Promise<Taken> {
    if (signal?.aborted) return Promise.reject(signal.reason as Error);
    if (this.#broken !== null) return Promise.reject(this.#broken as Error);
    const answer = deferred<Taken>();
    const state = { isAnswered: false, isTaken: false, isDoubtful: false, startStep: null };
    const entry = { body, waits, answer, ...state };
    this.#ring.push(entry);
    const aborted = () => {
      const index = this.#ring.indexOf(entry);
      const isOnItsWay = entry.isDoubtful || this.#posting === entry;
      if (index >= 0 && !entry.isTaken && !isOnItsWay) this.#ring.splice(index, 1);
      this.#settle(entry, () => answer.reject(signal!.reason));
    };
    signal?.addEventListener("abort", aborted);
    const forget = () => signal?.removeEventListener("abort", aborted);
    answer.promise.then(forget, forget);
    this.#start();
    return answer.promise;
  }

  /** Resolves when nothing is left to send. */
  async idle(): Promise<void> {
    while (this.#pump !== null) await this.#pump;
    if (this.#broken !== null) throw this.#broken;
  }

  /** Whether a session that begins anew would, with what is in the ring, be where this one is. */
  get isWhole(): boolean {
    return this.#isWhole && this.#first === 0 && this.#broken === null;
  }

  /** The state was replaced while nothing waited: what was sent before is never needed again. */
  restarted(view: View): void {
    this.#ring = [];
    this.#isWhole = false;
    this.#takenBytes = 0;
    this.#begin(view);
  }

  /** Another session took the place of one that is lost: everything is sent again. */
  reopened(view: View): void {
    this.#turns++;
    this.#begin(view);
    this.#start();
  }

  #begin(view: View): void {
    this.#next = 0;
    this.#first = view.next_chunk_seq;
    this.#epoch = view.epoch;
    this.#durable = view.durable_seq;
    this.#credit = view.credit;
  }

  /** Outputs of so many steps were read: the queue has that much more room. */
  read(steps: number): void {
    this.#credit += steps;
    if (this.#room !== null && this.#credit >= this.#room.steps) this.#room.wake.resolve();
  }

  /** The session lost the chunks from a number on; they are sent again. */
  rolledBack(nextSeq: number, epoch: number): void {
    if (epoch <= this.#epoch || this.#broken !== null) return;
    this.#epoch = epoch;
    if (nextSeq >= this.#first + this.#next) return;
    if (nextSeq < this.#first) {
      return this.#break(
        new GanglionError(
          "replay_lost",
          `The session was rolled back to chunk ${nextSeq}; the replay ring begins with ` +
            `chunk ${this.#first}`,
          {
            action: "Open a session again; raise replayBytesMax, or serve with --state-dir",
            facts: { next_chunk_seq: nextSeq, replay_from: this.#first },
          },
        ),
      );
    }
    this.#turns++;
    this.#next = nextSeq - this.#first;
    if (this.#durable !== null) this.#durable = Math.min(this.#durable, nextSeq - 1);
    this.#start();
  }

  /**
   * A reader heard that a chunk was given up, perhaps long ago. The server knows whether numbers are
   * free again; when this resolves, so do we.
   */
  async heardOfFailure(error: GanglionError): Promise<void> {
    if (this.#broken === null) await this.#resync(error);
  }

  /** Nothing more is sent. */
  close(error: unknown): void {
    this.#break(error);
  }

  /** A chunk was given up, and all after it were dropped. */
  #failed(seq: number, error: GanglionError): void {
    this.#turns++;
    this.#isWhole = false; // steps of it may have run
    const from = Math.max(0, seq - this.#first);
    const dropped = this.#ring.splice(from);
    if (seq < this.#first) this.#first = seq;
    this.#next = Math.min(this.#next, from);
    this.#takenBytes = this.#ring.reduce((sum, each) => sum + bytesKept(each), 0);
    for (const entry of dropped) this.#settle(entry, () => entry.answer.reject(error));
  }

  #start(): void {
    if (this.#pump !== null || this.#broken !== null) return;
    this.#pump = this.#sendAll().catch((error: unknown) => this.#break(error)).finally(() => {
      this.#pump = null;
      if (this.#next < this.#ring.length) this.#start();
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#next < this.#ring.length) {
      await this.#awaitDurable();
      const entry = this.#ring[this.#next];
      if (entry === undefined) continue;
      const { steps } = entry.body;
      if (this.#credit < steps) {
        await sleep(this.#host.connection.clock, POLL_MS, this.#host.signal, this.#roomFor(steps));
        if (this.#ring[this.#next] !== entry) continue;
      }
      const turn = this.#turns;
      try {
        const waits = entry.waits && !entry.isAnswered;
        this.#posting = entry;
        const taken = await this.#host.post(entry.body, this.#first + this.#next, waits);
        this.#posting = null;
        this.#backoff.reset();
        if (turn === this.#turns) this.#took(entry, taken, waits);
      } catch (error) {
        this.#posting = null;
        this.#host.signal.throwIfAborted();
        if (turn === this.#turns) await this.#refused(entry, error);
      }
    }
  }

  #took(entry: Entry, taken: Taken, waits: boolean): void {
    const { credit, durableSeq, startStep } = taken;
    if (entry.startStep !== null && entry.startStep !== startStep) {
      throw new GanglionError(
        "replay_lost",
        `Chunk ${taken.seq} began at step ${entry.startStep} and would now begin at ${startStep}`,
        { action: "Open a session again: a chunk that had failed in part was rolled back" },
      );
    }
    if (credit !== null) this.#credit = credit;
    if (durableSeq !== undefined) this.#durable = durableSeq;
    this.#epoch = Math.max(this.#epoch, taken.epoch);
    this.#passed(entry, startStep);
    // A wait that was too long for one request goes on under the same number.
    if (waits && taken.output === null) this.#next--;
    else this.#settle(entry, () => entry.answer.resolve(taken));
    this.#trim();
  }

  /** The number is used up; the entry stays for a replay. */
  #passed(entry: Entry, startStep: number | null): void {
    if (!entry.isTaken) this.#takenBytes += entry.body.bytes.length;
    entry.isTaken = true;
    entry.startStep = startStep;
    this.#next++;
  }

  async #refused(entry: Entry, error: unknown): Promise<void> {
    const code = error instanceof GanglionError ? error.code : "";
    if (isWorthRepeating(error)) {
      // A gateway's word is no answer of the server either.
      const { status } = error as GanglionError;
      if (status !== 429 && status !== 503) entry.isDoubtful = true;
      const isFull = code === "queue_full" || code === "outputs_unread";
      if (code === "queue_full") this.#credit = (error as GanglionError).number("credit") || 0;
      if (code === "outputs_unread") this.#credit = 0;
      const room = isFull ? this.#roomFor(entry.body.steps) : undefined;
      // A full queue is no failure, however long it lasts.
      if (isFull) this.#backoff.reset();
      return await this.#backoff.pause(error, this.#host.signal, room);
    }
    if (!(error instanceof GanglionError) || GONE.includes(error.status)) {
      // A chunk that waited for outputs which nobody holds any more has run all the same.
      if (code !== "outputs_gone") throw error;
      this.#passed(entry, entry.startStep);
      return this.#settle(entry, () => entry.answer.reject(error));
    }
    if (code === "chunk_gap" || code === "rolled_back") return await this.#resync();
    if (code === "step_failed" || code === "after_failed_chunk") {
      return this.#failed(error.number("seq"), error);
    }
    if (code === "chunk_too_old" || code === "chunk_cancelled") {
      this.#passed(entry, entry.startStep);
      return this.#settle(entry, () => entry.answer.reject(error));
    }
    if (entry.isTaken || !REFUSED.includes(error.status)) throw error;
    this.#ring.splice(this.#next, 1);
    this.#settle(entry, () => entry.answer.reject(error));
  }

  /** The server expects an earlier number: it was rolled back, or a chunk failed. */
  async #resync(heard?: GanglionError): Promise<void> {
    const [turn, expected] = [this.#turns, this.#first + this.#next];
    const { epoch, next_chunk_seq: nextSeq } = await this.#host.view();
    if (turn !== this.#turns) return;
    if (epoch > this.#epoch) return this.rolledBack(nextSeq, epoch);
    if (nextSeq >= expected) return;
    const error = heard ??
      new GanglionError("step_failed", `Chunk ${nextSeq} was given up by the server`, {
        action: "Send what is left of it again, see the outputs",
        facts: { seq: nextSeq },
      });
    this.#failed(nextSeq, error);
  }

  #roomFor(steps: number): Promise<void> {
    this.#room = { steps, wake: deferred() };
    return this.#room.wake.promise;
  }

  /** Drops what cannot be lost any more, and where nothing is durable what is too much. */
  #trim(): void {
    const { replayBytesMax } = this.#host;
    while (this.#next > 0) {
      const isDurable = this.#durable !== null && this.#first <= this.#durable;
      const isTooMuch = this.#durable === null && this.#takenBytes > replayBytesMax;
      if (!isDurable && !isTooMuch) return;
      this.#takenBytes -= bytesKept(this.#ring.shift()!);
      this.#first++;
      this.#next--;
    }
  }

  /** Waits while the ring is full of chunks that the server is about to make durable. */
  async #awaitDurable(): Promise<void> {
    const { replayBytesMax, connection, signal } = this.#host;
    while (this.#takenBytes > replayBytesMax && this.#durable !== null && this.#next > 0) {
      await sleep(connection.clock, DURABLE_POLL_MS, signal);
      const { durable_seq: durable } = await this.#host.view();
      this.#durable = durable;
      this.#trim();
    }
  }

  #settle(entry: Entry, settle: () => void): void {
    if (entry.isAnswered) return;
    entry.isAnswered = true;
    settle();
  }

  #break(error: unknown): void {
    if (this.#broken !== null) return;
    this.#broken = error;
    this.#turns++;
    const dropped = this.#ring;
    this.#ring = [];
    this.#next = 0;
    this.#takenBytes = 0;
    for (const entry of dropped) this.#settle(entry, () => entry.answer.reject(error));
  }
}

const bytesKept = ({ isTaken, body }: Entry): number => isTaken ? body.bytes.length : 0;
