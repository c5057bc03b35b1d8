/**
 * One session of the simulated service as its client sees it: what it sent, and a twin, a single row of
 * the reference, which the events of its reader drive. An event that is not the next one, or an output
 * of other bits, throws.
 */
import { expect } from "bun:test";
import { GanglionError } from "../../src/base/errors.ts";
import type { RowState } from "../../src/engine/executor.ts";
import type { Plan } from "../../src/model/plan.ts";
import { ReferenceExecutor } from "../../src/reference/reference.ts";
import type {
  OutboxEvent,
  OutputReader,
  Position,
  StreamSession,
} from "../../src/scheduler/mod.ts";
import { assertSameBits } from "../contract/cases.ts";
import { dense, input, makePlan, pointwise, Random } from "../support/plans.ts";

export const FRAME = 3;
export const SAMPLE = 2;

/** Two values in, through a delay and a spiking neuron each, a leaky readout of one. */
export const PLAN: Plan = (() => {
  const random = new Random(7);
  return makePlan("simulated", [
    input([SAMPLE]),
    { name: "fc", inputs: ["input"], shape: [3], ...dense(random, SAMPLE, 3) },
    {
      name: "delay",
      inputs: ["fc"],
      shape: [3],
      kind: "real",
      op: { op: "delay", steps: Uint32Array.of(0, 1, 2), stepsMax: 2 },
    },
    { name: "lif", inputs: ["delay"], shape: [3], ...pointwise(random, "lif", 3) },
    { name: "out", inputs: ["lif"], shape: [1], ...dense(random, 3, 1) },
    { name: "li", inputs: ["out"], shape: [1], ...pointwise(random, "li", 1) },
  ]);
})();

interface SentChunk {
  /** The session's when the chunk was taken. */
  readonly epoch: number;
  readonly digest: string;
  readonly seq: number;
  readonly values: Float32Array;
  readonly steps: number;
  readonly reset: boolean;
}

/** Where the twin stood after an event. */
export interface Moment {
  readonly epoch: number;
  readonly step: number;
  readonly state: RowState;
  /** The next chunk, and steps of it that ran. */
  readonly seq: number;
  readonly offset: number;
}

export const codeOf = (error: unknown): string => {
  if (error instanceof GanglionError) return error.code;
  throw error;
};

/** One session as its client sees it. */
export class Client {
  readonly id: string;
  #session: StreamSession;
  /** By number: what it stands for, and what it will stand for when that has failed. */
  readonly chunks = new Map<number, SentChunk[]>();
  /** All that was ever accepted, by digest. */
  readonly sent = new Map<string, SentChunk>();
  /** Digests. */
  readonly cancelled = new Set<string>();
  readonly history: Moment[] = [];
  durableSeq = -1;
  mustBeRefused = false;
  #reader: OutputReader | null = null;
  #last: Position | null = null;
  #mayMiss = false; // something that nobody had read may be gone
  #resumed: {
    readonly epoch: number;
    readonly known: readonly { seq: number; digest: string; state: string }[];
    /** Steps that its first waiting chunk had run. */
    readonly offset: number;
  } = { epoch: 0, known: [], offset: 0 };
  readonly #twin = new ReferenceExecutor(PLAN, { slots: 1, frame: FRAME });

  constructor(session: StreamSession, state: RowState, step: number) {
    this.id = session.id;
    this.#session = session;
    this.history.push({ epoch: 1, step, state, seq: 0, offset: 0 });
  }

  get session(): StreamSession {
    return this.#session;
  }

  get now(): Moment {
    return this.history.at(-1)!;
  }

  /** What the number stands for now. */
  chunk(seq: number): SentChunk | undefined {
    return this.chunks.get(seq)?.[0];
  }

  accepted(chunk: SentChunk): void {
    // A number that comes again: those before have failed, of which the cancelled are not told.
    for (const [seq, versions] of this.chunks) {
      if (seq < chunk.seq) continue;
      this.chunks.set(seq, versions.filter(({ digest }) => !this.cancelled.has(digest)));
    }
    this.#add(chunk);
    this.sent.set(chunk.digest, chunk);
  }

  #add(chunk: SentChunk): void {
    this.chunks.set(chunk.seq, [...this.chunks.get(chunk.seq) ?? [], chunk]);
  }

  connect(): void {
    if (this.#reader !== null) return;
    this.#reader = this.session.read(this.#last ?? "oldest");
    const { resume } = this.#reader.opening;
    if (this.#last === null) expect(resume).toBe("start");
    else if (this.#mayMiss) expect(["full", "reset"]).toContain(resume);
    else expect(resume).toBe("full");
  }

  /** Another state was put in: what was not read yet went with the ring, and this must be told. */
  replaced(moment: Moment): void {
    this.history.push(moment);
    for (const seq of this.chunks.keys()) if (seq >= moment.seq) this.chunks.delete(seq);
    this.#mayMiss = true;
  }

  disconnect(): void {
    this.#reader?.close();
    this.#reader = null;
  }

  /** The process has ended; the session goes on in another, of which nothing has run yet. */
  moved(session: StreamSession): void {
    this.#reader = null;
    this.#session = session;
    this.#resumed = {
      epoch: session.epoch,
      known: [...session.queue.known].map(({ seq, digest, state }) => ({ seq, digest, state })),
      offset: session.queue.head?.stepsRun ?? 0,
    };
    this.mustBeRefused = true;
  }

  /** Reads everything there is. */
  async pull(): Promise<void> {
    this.connect();
    for (let event = this.#reader!.pull(); event !== null; event = this.#reader!.pull()) {
      if (event.kind === "notice") continue;
      if (event.kind === "lagged" && this.#mayMiss) {
        this.#reader = null;
        this.connect();
        continue;
      }
      expect(["output", "error", "rolled_back", "numerics"]).toContain(event.kind);
      await this.#take(event as OutboxEvent);
      this.#last = (event as OutboxEvent).position;
      this.#mayMiss = false;
    }
  }

  async #take(event: OutboxEvent): Promise<void> {
    const { epoch, step } = event.position;
    const now = this.#skipCancelled(this.now);
    if (event.kind === "output") {
      const chunk = this.chunk(now.seq);
      expect([event.seq, event.startStep]).toEqual([now.seq, now.step]);
      const { steps, data } = event;
      const from = now.offset * SAMPLE;
      const fresh = now.offset === 0 && chunk!.reset;
      await this.#twin.writeState(0, now.state);
      const frame = chunk!.values.slice(from, from + steps * SAMPLE);
      const [row] = await this.#twin.step([{ slot: 0, steps, fresh, input: frame }]);
      assertSameBits(data, row!.output, `${this.id} step ${now.step}`);
      const offset = now.offset + steps;
      const isDone = offset === chunk!.steps;
      expect(step).toBe(now.step + steps);
      const state = (await this.#twin.readStates([0]))[0]!;
      const [seq, at] = isDone ? [now.seq + 1, 0] : [now.seq, offset];
      this.history.push({ epoch, step, state, seq, offset: at });
    } else if (event.kind === "error") {
      // The failed chunk, and each that was queued behind it.
      expect(event.seq).toBeGreaterThanOrEqual(now.seq);
      expect(step).toBe(now.step);
      expect(this.chunks.get(event.seq)!.shift()).toBeDefined();
      this.history.push({ ...now, offset: 0 });
    } else if (event.kind === "rolled_back") {
      this.#rollBack(event.nextSeq, step, epoch);
    }
  }

  /** The session went back: what the client has from after that does not count any more. */
  #rollBack(nextSeq: number, toStep: number, epoch: number): void {
    expect(nextSeq).toBeGreaterThan(this.durableSeq);
    const epochs = this.session.epochs.map((each) => each.epoch);
    const before = epochs[epochs.indexOf(epoch) - 1]!;
    const isResumed = this.#resumed.epoch === epoch;
    let index = this.history.length - 1;
    while (index > 0) {
      const each = this.history[index]!;
      // A chunk that failed after the checkpoint goes on again.
      const fits = !isResumed || each.offset === this.#resumed.offset || each.seq === nextSeq;
      if (fits && each.step === toStep && each.epoch <= before && each.seq <= nextSeq) break;
      index--;
    }
    const back = this.history[index]!;
    expect([toStep, index]).toEqual([back.step, index]);
    const mine = new Map(this.chunks);
    for (const [seq, versions] of mine) {
      // What was sent since, before anybody had read of the roll-back, stays.
      const since = versions.filter((each) => each.epoch >= epoch);
      if (seq >= nextSeq) this.chunks.set(seq, since);
    }
    const known = isResumed ? this.#resumed.known : [];
    for (const { seq } of known) if (seq >= back.seq) this.chunks.delete(seq);
    for (const { seq, digest, state } of known) {
      // Others of the same number may have taken the place of one that failed.
      if (seq < back.seq || seq >= nextSeq) continue;
      if (seq <= this.durableSeq) expect(mine.get(seq)?.at(-1)?.digest).toBe(digest);
      this.#add(this.sent.get(digest)!);
      if (state === "cancelled") this.cancelled.add(digest);
    }
    const isCut = back.seq >= nextSeq;
    this.history.push({ ...back, epoch, offset: isCut ? 0 : back.offset });
  }

  #skipCancelled(now: Moment): Moment {
    let { seq } = now;
    while (this.cancelled.has(this.chunk(seq)?.digest ?? "")) seq++;
    return seq === now.seq ? now : { ...now, seq, offset: 0 };
  }

  /** Nothing of what was accepted is missing. */
  expectAll(): void {
    const { seq } = this.#skipCancelled(this.now);
    expect([this.id, seq, this.session.stepsDone]).toEqual([
      this.id,
      this.session.queue.nextSeq,
      this.now.step,
    ]);
  }
}
