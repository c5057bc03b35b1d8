/**
 * One chunk of a session: its input until it ran, where in the ring its outputs are, and who waits for
 * it. For who waits it keeps the outputs whatever becomes of the ring. Knows nothing of queues; the
 * session moves it along.
 */
import { assert } from "../base/assert.ts";
import { type Frames, isPacked } from "../base/frames.ts";
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { canonicalise } from "../base/numeric.ts";
import type { ChunkImage } from "../checkpoint/mod.ts";
import type { Outbox, OutputEvent } from "./outbox.ts";
import type { Prediction } from "./session_types.ts";

/** What a client sends, decoded. */
export interface ChunkInput {
  /** Finite; made canonical in place, and changed by nobody afterwards. */
  readonly values: Frames;
  readonly steps: number;
  /** The session goes back to rest before the first step. */
  readonly reset?: boolean;
  /** The client's number; the next one when left out. */
  readonly seq?: number;
  /** Equal for equal requests; compared when a number comes again. */
  readonly digest?: string;
  /** The epoch that the client knows; see `StreamSession.submit`. */
  readonly epoch?: number;
}

/** `running` from the moment its first frame was taken. */
export type ChunkState = "waiting" | "running" | "done" | "cancelled" | "failed";

export interface ChunkOutputs {
  /** [steps, output size]. */
  readonly data: Float32Array;
  readonly probes: Readonly<Record<string, Float32Array>>;
  /** After the last step; only where the session asked for it. */
  readonly prediction?: Prediction;
}

/** Most waits are over sooner, and a runtime's signal costs as much as half a request. */
const LEAVING_MS = 1000;

export class Chunk {
  readonly seq: number;
  readonly steps: number;
  readonly reset: boolean;
  readonly digest: string;
  /** Planned until the chunk runs, then true. */
  startStep: number;
  /** As `startStep`. */
  epoch: number;
  state: ChunkState = "waiting";
  /** Steps that ran. */
  stepsRun = 0;
  /** On the service's clock; unknown for a chunk of an earlier start. */
  takenAtMs = NaN;
  /** Failed runs of the frame at its head. */
  attempts = 0;
  #input: Frames | null;
  #ring: Outbox | null = null;
  #ringFrom = 0; // index of its first output in the ring; -1 when that was lost with an older process
  #ringTo = 0; // index after its last output
  #error: GanglionError | null = null;
  /** Who waits, and all outputs so far for them; most chunks have nobody. */
  #waiters: Set<() => void> | null = null;
  #gathered: GatheredOutputs | null = null;

  constructor(seq: number, input: ChunkInput, plan: { startStep: number; epoch: number }) {
    this.seq = seq;
    this.steps = input.steps;
    this.reset = input.reset ?? false;
    this.digest = input.digest ?? "";
    this.startStep = plan.startStep;
    this.epoch = plan.epoch;
    // Once for all frames, which then go to the executor as they are.
    this.#input = isPacked(input.values) ? input.values : canonicalise(input.values);
  }

  /** A chunk as a checkpoint holds it. `findOutputs` follows. */
  static fromImage(image: ChunkImage): Chunk {
    const { seq, steps, reset, digest, startStep, epoch, state, stepsRun, input } = image;
    const values = input ?? new Float32Array(0);
    const chunk = new Chunk(seq, { values, steps, reset, digest }, { startStep, epoch });
    chunk.#input = input;
    chunk.stepsRun = stepsRun;
    chunk.state = state;
    return chunk;
  }

  toImage(): ChunkImage {
    const { seq, steps, reset, digest, startStep, epoch, state, stepsRun } = this;
    return { seq, steps, reset, digest, startStep, epoch, state, stepsRun, input: this.#input };
  }

  /** Of a chunk that ran in an older process: where the ring has its outputs, if it has them all. */
  findOutputs(ring: Outbox): void {
    if (this.stepsRun === 0) return;
    this.#ring = ring;
    this.#ringFrom = -1;
    // From the newest on: the number may have been that of another chunk before.
    for (let i = ring.end - 1, steps = 0; i >= ring.first; i--) {
      const event = ring.at(i)!;
      if (event.kind !== "output" || event.seq !== this.seq) continue;
      if (steps === 0) this.#ringTo = i + 1;
      steps += event.steps;
      if (steps < this.stepsRun) continue;
      this.#ringFrom = i;
      return;
    }
  }

  get finished(): boolean {
    return this.state !== "waiting" && this.state !== "running";
  }

  /** The input of at most `frame` steps, from one of its steps on. */
  frameAt(step: number, frame: number): { steps: number; input: Frames } {
    assert(this.#input !== null, "a finished chunk has no frames");
    const steps = Math.min(frame, this.steps - step);
    if (steps === this.steps) return { steps, input: this.#input };
    const entries = this.#input.length / this.steps;
    const from = step * entries;
    return { steps, input: this.#input.subarray(from, from + steps * entries) };
  }

  /** A frame ran; what it told is the newest event of the ring. */
  ran(event: OutputEvent, ring: Outbox): void {
    if (this.#ring === null) this.#ringFrom = ring.end - 1;
    this.#ring = ring;
    this.#ringTo = ring.end;
    this.#gathered?.add(event);
    this.stepsRun += event.steps;
    this.attempts = 0;
    if (this.stepsRun === this.steps) this.#end("done", null);
  }

  cancel(): void {
    this.#end(
      "cancelled",
      new GanglionError("chunk_cancelled", `Chunk ${this.seq} was cancelled`, { seq: this.seq }),
    );
  }

  /** Who waits is sent away as if its time were over; the chunk goes on. */
  stopWaiting(): void {
    this.#wakeWaiters();
  }

  fail(error: GanglionError): void {
    this.#end("failed", error);
  }

  /**
   * Resolves with all outputs once the last step ran, or with null after `timeoutMs` or when
   * `signal` says that who waits has left; the chunk goes on. Rejects when the chunk is cancelled, fails, or its session
   * ends, and with `outputs_gone` when the ring has dropped a part.
   */
  async wait(
    clock: Clock,
    timeoutMs: number,
    signal?: () => AbortSignal,
  ): Promise<ChunkOutputs | null> {
    if (this.#error !== null) throw this.#error;
    if (this.finished) return this.#gather().all;
    const gathered = this.#gathered ??= this.#gather();
    const hasEnded = await this.#endsWithin(clock, timeoutMs, signal);
    if (this.#error as GanglionError | null) throw this.#error;
    return hasEnded ? gathered.all : null;
  }

  /** Whether it had ended when the wait was over: what comes afterwards is gathered for nobody. */
  #endsWithin(clock: Clock, timeoutMs: number, signal?: () => AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // One timer, since most waits end before the first of these times.
    const firstMs = Math.min(timeoutMs, LEAVING_MS);
    let timer = clock.after(firstMs, () => {
      if (timeoutMs === firstMs) return wake();
      timer = clock.after(timeoutMs - firstMs, wake);
      const leaving = signal?.();
      if (leaving?.aborted) wake();
      else leaving?.addEventListener("abort", wake, { once: true });
    });
    const wake = () => {
      timer.cancel();
      resolve(this.finished);
      // Also the client that leaves later comes here.
      if (!this.#waiters?.delete(wake) || this.#waiters.size > 0) return;
      this.#waiters = null;
      this.#gathered = null;
    };
    (this.#waiters ??= new Set()).add(wake);
    return promise;
  }

  #wakeWaiters(): void {
    for (const wake of this.#waiters ?? []) wake();
  }

  #end(state: ChunkState, error: GanglionError | null): void {
    assert(!this.finished, "a chunk ends once");
    this.state = state;
    this.#error = error;
    this.#input = null;
    this.#wakeWaiters();
  }

  /** Its outputs so far, from the ring; throws `outputs_gone` when some are gone. */
  #gather(): GatheredOutputs {
    const gathered = new GatheredOutputs(this.steps);
    const ring = this.#ring;
    if (ring === null) return gathered;
    if (this.#ringFrom < ring.first) {
      throw new GanglionError(
        "outputs_gone",
        `Outputs of chunk ${this.seq} are no longer held`,
        { seq: this.seq },
      );
    }
    for (let i = this.#ringFrom; i < this.#ringTo; i++) {
      const event = ring.at(i)!;
      // Between them may be what is no output.
      if (event.kind === "output") gathered.add(event);
    }
    return gathered;
  }
}

/** The outputs of a chunk of so many steps, copied as they come. */
class GatheredOutputs {
  readonly #steps: number;
  #stepsHere = 0;
  #data: Float32Array | null = null;
  readonly #probes: Record<string, Float32Array> = {};
  #prediction: Prediction | undefined;

  constructor(steps: number) {
    this.#steps = steps;
  }

  add({ steps, data, probes, prediction }: OutputEvent): void {
    this.#data = this.#joined(this.#data, data, steps);
    for (const name in probes) {
      this.#probes[name] = this.#joined(this.#probes[name] ?? null, probes[name]!, steps);
    }
    this.#prediction = prediction;
    this.#stepsHere += steps;
  }

  get all(): ChunkOutputs {
    assert(this.#data !== null && this.#stepsHere === this.#steps, "a chunk that ran has outputs");
    const outputs = { data: this.#data, probes: this.#probes };
    return this.#prediction === undefined ? outputs : { ...outputs, prediction: this.#prediction };
  }

  /** `whole` with the values of the next steps in their place. */
  #joined(whole: Float32Array | null, part: Float32Array, steps: number): Float32Array {
    const size = part.length / steps;
    const joined = whole ?? new Float32Array(this.#steps * size);
    joined.set(part, this.#stepsHere * size);
    return joined;
  }
}
