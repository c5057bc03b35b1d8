/**
 * The loop of one model: as long as frames wait it runs rounds, each with the head frame of every
 * session that has one, and lets everything else have its turn in between. A failed round gives its
 * frames back; a frame on its last try runs alone, so that a bad one takes no neighbour along.
 */
import { type Clock, nextTurn } from "../base/clock.ts";
import type { RanStep } from "./observer.ts";
import type { Outputs, SlotScheduler } from "./slot_scheduler.ts";
import type { StreamSession } from "./stream_session.ts";

export interface StepLoopOptions {
  readonly scheduler: SlotScheduler;
  readonly clock: Clock;
  /** Times a failed frame is run again. */
  readonly retries: number;
  /** How long a frame may wait for other sessions to share its step. */
  readonly gatherMs: number;
  readonly onStep: (step: RanStep) => void;
}

/** Weight of the newest round in the mean. */
const NEWEST = 0.1;

export class StepLoop {
  readonly #options: StepLoopOptions;
  readonly #ready = new Set<StreamSession>();
  #isRunning = false;
  #idle: PromiseWithResolvers<void> | null = null;
  #roundMs = 0;
  #gathered: PromiseWithResolvers<void> | null = null;

  constructor(options: StepLoopOptions) {
    this.#options = options;
  }

  /** Mean time of a round lately, in milliseconds. */
  get roundMs(): number {
    return this.#roundMs;
  }

  /** The session has a frame that a step could take. Starts the loop when it rests. */
  wake(session: StreamSession): void {
    this.#ready.add(session);
    if (this.#isFull()) this.#gathered?.resolve();
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#run();
  }

  /** The session has ended. */
  forget(session: StreamSession): void {
    this.#ready.delete(session);
    if (this.#isFull()) this.#gathered?.resolve();
  }

  /** Resolves when no frame waits. */
  async idle(): Promise<void> {
    while (this.#isRunning) {
      this.#idle ??= Promise.withResolvers<void>();
      await this.#idle.promise;
    }
  }

  async #run(): Promise<void> {
    // The first turn lets the chunks that arrive together run together.
    for (await nextTurn(); this.#ready.size > 0; await nextTurn()) {
      if (this.#options.gatherMs > 0) await this.#gather();
      const together: StreamSession[] = [];
      const alone: StreamSession[] = [];
      for (const session of this.#ready) {
        if (!session.hasFrame) this.#ready.delete(session);
        else (this.#isLastTry(session) ? alone : together).push(session);
      }
      if (together.length > 0) await this.#round(together);
      for (const session of alone) {
        if (session.hasFrame && this.#ready.has(session)) await this.#round([session]);
      }
    }
    // Without a turn in between, or a session woken in it would be missed.
    this.#isRunning = false;
    this.#idle?.resolve();
    this.#idle = null;
  }

  /** Every open session has a frame: there is nobody to wait for. */
  #isFull(): boolean {
    const { slots, slotsFree } = this.#options.scheduler;
    return this.#ready.size >= slots - slotsFree;
  }

  /** Waits until every open session has a frame, for `gatherMs` at most. */
  async #gather(): Promise<void> {
    for (const session of this.#ready) if (!session.hasFrame) this.#ready.delete(session);
    if (this.#ready.size === 0 || this.#isFull()) return;
    const { clock, gatherMs } = this.#options;
    this.#gathered = Promise.withResolvers<void>();
    const timer = clock.after(gatherMs, this.#gathered.resolve);
    await this.#gathered.promise;
    timer.cancel();
    this.#gathered = null;
  }

  #isLastTry(session: StreamSession): boolean {
    return session.attempts > 0 && session.attempts >= this.#options.retries;
  }

  async #round(sessions: readonly StreamSession[]): Promise<void> {
    const { scheduler, clock, retries } = this.#options;
    const begin = clock.now();
    const futures = sessions.map((session) => {
      const { input, reset } = session.take();
      return scheduler.submit(session.options.slot, input, {
        reset,
        record: session.options.record,
      });
    });
    // The scheduler tells every future its own outcome, so its throw says nothing more.
    let failed = false;
    await scheduler.step().catch(() => failed = true);
    const outcomes = await Promise.allSettled(futures.map((future) => future.result()));
    outcomes.forEach((outcome, i) => {
      const session = sessions[i]!;
      if (session.endReason !== null) return;
      if (outcome.status === "fulfilled") session.commit(ownOutputs(outcome.value));
      else session.giveBack(retries);
    });
    const ms = clock.now() - begin;
    this.#roundMs += NEWEST * (ms - this.#roundMs);
    this.#options.onStep({ rows: sessions.length, slots: scheduler.slots, ms, failed });
  }
}

/** Outputs that are small views of a large buffer are copied, since the ring would keep it all. */
function ownOutputs({ data, shape, probes }: Outputs): Outputs {
  const own = (values: Float32Array) =>
    values.buffer.byteLength > 2 * values.byteLength ? values.slice() : values;
  const kept: Record<string, Float32Array> = {};
  for (const name in probes) kept[name] = own(probes[name]!);
  return { data: own(data), shape, probes: kept };
}
