/**
 * The loop of one model: as long as frames wait it runs rounds, each with the head frame of every
 * session that has one and holds a slot, and lets everything else have its turn in between. A failed
 * round gives its frames back; a frame on its last try runs alone, so that a bad one takes no
 * neighbour along. What reads or moves state runs between two rounds.
 */
import { type Clock, nextTurn } from "../base/clock.ts";
import type { ModelHost } from "./model_host.ts";
import type { RanStep } from "./observer.ts";
import type { Residency } from "./residency.ts";
import type { Outputs, ReadyFrame } from "./slot_scheduler.ts";
import type { StepWatchdog } from "./step_watchdog.ts";
import type { StreamSession } from "./stream_session.ts";

export interface StepLoopOptions {
  readonly host: ModelHost;
  readonly residency: Residency;
  readonly clock: Clock;
  readonly watchdog: StepWatchdog;
  /** Times a failed frame is run again. */
  readonly retries: number;
  /** How long a frame may wait for other sessions to share its step. */
  readonly gatherMs: number;
  readonly onStep: (step: RanStep) => void;
}

/** What may wait behind the round that runs, where the executor takes steps ahead: newcomers wait so long. */
const AHEAD_MS = 4;
/** Rounds follow one another for so long before the loop looks around: the watchdog sees an end. */
const STRETCH_MS = 250;
/** Weight of the newest round in the mean. */
const NEWEST = 0.1;
/** An action that meets lost devices is begun again so many times. */
const ACTION_TRIES = 5;

interface Action {
  readonly run: () => Promise<void>;
  readonly fail: (error: unknown) => void;
  tries: number;
}

/** The sessions of the next round, when so many have begun and so many are under way; none: not now. */
type NextRound = (begun: number, running: number) => StreamSession[];

export class StepLoop {
  readonly #options: StepLoopOptions;
  readonly #ready = new Set<StreamSession>();
  readonly #actions: Action[] = [];
  #isRunning = false;
  #isPaused = false;
  #idle: PromiseWithResolvers<void> | null = null;
  #roundMs: number | null = null;
  #gathered: PromiseWithResolvers<void> | null = null;

  constructor(options: StepLoopOptions) {
    this.#options = options;
  }

  /** Mean time of a round lately, in milliseconds. */
  get roundMs(): number {
    return this.#roundMs ?? 0;
  }

  /** The session has a frame that a step could take. Starts the loop when it rests. */
  wake(session: StreamSession): void {
    this.#ready.add(session);
    if (this.#isFull()) this.#gathered?.resolve();
    this.start();
  }

  /** The session has ended. */
  forget(session: StreamSession): void {
    this.#ready.delete(session);
    if (this.#isFull()) this.#gathered?.resolve();
  }

  /** There may be something to do. */
  start(): void {
    if (this.#isRunning || !this.#hasWork) return;
    this.#isRunning = true;
    void this.#loop();
  }

  /**
   * Runs an action while no step runs; its result. When the device is lost under it, it runs again
   * on the next one: until it has resolved it must have changed nothing.
   */
  between<T>(action: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = async () => resolve(await action());
    this.#actions.push({ run, fail: reject, tries: 0 });
    this.#gathered?.resolve();
    this.start();
    return promise;
  }

  /** No round begins any more; what waits goes on waiting. */
  pause(): void {
    this.#isPaused = true;
  }

  /** Resolves when no frame waits. */
  async idle(): Promise<void> {
    while (this.#isRunning) {
      this.#idle ??= Promise.withResolvers<void>();
      await this.#idle.promise;
    }
  }

  get #hasWork(): boolean {
    const hasFrames = this.#ready.size > 0 && !this.#isPaused && !this.#options.residency.isLost;
    return hasFrames || this.#actions.length > 0 || this.#options.residency.hasWork;
  }

  async #loop(): Promise<void> {
    // The first turn lets the chunks that arrive together run together.
    for (await nextTurn(); this.#hasWork; await nextTurn()) await this.#turn();
    // Without a turn in between, or a session woken in it would be missed.
    this.#isRunning = false;
    this.#idle?.resolve();
    this.#idle = null;
  }

  async #turn(): Promise<void> {
    const { residency, watchdog, gatherMs } = this.#options;
    if (residency.isLost && residency.hasWork) return await residency.recover();
    await this.#act();
    if (residency.isLost) return;
    try {
      await watchdog.during(residency.checkpoint());
    } catch (error) {
      // Without a loss the journals stay, and are tried again when they have grown.
      if (await residency.wasLost(error)) return;
    }
    if (this.#isPaused) return;
    if (gatherMs > 0) await this.#gather();
    if (this.#actions.length === 0 && !residency.isLost) await this.#rounds();
  }

  /** Runs the actions that wait. */
  async #act(): Promise<void> {
    for (let action = this.#actions.shift(); action; action = this.#actions.shift()) {
      try {
        await this.#options.watchdog.during(action.run());
      } catch (error) {
        if (!await this.#options.residency.wasLost(error) || ++action.tries >= ACTION_TRIES) {
          action.fail(error);
          continue;
        }
        this.#actions.unshift(action);
        return;
      }
    }
  }

  async #rounds(): Promise<void> {
    const { residency, watchdog, retries } = this.#options;
    const ready = this.#withFrames();
    try {
      await watchdog.during(residency.bring(ready));
    } catch (error) {
      if (await residency.wasLost(error)) return;
      for (const session of ready) {
        if (residency.isSeated(session) || !session.hasFrame) continue;
        session.take();
        session.failed(retries);
      }
    }
    if (!ready.some(({ attempts }) => attempts > 0)) return await this.#run(this.#stretch());
    const together: StreamSession[] = [];
    const alone: StreamSession[] = [];
    for (const session of ready) (this.#isLastTry(session) ? alone : together).push(session);
    for (const sessions of [together, ...alone.map((session) => [session])]) {
      if (residency.isLost) return;
      const round = sessions.filter((each) => each.hasFrame && residency.isSeated(each));
      await this.#run((begun) => begun === 0 ? round : []);
    }
  }

  /** Those that a step could take a frame of, whether they have a slot or not. */
  #withFrames(): StreamSession[] {
    const ready: StreamSession[] = [];
    for (const session of this.#ready) {
      if (session.hasFrame) ready.push(session);
      else this.#ready.delete(session);
    }
    return ready;
  }

  /**
   * Round after round as long as others are on their way, so that the executor never waits. It ends where the
   * loop has something else to do: then, and after the last of them, there is a turn for everything else.
   */
  #stretch(): NextRound {
    const { clock, residency, gatherMs } = this.#options;
    const depth = this.#depth;
    const begin = clock.now();
    return (begun, running) => {
      if (running >= this.#depth || (begun > 0 && (running === 0 || this.#mustLook))) return [];
      const ready = this.#withFrames();
      const seated = ready.filter((session) => residency.isSeated(session));
      // Somebody waits for a slot, or for others to come.
      const isShort = seated.length < ready.length || gatherMs > 0;
      if (begun >= depth && (isShort || clock.now() - begin > STRETCH_MS)) return [];
      return seated;
    };
  }

  /** Every session with a slot has a frame: there is nobody to wait for. */
  #isFull(): boolean {
    const { slots, slotsFree } = this.#options.host.scheduler;
    return this.#ready.size >= slots - slotsFree;
  }

  /** Waits until every session with a slot has a frame, for `gatherMs` at most. */
  async #gather(): Promise<void> {
    for (const session of this.#ready) if (!session.hasFrame) this.#ready.delete(session);
    if (this.#ready.size === 0 || this.#isFull() || this.#actions.length > 0) return;
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

  /** The loop has something to do between two rounds, or no round may begin. */
  get #mustLook(): boolean {
    const { residency } = this.#options;
    return this.#isPaused || this.#actions.length > 0 || residency.isLost || residency.hasWork;
  }

  /** Runs rounds with one frame of each session, until `next` gives nobody. */
  async #run(next: NextRound): Promise<void> {
    const { host, residency, clock, watchdog, retries } = this.#options;
    const { scheduler } = host;
    const running: StreamSession[][] = [];
    let begun = 0;
    let begin = clock.now();
    const onStep = (rows: number, failed: boolean) => {
      const ms = clock.now() - begin;
      begin += ms;
      this.#roundMs = this.#roundMs === null ? ms : this.#roundMs + NEWEST * (ms - this.#roundMs);
      const allCompute = { uploadMs: 0, computeMs: ms, readbackMs: 0 };
      const phases = failed ? null : scheduler.executor.phases ?? allCompute;
      this.#options.onStep({ rows, slots: scheduler.slots, ms, phases, failed });
    };
    const nextRound = (): ReadyFrame[] | null => {
      const sessions = next(begun, running.length);
      if (sessions.length === 0) return null;
      begun++;
      running.push(sessions);
      return sessions.map((session) => {
        const { input, steps, reset } = session.take();
        const { record } = session.options;
        return { session: session.seat.slot!, input, steps, fresh: reset, record };
      });
    };
    const steps = scheduler.stepWith(nextRound, (outputs) => {
      const ran = running.shift()!;
      ran.forEach((session, i) => {
        if (session.endReason !== null) return;
        residency.ran(session, session.commit(ownProbes(outputs[i]!)));
        if (session.hasFrame) this.#ready.add(session);
      });
      // After all of them, so that a stream of several sessions is written to once a round.
      for (const session of ran) session.tellReaders();
      onStep(ran.length, false);
    });
    try {
      await watchdog.during(steps);
    } catch (error) {
      const failed = running.shift()!;
      for (const session of failed) if (session.endReason === null) session.failed(retries);
      for (const session of running.flat()) session.giveBack();
      for (const session of [failed, running].flat(2)) {
        if (session.endReason === null) this.#ready.add(session);
      }
      onStep(failed.length, true);
      await residency.wasLost(error);
    }
  }

  /** Rounds that may be under way. */
  get #depth(): number {
    const most = this.#options.host.executor.stepsAhead ?? 1;
    if (this.#roundMs === null) return 1;
    return Math.min(most, 1 + Math.floor(AHEAD_MS / this.#roundMs));
  }
}

/** The ring copies outputs, and keeps recorded values: it would keep the whole buffer of a small view. */
function ownProbes(outputs: Outputs): Outputs {
  const probes: Record<string, Float32Array> = {};
  let isEmpty = true;
  for (const name in outputs.probes) {
    const values = outputs.probes[name]!;
    probes[name] = values.buffer.byteLength > 2 * values.byteLength ? values.slice() : values;
    isEmpty = false;
  }
  return isEmpty ? outputs : { ...outputs, probes };
}
