/**
 * The service: models, the sessions on them, and their life times. Above the slots, below HTTP:
 * it knows typed arrays and steps, no JSON, no status, no headers. Time and ids are injected.
 */
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { type IdSource, randomId } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import type { SessionImage, Snapshot } from "../checkpoint/mod.ts";
import type { Chunk, ChunkInput } from "./chunk.ts";
import { IdleWatch } from "./idle_watch.ts";
import { KeyCounts } from "./key_counts.ts";
import { LifetimeWatch } from "./lifetime_watch.ts";
import type { ModelHost } from "./model_host.ts";
import { type ModelStats, statsOf } from "./model_stats.ts";
import type { Observer } from "./observer.ts";
import { Seat } from "./seat.ts";
import { modelNamed, type ServedModel, serveModel } from "./served_model.ts";
import {
  checkRange,
  expiring,
  lostError,
  type OpenOptions,
  type OwnOptions,
  type Phase,
  phaseError,
  type ServiceOptions,
  stuckError,
} from "./service_types.ts";
import {
  captureSessions,
  checkImage,
  forkSession,
  readSnapshot,
  restoreSnapshot,
  takeSlot,
} from "./session_states.ts";
import { StateKeeper } from "./state_keeper.ts";
import type { EndReason, SessionOptions } from "./session_types.ts";
import { type Origin, StreamSession } from "./stream_session.ts";
import { Tombstones } from "./tombstones.ts";

/** What the service keeps for a session beside itself. */
interface Live {
  readonly session: StreamSession;
  readonly served: ServedModel;
  readonly idle: IdleWatch;
  readonly life: LifetimeWatch;
}

export class Service {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly #ids: IdSource;
  readonly #served = new Map<string, ServedModel>();
  readonly #live = new Map<string, Live>();
  readonly #gone: Tombstones;
  readonly #keeper: StateKeeper | null;
  readonly #observe: Observer;
  readonly #keySessions: KeyCounts;
  readonly #keyReaders: KeyCounts;
  #phase: Phase;
  #isSuspended = false; // sessions that are not here may come back with the next process

  constructor(options: ServiceOptions) {
    const { models, clock, limits, ids = randomId, phase = "ready", observe = () => {} } = options;
    const { store, say = () => {} } = options;
    this.#observe = observe;
    this.#keySessions = new KeyCounts({
      max: limits.sessionsPerKeyMax,
      code: "too_many_sessions",
      what: "sessions open or waiting",
    });
    this.#keyReaders = new KeyCounts({
      max: limits.readersPerKeyMax,
      code: "too_many_readers",
      what: "readers",
    });
    this.clock = clock;
    this.limits = limits;
    this.#ids = ids;
    this.#phase = phase;
    this.#gone = new Tombstones({
      clock,
      seconds: limits.goneSeconds,
      countMax: limits.goneMax,
      bytesMax: limits.goneBytesMax,
    });
    this.#keeper = store === undefined ? null : new StateKeeper({
      store,
      clock,
      limits,
      say,
      capture: (sessions) => this.#capture(sessions),
    });
    for (const host of models) {
      assert(!this.#served.has(host.id), `model id "${host.id}" is used once`);
      const onLostForGood = (served: ServedModel) => this.#lose(served);
      const parts = { clock, limits, observe, say, onLostForGood };
      this.#served.set(host.id, serveModel(host, parts));
    }
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** The models agree with their golden frames: sessions may come. */
  ready(): void {
    if (this.#phase === "starting") this.#enterPhase("ready");
  }

  get models(): ModelHost[] {
    return [...this.#served.values()].map(({ host }) => host);
  }

  /** A model by its id, which may be left out when one is served. */
  model(id?: string): ModelHost {
    return modelNamed(this.#served, id).host;
  }

  /** Starts a session, at rest unless it brings a state; see `OpenOptions`. */
  async open(options: OpenOptions = {}): Promise<StreamSession> {
    this.#assertPhase();
    const served = modelNamed(this.#served, options.model);
    const { ttlSecondsMax, ttlSeconds, waitSecondsMax } = this.limits;
    checkRange("ttl_s", options.ttlSeconds ?? 0, ttlSecondsMax);
    checkRange("wait_s", options.waitSeconds ?? 0, waitSecondsMax);
    const record = served.host.checkRecord(options.record ?? [], this.limits.recordValuesMax);
    const predictor = options.readout ? served.host.makePredictor() : null;
    checkRange("frame_period_ms", options.framePeriodMs ?? 0, this.limits.framePeriodMsMax);
    if (served.residency.isLost) throw lostError();
    const waitMs = (options.waitSeconds ?? 0) * 1000;
    const owner = options.owner ?? null;
    // Who waits counts as who has one; a session counts from its start to its end.
    this.#keySessions.enter(owner);
    let isCounted = true;
    const uncount = () => {
      if (isCounted) this.#keySessions.leave(owner);
      isCounted = false;
    };
    try {
      const { snapshot } = options;
      // Awaited here: who opens may be sent away before anybody else listens.
      const session = await served.admission.enter(
        () => {
          if (served.residency.isLost) throw lostError();
          uncount();
          this.#keySessions.enter(owner);
          const session = this.#start(served, {
            id: this.#ids(),
            owner,
            ttlSeconds: options.ttlSeconds ?? ttlSeconds,
            record,
            outputs: options.outputs ?? "ring",
            framePeriodMs: options.framePeriodMs ?? 0,
            predictor,
            createdAtMs: this.clock.wallMs(),
          }, { seat: new Seat(snapshot?.state, snapshot?.step) });
          if (snapshot !== undefined) served.residency.expect(session);
          return session;
        },
        waitMs,
        options.signal,
      );
      if (snapshot !== undefined) await takeSlot(served, session);
      return session;
    } finally {
      uncount();
    }
  }

  /** An open session. Throws `session_gone` or `session_unknown`; another owner's is unknown. */
  session(id: string, owner: string | null = null): StreamSession {
    const session = this.anySession(id, owner);
    session.assertOpen();
    return session;
  }

  /** An open session, or one that ended lately. */
  anySession(id: string, owner: string | null = null): StreamSession {
    const session = this.#live.get(id)?.session ?? this.#gone.get(id);
    if (session === undefined && this.#isSuspended) throw phaseError(this.#phase);
    if (session === undefined || session.options.owner !== owner) {
      throw new GanglionError("session_unknown", "There is no session with this id");
    }
    return session;
  }

  /** Open sessions of an owner, oldest first. */
  sessions(owner: string | null = null): StreamSession[] {
    return [...this.#live.values()].map(({ session }) => session)
      .filter((session) => session.options.owner === owner);
  }

  /** Wall clock of the last chunk posted or finished, or other change. */
  lastActivityMs(session: StreamSession): number {
    return this.#live.get(session.id)?.idle.activeAtWallMs ?? session.options.createdAtMs;
  }

  /** Ends a session: drops its waiting frames and frees its slot. */
  end(session: StreamSession, reason: EndReason): void {
    const live = this.#live.get(session.id);
    if (live?.session !== session) return;
    this.#live.delete(session.id);
    live.idle.stop();
    live.life.stop();
    this.#keySessions.leave(session.options.owner);
    session.end(reason);
    live.served.residency.leave(session);
    live.served.loop.forget(session);
    // A checkpoint that could not be written at the end leaves an older one behind.
    if (reason !== "drained") this.#keeper?.ended(session);
    this.#gone.add(session);
    this.#observe({ kind: "ended", session, reason });
    live.served.admission.admit();
  }

  /** Takes a chunk for a session; see `StreamSession.submit`. */
  submit(session: StreamSession, input: ChunkInput): { chunk: Chunk; isRepeat: boolean } {
    this.#assertPhase();
    const taken = session.submit(input);
    if (!taken.isRepeat) taken.chunk.takenAtMs = this.clock.now();
    return taken;
  }

  /** The session's state after the last frame that ran. */
  snapshot(session: StreamSession): Promise<Snapshot> {
    return readSnapshot(this.#servedFor(session), session);
  }

  /** Replaces the session's state. Its queue must be empty. */
  restore(session: StreamSession, snapshot: Snapshot): Promise<void> {
    return restoreSnapshot(this.#servedFor(session), session, snapshot);
  }

  /** A new session of the same owner that goes on from this one's state, on its own. */
  fork(session: StreamSession): Promise<StreamSession> {
    this.#assertPhase();
    const served = this.#servedFor(session);
    return forkSession(served, session, (seat) => {
      this.#keySessions.enter(session.options.owner);
      const { predictor: parents } = session.options;
      const predictor = parents && served.host.makePredictor(parents.save());
      const own = { id: this.#ids(), createdAtMs: this.clock.wallMs(), predictor };
      return this.#start(served, { ...session.options, ...own }, { seat });
    });
  }

  /** Takes the session's state off the device; its next chunk brings it back. */
  park(session: StreamSession): Promise<void> {
    const { loop, residency } = this.#servedFor(session);
    session.assertQuiet();
    return loop.between(() => residency.park(session));
  }

  /**
   * Goes on with a session of a process that has ended, from its checkpoint. Throws when its model is
   * not served or has changed.
   */
  resume(image: SessionImage): StreamSession {
    const served = modelNamed(this.#served, image.model);
    assert(!this.#live.has(image.id), "a session is resumed once");
    checkImage(served.host, image, this.limits);
    const seat = new Seat(image.state, image.timeline.stepsDone);
    const predictor = image.readout && served.host.makePredictor(image.readout);
    this.#keySessions.enter(image.owner);
    const session = this.#start(served, { ...image, predictor }, { seat, image });
    if (session.hasFrame) served.loop.wake(session);
    return session;
  }

  /** Throws `step_stuck` while a step has been running for too long: only a new process may help. */
  assertLive(): void {
    for (const { watchdog } of this.#served.values()) if (watchdog.isStuck) throw stuckError();
  }

  /** Throws unless every model can take sessions and chunks. */
  assertReady(): void {
    this.#assertPhase();
    this.assertLive();
    for (const { residency } of this.#served.values()) if (residency.isLost) throw lostError();
  }

  /** Takes no new sessions or chunks, and resolves when all that was taken has run. */
  async drain(): Promise<void> {
    this.#enterPhase("draining");
    const stopping = new GanglionError("draining", "The server is stopping");
    for (const { admission } of this.#served.values()) admission.refuseAll(stopping);
    for (const { loop } of this.#served.values()) await loop.idle();
  }

  /** Writes checkpoints now, where there is a store. */
  async keep(sessions: readonly StreamSession[] = this.allSessions()): Promise<void> {
    await this.#keeper?.keepNow(sessions);
  }

  /**
   * Keeps every session for the next process: no round begins any more, and all are on disk when this
   * resolves. False when there is no store, or one could not be kept.
   */
  async suspend(): Promise<boolean> {
    if (this.#keeper === null) return false;
    this.#enterPhase("draining");
    for (const { loop } of this.#served.values()) loop.pause();
    const sessions = [...this.#live.values()].map(({ session }) => session);
    const kept = await this.#keeper.keepAll(sessions);
    this.#isSuspended = true;
    for (const { session, idle, life, served } of [...this.#live.values()]) {
      if (!kept.has(session)) continue;
      this.#live.delete(session.id);
      idle.stop();
      life.stop();
      served.loop.forget(session);
      served.residency.leave(session);
      session.suspend();
    }
    return this.#live.size === 0;
  }

  /** Ends all sessions at once, with what they have waiting. The executors stay open. */
  close(): void {
    this.#enterPhase("draining");
    this.#keeper?.stop();
    for (const { admission, residency, watchdog } of this.#served.values()) {
      admission.refuseAll(new GanglionError("draining", "The server is stopping"));
      residency.stop();
      watchdog.stop();
    }
    for (const { session } of [...this.#live.values()]) this.end(session, "drained");
    this.#gone.clear();
  }

  /** How full each model is. */
  stats(): ModelStats[] {
    const all = [...this.#live.values()];
    return [...this.#served.values()].map((served) =>
      statsOf(served, all.filter((live) => live.served === served).map(({ session }) => session))
    );
  }

  /** All open sessions, whoever owns them, oldest first. */
  allSessions(): StreamSession[] {
    return [...this.#live.values()].map(({ session }) => session);
  }

  #enterPhase(phase: Phase): void {
    if (this.#phase === phase) return;
    this.#phase = phase;
    this.#observe({ kind: "phase", phase });
  }

  #assertPhase(): void {
    if (this.#phase !== "ready") throw phaseError(this.#phase);
  }

  /** The device can do no more, and there is no other: every session on it ends. */
  #lose(served: ServedModel): void {
    served.admission.refuseAll(lostError());
    for (const live of [...this.#live.values()]) {
      if (live.served === served) this.end(live.session, "device_lost");
    }
  }

  async #capture(sessions: readonly StreamSession[]): Promise<[StreamSession, SessionImage][]> {
    const images: [StreamSession, SessionImage][] = [];
    for (const served of this.#served.values()) {
      const own = sessions.filter((session) => this.#live.get(session.id)?.served === served);
      if (own.length > 0) images.push(...await captureSessions(served, own));
    }
    return images;
  }

  #servedFor(session: StreamSession): ServedModel {
    const live = this.#live.get(session.id);
    if (live?.session !== session) throw session.goneError();
    return live.served;
  }

  #start(
    served: ServedModel,
    options: Pick<SessionOptions, OwnOptions>,
    origin: Origin,
  ): StreamSession {
    const { host, loop, residency } = served;
    const session = new StreamSession(
      {
        ...options,
        model: host.id,
        frame: host.scheduler.frame,
        sampleSize: host.plan.sampleSize,
        outputStepBytes: 4 * (host.plan.outputSize + host.recordedValues(options.record)),
      },
      {
        limits: this.limits,
        isKept: this.#keeper !== null,
        onFrames: (each) => loop.wake(each),
        onActivity: (each) => this.#touch(each),
        onRan: (each, chunk) => this.#ran(each, chunk),
        onReaderCame: ({ options: { owner } }) => this.#keyReaders.enter(owner),
        onReaderLeft: ({ options: { owner } }) => this.#keyReaders.leave(owner),
        secondsFor: (frames) => Math.min(60, Math.max(1, Math.ceil(frames * loop.roundMs / 1000))),
      },
      origin,
    );
    residency.join(session);
    const idle = new IdleWatch({
      clock: this.clock,
      ttlMs: options.ttlSeconds * 1000,
      noticeMs: this.limits.noticeSeconds * 1000,
      isQuiet: () => session.isQuiet,
      onNotice: (leftMs) => session.notify(expiring(this.clock, "idle", leftMs)),
      onIdle: () => this.end(session, "idle"),
    });
    const life = new LifetimeWatch({
      clock: this.clock,
      lifeMs: this.limits.lifetimeSeconds * 1000,
      noticeMs: this.limits.noticeSeconds * 1000,
      onNotice: (leftMs) => session.notify(expiring(this.clock, "lifetime", leftMs)),
      onOver: () => this.#outlived(session),
    });
    this.#live.set(session.id, { session, served, idle, life });
    this.#keeper?.changed(session);
    this.#observe({ kind: "opened", session });
    return session;
  }

  #touch(session: StreamSession): void {
    const live = this.#live.get(session.id);
    live?.idle.touch();
    live?.served.residency.touch(session);
    this.#keeper?.changed(session);
    session.withdraw("idle");
    if (live?.life.isOver && session.isQuiet) this.end(session, "lifetime");
  }

  /** Nothing that was taken is dropped: the session ends when it has run. */
  #outlived(session: StreamSession): void {
    if (session.isQuiet) return this.end(session, "lifetime");
    session.stopTaking("lifetime");
  }

  /** A frame ran: how late is it, and is its chunk done? */
  #ran(session: StreamSession, chunk: Chunk): void {
    const ms = this.clock.now() - chunk.takenAtMs;
    const { frame, framePeriodMs } = session.options;
    if (framePeriodMs > 0 && ms > Math.ceil(chunk.stepsRun / frame) * framePeriodMs) {
      session.framesLate++;
      this.#observe({ kind: "late", session });
    }
    if (chunk.finished && !Number.isNaN(ms)) this.#observe({ kind: "chunk", session, ms });
    this.#keeper?.changed(session);
  }
}
