/**
 * Which sessions of a model hold a slot, and where the state of the others is. Idle sessions are parked
 * on the host, the least recently used first, when others have frames waiting; a session with waiting
 * frames is never parked. When the device is lost, another executor is made, every session goes on from
 * the state the host kept, and the frames since run again without being told twice.
 *
 * But for `join`, `leave` and `touch` everything here happens between rounds: the loop calls it.
 */
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import type { Executor, RowState } from "../engine/executor.ts";
import { restState } from "../model/row_state.ts";
import { sessionsOnHost } from "./memory.ts";
import type { ModelHost } from "./model_host.ts";
import type { TakenFrame } from "./session_types.ts";
import type { ReadyFrame, Session, SlotScheduler } from "./slot_scheduler.ts";
import type { StepWatchdog } from "./step_watchdog.ts";
import type { StreamSession } from "./stream_session.ts";

/** An executor that fails is given so long to say that its device is lost. */
const LOSS_GRACE_MS = 20;
/** Sessions that began together are due together, and the round that waits should not wait for all. */
const CHECKPOINTS_AT_ONCE = 64;
/** A journal keeps the bytes of a frame alone where those of its whole chunk are more than this. */
const KEPT_WHOLE = 64 << 10;
/** The first rebuild comes at once, each following one later, until a device has lived so long. */
const BACKOFF_MS = 250;
const BACKOFF_MAX_MS = 30_000;
const STEADY_MS = 1000;

export interface ResidencyOptions {
  readonly host: ModelHost;
  readonly clock: Clock;
  readonly limits: Limits;
  /** For the steps of a recovery; all other calls the loop watches. */
  readonly watchdog: StepWatchdog;
  /** The device is gone: the loop should call `recover`, where that is possible. */
  readonly onLost: () => void;
  /** A new session may find room. */
  readonly onRoom: () => void;
}

export interface ResidencyCounts {
  parked: number;
  broughtBack: number;
  /** Time that sessions were kept waiting for parking and bringing back. */
  swapMs: number;
  losses: number;
  framesReplayed: number;
}

export class Residency {
  readonly counts: ResidencyCounts = {
    parked: 0,
    broughtBack: 0,
    swapMs: 0,
    losses: 0,
    framesReplayed: 0,
  };
  readonly #options: ResidencyOptions;
  /** Sessions that the slots and the host's memory can hold together. */
  readonly capacity: number;
  readonly #members = new Set<StreamSession>();
  readonly #seated = new Set<StreamSession>();
  readonly #due = new Set<StreamSession>();
  readonly #coming = new Set<StreamSession>(); // slots are kept free for them
  readonly #toRestore = new Set<StreamSession>(); // had a slot when the device was lost
  #watched: Executor | null = null;
  #isLost = false;
  #isStopped = false;
  #aliveAtMs = -Infinity;
  #failures = 0;
  #uses = 0;
  #wakeUp: (() => void) | null = null;

  constructor(options: ResidencyOptions) {
    this.#options = options;
    const { host, limits } = options;
    this.capacity = limits.sessionsMax ||
      host.scheduler.slots + sessionsOnHost(host.plan, limits);
    this.#watch();
  }

  /** The device is gone and no other has taken its place yet. */
  get isLost(): boolean {
    return this.#isLost;
  }

  get hasWork(): boolean {
    return !this.#isStopped && (this.#due.size > 0 || (this.#isLost && this.#host.canRebuild));
  }

  get sessions(): number {
    return this.#members.size;
  }

  get slotsFree(): number {
    return this.#scheduler.slotsFree;
  }

  /** New sessions that may be opened now. */
  get room(): number {
    if (this.#isLost) return 0;
    const { sessionsMax } = this.#options.limits;
    if (sessionsMax > 0) return Math.max(0, sessionsMax - this.#members.size);
    const slotsFree = this.#scheduler.slotsFree - this.#coming.size;
    return Math.max(0, Math.min(slotsFree, this.capacity - this.#members.size));
  }

  /** A new session; it gets a slot if one is free and its state is at rest. */
  join(session: StreamSession): void {
    this.#members.add(session);
    if (session.seat.base !== null || this.#isLost || this.#scheduler.slotsFree === 0) return;
    session.seat.slot = this.#scheduler.open();
    this.#seated.add(session);
    this.touch(session);
  }

  /** The session began on the host in place of one that would take a slot; `bring` follows. */
  expect(session: StreamSession): void {
    this.#coming.add(session);
  }

  /** The session has ended. */
  leave(session: StreamSession): void {
    this.#members.delete(session);
    this.#coming.delete(session);
    this.#due.delete(session);
    this.#toRestore.delete(session);
    this.#unseat(session);
  }

  /** The session is in use: others are parked before it. */
  touch(session: StreamSession): void {
    session.seat.lastUse = ++this.#uses;
  }

  /** Whether a step can take its frames. */
  isSeated(session: StreamSession): boolean {
    return this.#seated.has(session);
  }

  /**
   * Gives slots to sessions, in order, as far as there are any for them; `mayPark`: also those of
   * sessions that have nothing waiting.
   */
  async bring(wanted: readonly StreamSession[], { mayPark = true } = {}): Promise<void> {
    for (const session of wanted) this.#coming.delete(session);
    const missing = wanted.filter((session) => session.seat.slot === null);
    if (missing.length === 0) return;
    const begin = this.#options.clock.now();
    const short = missing.length - this.#scheduler.slotsFree;
    if (short > 0 && mayPark) await this.#park(this.#idle(short));
    await this.#seat(missing);
    this.counts.swapMs += this.#options.clock.now() - begin;
  }

  /** Parks a session that has nothing waiting. */
  async park(session: StreamSession): Promise<void> {
    session.assertOpen();
    session.assertQuiet();
    if (session.seat.slot === null) return;
    await this.#park([session]);
    session.assertOpen();
    session.assertQuiet();
    this.#options.onRoom();
  }

  /** The states after the last step; rest where a reset waits to be carried out. Null: it ended. */
  async read(sessions: readonly StreamSession[]): Promise<(RowState | null)[]> {
    const seated = sessions.filter(({ seat, restNext }) => seat.slot !== null && !restNext);
    const states = await this.#scheduler.readStates(seated.map(({ seat }) => seat.slot!));
    const read = new Map(seated.map((session, i) => [session, states[i]!]));
    return sessions.map((session) => {
      if (session.endReason !== null) return null;
      if (session.restNext) return restState(this.#host.plan);
      if (read.has(session)) return read.get(session)!;
      return session.seat.base ?? restState(this.#host.plan);
    });
  }

  /** Replaces a session's state; its step numbers go on from `step`. */
  async write(session: StreamSession, state: RowState, step: number): Promise<void> {
    const { slot } = session.seat;
    if (slot !== null) await this.#scheduler.writeStates([[slot, state]]);
    session.seat.rebase(slot === null || this.#host.canRebuild ? state : null, step);
    this.#due.delete(session);
  }

  /** A frame ran and its outputs were told. */
  ran(session: StreamSession, frame: TakenFrame): void {
    this.touch(session);
    if (!this.#host.canRebuild) return;
    const { seat } = session;
    const { input } = frame;
    const whole = input.buffer.byteLength;
    const isSmallPart = whole > KEPT_WHOLE && whole > 2 * input.byteLength;
    seat.note(isSmallPart ? { ...frame, input: input.slice() } : frame);
    const { checkpointSteps, journalBytesMax } = this.#options.limits;
    if (seat.journalSteps >= checkpointSteps || seat.journalBytes >= journalBytesMax) {
      this.#due.add(session);
    }
  }

  /** Reads the states of some sessions whose journals are long, and begins new ones. */
  async checkpoint(): Promise<void> {
    if (this.#due.size === 0) return;
    const due = [...this.#due].slice(0, CHECKPOINTS_AT_ONCE);
    for (const session of due) this.#due.delete(session);
    const states = await this.read(due);
    due.forEach((session, i) => {
      if (states[i] !== null) session.seat.rebase(states[i]!, session.stepsDone);
    });
  }

  /** After a failed call of the executor: whether its device was lost. */
  async wasLost(error: unknown): Promise<boolean> {
    if (!this.#host.canRebuild) return false;
    if (error instanceof GanglionError && error.code === "device_lost") this.#lose();
    if (!this.#isLost) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = this.#options.clock.after(LOSS_GRACE_MS, resolve);
      await Promise.race([this.#host.executor.lost, promise]);
      timer.cancel();
    }
    return this.#isLost;
  }

  /** Makes another executor, waiting longer each time, and puts every session back where it was. */
  async recover(): Promise<void> {
    const { clock } = this.#options;
    for (const session of this.#seated) {
      session.seat.slot = null;
      this.#toRestore.add(session);
    }
    this.#seated.clear();
    this.#due.clear();
    const was = this.#host.info.numerics;
    if (clock.now() - this.#aliveAtMs > STEADY_MS) this.#failures = 0;
    while (!this.#isStopped) {
      const waitMs = this.#failures === 0 ? 0 : BACKOFF_MS * 2 ** (this.#failures - 1);
      this.#failures++;
      await this.#sleep(Math.min(waitMs, BACKOFF_MAX_MS));
      if (this.#isStopped) return;
      const built = await this.#host.rebuild().then(() => true, () => false);
      if (built) break;
    }
    this.#isLost = false;
    this.#aliveAtMs = clock.now();
    this.#watch();
    const { numerics } = this.#host.info;
    if (numerics !== was) {
      for (const session of this.#members) session.numericsChanged(was, numerics);
    }
    try {
      await this.#options.watchdog.during(this.#seat([...this.#toRestore]));
      await this.#replay([...this.#toRestore]);
    } catch {
      this.#lose(); // whatever it was, another device may do better, later
    }
    if (this.#isLost) return;
    this.#toRestore.clear();
    this.#options.onRoom();
  }

  /** Gives up waiting for a device. */
  stop(): void {
    this.#isStopped = true;
    this.#wakeUp?.();
  }

  get #host(): ModelHost {
    return this.#options.host;
  }

  get #scheduler(): SlotScheduler {
    return this.#options.host.scheduler;
  }

  #watch(): void {
    const { executor } = this.#host;
    this.#watched = executor;
    void executor.lost.then(() => {
      if (this.#watched === executor) this.#lose();
    });
  }

  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#watched = null;
    this.counts.losses++;
    this.#options.onLost();
  }

  #unseat(session: StreamSession): void {
    const { seat } = session;
    if (this.#seated.delete(session)) this.#scheduler.close(seat.slot!);
    seat.slot = null;
  }

  /** The least recently used sessions that have nothing waiting, `count` at most. */
  #idle(count: number): StreamSession[] {
    return [...this.#seated]
      .filter((session) => session.isQuiet)
      .sort((a, b) => a.seat.lastUse - b.seat.lastUse)
      .slice(0, count);
  }

  async #park(sessions: readonly StreamSession[]): Promise<void> {
    const slots = sessions.map(({ seat }) => seat.slot!);
    const states = await this.#scheduler.readStates(slots);
    sessions.forEach((session, i) => {
      // Meanwhile it may have ended, or got frames.
      if (states[i] === null || session.seat.slot !== slots[i] || !session.isQuiet) return;
      session.seat.rebase(states[i]!, session.stepsDone);
      this.#due.delete(session);
      this.#unseat(session);
      this.counts.parked++;
    });
  }

  /** Opens slots, in order, as long as there are any, and writes the states of the host there. */
  async #seat(sessions: readonly StreamSession[]): Promise<void> {
    const coming: StreamSession[] = [];
    const writes: [Session, RowState][] = [];
    for (const session of sessions) {
      if (this.#scheduler.slotsFree === 0) break;
      if (session.endReason !== null || session.seat.slot !== null) continue;
      const slot = session.seat.slot = this.#scheduler.open();
      this.#seated.add(session);
      this.touch(session);
      coming.push(session);
      if (session.seat.base !== null) writes.push([slot, session.seat.base]);
    }
    try {
      await this.#scheduler.writeStates(writes);
    } catch (error) {
      for (const session of coming) this.#unseat(session);
      throw error;
    }
    for (const { seat } of coming) if (!this.#host.canRebuild) seat.base = null;
    this.counts.broughtBack += coming.length;
  }

  /** Runs the journals again, all sessions together; one whose frame fails now is rolled back. */
  async #replay(sessions: readonly StreamSession[]): Promise<void> {
    const cursors = new Map(sessions.map((session) => [session, { at: 0, step: 0, failed: 0 }]));
    const { stepRetries } = this.#options.limits;
    for (;;) {
      const waiting = [...cursors].filter(([{ seat }, { at }]) =>
        seat.slot !== null && at < seat.journal.length
      );
      const alone = waiting.find(([, { failed }]) => failed > 0 && failed >= stepRetries);
      const round = alone === undefined ? waiting : [alone];
      if (round.length === 0) return;
      const frames = round.map(([{ seat }, { at }]): ReadyFrame => {
        const { input, steps, reset } = seat.journal[at]!;
        return { session: seat.slot!, input, steps, fresh: reset, record: [] };
      });
      const rounds = [frames];
      const steps = this.#scheduler.stepWith(() => rounds.pop() ?? null, () => undefined);
      const failure = await this.#options.watchdog
        .during(steps)
        .then(() => null, (error: unknown) => ({ error }));
      if (failure !== null && await this.wasLost(failure.error)) return;
      round.forEach(([session, cursor]) => {
        const { seat } = session;
        if (session.endReason !== null) return;
        if (failure === null) {
          cursor.step += seat.journal[cursor.at]!.steps;
          cursor.at++;
          cursor.failed = 0;
          this.counts.framesReplayed++;
        } else if (++cursor.failed > stepRetries) {
          const { chunk: { seq }, readoutBefore } = seat.journal[cursor.at]!;
          const toStep = seat.baseStep + cursor.step;
          seat.cutJournal(cursor.at);
          session.rollBack(toStep, seq, readoutBefore);
        }
      });
    }
  }

  async #sleep(ms: number): Promise<void> {
    if (ms === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#options.clock.after(ms, resolve);
    this.#wakeUp = resolve;
    await promise;
    this.#wakeUp = null;
    timer.cancel();
  }
}
