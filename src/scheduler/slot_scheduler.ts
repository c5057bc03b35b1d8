/**
 * Sessions, slots and steps: the semantics of DESIGN §3 over any executor. Synchronous calls (`open`,
 * `submit`, `close`) never wait; a step takes the oldest waiting frame of every session that has one
 * and commits all of them or none. Steps run one after another. Knows nothing of HTTP, devices or time.
 */
import type { BatchRow, Executor, RowState } from "../engine/executor.ts";
import { probesOf } from "../model/plan.ts";
import { restState } from "../model/row_state.ts";
import { assert } from "../base/assert.ts";
import { GanglionError } from "../base/errors.ts";
import { entriesOf, type Frames, isPacked, strayBit } from "../base/frames.ts";
import { canonicalise } from "../base/numeric.ts";
import { packSpikes } from "../base/spike_packer.ts";
import { Future } from "./future.ts";

export interface Outputs {
  /** [steps, …output_shape], row-major. */
  readonly data: Float32Array;
  /** `[steps, ...output_shape]`. */
  readonly shape: readonly number[];
  /** Recorded values, `[steps, …]` each; empty unless asked for. */
  readonly probes: Readonly<Record<string, Float32Array>>;
}

export interface SubmitOptions {
  /** The frame starts from rest instead of the session's state. */
  readonly reset?: boolean;
  /** The frame is words of spikes as bits, `[steps, ceil(values / 32)]`, the first value in bit 0. */
  readonly packed?: boolean;
  /** Probe names to return with the outputs. */
  readonly record?: readonly string[];
}

export interface SchedulerOptions {
  /** True: `submit` takes 1 … frame steps. False: exactly `frame`. */
  readonly partialFrames?: boolean;
}

/** A frame of `stepWith`. */
export interface ReadyFrame {
  readonly session: Session;
  /** `[steps, …sample_shape]`, checked, canonical or packed; not copied. */
  readonly input: Frames;
  readonly steps: number;
  /** The frame starts from rest; when its step fails the state is what it was. */
  readonly fresh: boolean;
  readonly record: readonly string[];
}

interface Pending extends Omit<ReadyFrame, "session" | "fresh"> {
  readonly reset: boolean;
  readonly future: Future<Outputs>;
}

/** One client's stream: owns a slot from `open` to `close`. */
export class Session {
  /** Grows from 0 and is never used again. */
  readonly id: number;
  readonly slot: number;
  readonly #scheduler: SlotScheduler;

  constructor(scheduler: SlotScheduler, id: number, slot: number) {
    this.#scheduler = scheduler;
    this.id = id;
    this.slot = slot;
  }

  /** Every frame submitted from now on runs as if the session had just been opened. */
  reset(): void {
    this.#scheduler.reset(this);
  }

  close(): void {
    this.#scheduler.close(this);
  }
}

interface SessionRecord {
  readonly session: Session;
  /** True until a frame has run: the next one starts from rest. */
  fresh: boolean;
  /** Asks the next submitted frame to start from rest. */
  resetNext: boolean;
  readonly queue: Pending[];
}

/** What became of a round: outputs by frame, null for a session that was not open any more. */
type Asked =
  | { readonly ok: true; readonly outputs: readonly (Outputs | null)[] }
  | { readonly ok: false; readonly error: unknown };

export class SlotScheduler {
  readonly executor: Executor;
  readonly #partial: boolean;
  readonly #sessions = new Map<number, SessionRecord>();
  readonly #free: number[];
  readonly #probes: ReadonlySet<string>;
  /** Of outputs, by steps; the same for all. */
  readonly #shapes: readonly (readonly number[])[];
  #nextId = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(executor: Executor, options: SchedulerOptions = {}) {
    this.executor = executor;
    this.#partial = options.partialFrames ?? false;
    this.#free = Array.from({ length: executor.slots }, (_, slot) => slot);
    this.#probes = new Set(probesOf(executor.plan).map((probe) => probe.name));
    this.#shapes = Array.from(
      { length: executor.frame + 1 },
      (_, steps) => Object.freeze([steps, ...executor.plan.outputShape]),
    );
  }

  get slots(): number {
    return this.executor.slots;
  }

  get frame(): number {
    return this.executor.frame;
  }

  get slotsFree(): number {
    return this.#free.length;
  }

  get framesWaiting(): number {
    let count = 0;
    for (const { queue } of this.#sessions.values()) {
      count += queue.filter(({ future }) => future.state === "waiting").length;
    }
    return count;
  }

  /** Starts a session at rest in a free slot. Throws `no_slot` when all are taken. */
  open(): Session {
    const slot = this.#free.shift();
    if (slot === undefined) {
      throw new GanglionError(
        "no_slot",
        `all ${this.slots} slots hold sessions; close one first`,
        { slots: this.slots },
      );
    }
    const session = new Session(this, this.#nextId++, slot);
    this.#sessions.set(session.id, { session, fresh: true, resetNext: false, queue: [] });
    return session;
  }

  /** Ends a session: frees its slot (first in, first out) and cancels the frames still waiting. */
  close(session: Session): void {
    const record = this.#record(session);
    this.#sessions.delete(session.id);
    for (const { future } of record.queue) future.cancel();
    record.queue.length = 0;
    this.#free.push(session.slot);
    assert(this.#free.length + this.#sessions.size === this.slots, "free + held = all");
  }

  /** See `Session.reset`. */
  reset(session: Session): void {
    this.#record(session).resetNext = true;
  }

  /**
   * Queues one frame, `[steps, …sample_shape]` as a flat array or packed, which is copied. Steps are
   * exactly `frame`, or 1 … frame with `partialFrames`.
   */
  submit(
    session: Session,
    frame: ArrayLike<number>,
    options: SubmitOptions = {},
  ): Future<Outputs> {
    const { sampleSize, sampleShape } = this.executor.plan;
    const input = framesOf(frame, sampleSize, options);
    const steps = input.length / entriesOf(input, sampleSize);
    const fits = Number.isInteger(steps) && steps >= 1 &&
      (this.#partial ? steps <= this.frame : steps === this.frame);
    if (!fits) {
      const wanted = this.#partial ? `1 to ${this.frame}` : `${this.frame}`;
      throw new GanglionError(
        "bad_array",
        `a frame is ${wanted} steps of [${sampleShape.join(", ")}] = ${sampleSize} values, ` +
          `got ${frame.length} values`,
      );
    }
    const stray = isPacked(input) ? strayBit(input, sampleSize) : null;
    if (stray !== null) {
      throw new GanglionError(
        "bad_array",
        `bit ${stray.index} of step ${stray.step} is set, a step has ${sampleSize} values`,
      );
    }
    const record = this.#record(session);
    const names = options.record ?? [];
    const unknown = names.find((name) => !this.#probes.has(name));
    if (unknown !== undefined) {
      throw new GanglionError("invalid_body", `The model has no value named "${unknown}"`);
    }
    const future = new Future<Outputs>();
    record.queue.push({
      input,
      steps,
      reset: (options.reset ?? false) || record.resetNext,
      record: names,
      future,
    });
    record.resetNext = false;
    return future;
  }

  /**
   * Runs the oldest waiting frame of every session that has one; returns how many ran. When the
   * executor fails, the futures of all frames it took get its error, no state changes, and it throws.
   */
  step(): Promise<number> {
    return this.#inTurn(() => this.#step());
  }

  /**
   * Runs rounds of frames, each one step with frames of different sessions; the queues stay as they are.
   * `next` gives the next round, or null when there is none now: it is asked at the beginning and after each
   * round, for as many as the executor takes ahead. `onRound` gets the outputs of each as soon as they are
   * there, null for a session that was not open any more. Ends when all that was given has run. When a round
   * fails its frames and those of later rounds change nothing, and it throws.
   */
  stepWith(
    next: () => readonly ReadyFrame[] | null,
    onRound: (outputs: readonly (Outputs | null)[]) => void,
  ): Promise<void> {
    return this.#inTurn(async () => {
      const ahead = this.executor.stepsAhead ?? 1;
      const asked: Promise<Asked>[] = [];
      const begun = new Set<SessionRecord>();
      for (;;) {
        while (asked.length < ahead) {
          const round = next();
          if (round === null) break;
          asked.push(this.#ask(round, begun));
        }
        const oldest = asked.shift();
        if (oldest === undefined) return;
        const outcome = await oldest;
        if (outcome.ok) {
          onRound(outcome.outputs);
          continue;
        }
        // Nobody else uses the executor before those that were asked for since have failed too.
        const later = await Promise.all(asked);
        assert(later.every(({ ok }) => !ok), "no step runs after one before it has failed");
        throw outcome.error;
      }
    });
  }

  /** Steps until no frame waits. */
  async run(): Promise<void> {
    while (await this.step() > 0);
  }

  /** The session's state after the last frame that ran; rest when none did. Waits for a running step. */
  readState(session: Session): Promise<RowState> {
    return this.#inTurn(async () => (await this.#read([this.#record(session)]))[0]!);
  }

  /** As `readState`, of several sessions at once; null for those that are no longer open. */
  readStates(sessions: readonly Session[]): Promise<(RowState | null)[]> {
    return this.#inTurn(() => this.#read(sessions.map(({ id }) => this.#sessions.get(id))));
  }

  /** Replaces the session's state; its next frame continues from there. */
  writeState(session: Session, state: RowState): Promise<void> {
    return this.#inTurn(() => this.#write(this.#record(session), state));
  }

  /** As `writeState`, for several sessions at once; those that are no longer open are left out. */
  writeStates(pairs: readonly (readonly [Session, RowState])[]): Promise<void> {
    return this.#inTurn(async () => {
      await Promise.all(pairs.map(async ([session, state]) => {
        const record = this.#sessions.get(session.id);
        if (record !== undefined) await this.#write(record, state);
      }));
    });
  }

  /** Asks the executor once, for all that are not at rest when this begins. */
  async #read(records: readonly (SessionRecord | undefined)[]): Promise<(RowState | null)[]> {
    const slots: number[] = [];
    const places = records.map((record) => {
      if (record === undefined) return null;
      if (record.fresh || record.resetNext) return "rest";
      return slots.push(record.session.slot) - 1;
    });
    const read = slots.length === 0 ? [] : await this.executor.readStates(slots);
    return places.map((place) => {
      if (place === null) return null;
      return place === "rest" ? restState(this.executor.plan) : read[place]!;
    });
  }

  async #write(record: SessionRecord, state: RowState): Promise<void> {
    await this.executor.writeState(record.session.slot, state);
    record.fresh = false;
    record.resetNext = false;
  }

  #record(session: Session): SessionRecord {
    const record = this.#sessions.get(session.id);
    if (record?.session !== session) {
      throw new GanglionError("session_unknown", `Session ${session.id} is not open`);
    }
    return record;
  }

  #inTurn<T>(action: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(action);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #step(): Promise<number> {
    const records: SessionRecord[] = [];
    const claims: Pending[] = [];
    const batch: BatchRow[] = [];
    for (const record of this.#sessions.values()) {
      const pending = claimHead(record);
      if (pending === null) continue;
      records.push(record);
      claims.push(pending);
      batch.push(rowOf(record, pending, record.fresh || pending.reset));
    }
    if (claims.length === 0) return 0;
    try {
      const outputs = await this.#run(records, batch);
      claims.forEach(({ future }, i) => future.resolve(outputs[i]!));
    } catch (error) {
      claims.forEach(({ reset, future }, i) => {
        // A reset that was asked for is not lost with the frame that carried it.
        if (reset) records[i]!.fresh = true;
        future.fail(error);
      });
      throw error;
    }
    return claims.length;
  }

  /**
   * Begins a step before anything is awaited. Never rejects: its outcome may be looked at much later.
   * `begun`: those with a frame in a round before it.
   */
  async #ask(frames: readonly ReadyFrame[], begun: Set<SessionRecord>): Promise<Asked> {
    const records: (SessionRecord | null)[] = [];
    const batch: BatchRow[] = [];
    for (const frame of frames) {
      const record = this.#sessions.get(frame.session.id) ?? null;
      records.push(record);
      if (record === null) continue;
      // After its first frame a session is fresh no more, though that is not known yet.
      batch.push(rowOf(record, frame, frame.fresh || (record.fresh && !begun.has(record))));
      begun.add(record);
    }
    try {
      return { ok: true, outputs: await this.#run(records, batch) };
    } catch (error) {
      return { ok: false, error };
    }
  }

  /** One step of the executor, all or nothing. `records`: whose rows these are, null for one that has none. */
  async #run(
    records: readonly (SessionRecord | null)[],
    batch: readonly BatchRow[],
  ): Promise<(Outputs | null)[]> {
    const results = batch.length === 0 ? [] : await this.executor.step(batch);
    assert(results.length === batch.length, "one result a row");
    let at = 0;
    return records.map((record) => {
      if (record === null) return null;
      const { steps } = batch[at]!;
      const { output, probes } = results[at++]!;
      record.fresh = false;
      return { data: output, shape: this.#shapes[steps]!, probes };
    });
  }
}

function rowOf(
  { session }: SessionRecord,
  { steps, input, record }: Pick<ReadyFrame, "steps" | "input" | "record">,
  fresh: boolean,
): BatchRow {
  return { slot: session.slot, steps, fresh, input, record };
}

/** A frame as executors take it, apart from the caller's own: bits where it is all spikes. */
function framesOf(frame: ArrayLike<number>, sampleSize: number, { packed }: SubmitOptions): Frames {
  if (packed) return new Uint32Array(frame);
  const values = frame instanceof Float32Array ? frame : new Float32Array(frame);
  if (values.length % sampleSize === 0) {
    const spikes = packSpikes(values, sampleSize);
    if (spikes !== null) return spikes;
  }
  return canonicalise(values.slice());
}

/** Drops cancelled frames from the head of a queue and takes the first live one. */
function claimHead(record: SessionRecord): Pending | null {
  for (let pending = record.queue.shift(); pending; pending = record.queue.shift()) {
    if (pending.future.claim()) return pending;
    // A reset that was asked for is not cancelled with the frame that carried it.
    if (pending.reset) record.fresh = true;
  }
  return null;
}
