/**
 * The service: models, the sessions on them, and their life times. Above the slots, below HTTP:
 * it knows typed arrays and steps, no JSON, no status, no headers. Time and ids are injected.
 */
import { assert } from "../base/assert.ts";
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { type IdSource, randomId } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import { Admission } from "./admission.ts";
import type { Chunk, ChunkInput } from "./chunk.ts";
import { IdleWatch } from "./idle_watch.ts";
import { KeyCounts } from "./key_counts.ts";
import { LifetimeWatch } from "./lifetime_watch.ts";
import type { ModelHost } from "./model_host.ts";
import type { Observer } from "./observer.ts";
import { StepLoop } from "./step_loop.ts";
import type { EndReason, Notice } from "./session_types.ts";
import { StreamSession } from "./stream_session.ts";
import { Tombstones } from "./tombstones.ts";

/** `starting` and `draining` refuse new sessions and chunks. */
export type Phase = "starting" | "ready" | "draining";

export interface ServiceOptions {
  readonly models: readonly ModelHost[];
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ids?: IdSource;
  readonly phase?: Phase;
  readonly observe?: Observer;
}

export interface OpenOptions {
  /** May be left out when one model is served. */
  readonly model?: string;
  readonly owner?: string | null;
  /** 0 for never. */
  readonly ttlSeconds?: number;
  /** How long to wait for a slot. */
  readonly waitSeconds?: number;
  readonly record?: readonly string[];
  readonly outputs?: "ring" | "hold";
  /** Time between two frames of a real-time stream. */
  readonly framePeriodMs?: number;
  /** Aborted when who asked has left. */
  readonly signal?: AbortSignal;
}

/** What the service keeps for a model beside its host. */
interface Served {
  readonly host: ModelHost;
  readonly loop: StepLoop;
  readonly admission: Admission;
  /** Its device can do no more. */
  isLost: boolean;
}

/** What the service keeps for a session beside itself. */
interface Live {
  readonly session: StreamSession;
  readonly served: Served;
  readonly idle: IdleWatch;
  readonly life: LifetimeWatch;
}

/** What a model has at a moment. */
export interface ModelStats {
  readonly model: string;
  readonly slots: number;
  readonly slotsFree: number;
  /** Requests that wait for a slot. */
  readonly waiting: number;
  readonly sessions: number;
  readonly framesWaiting: number;
  readonly readers: number;
}

export class Service {
  readonly clock: Clock;
  readonly limits: Limits;
  readonly #ids: IdSource;
  readonly #served = new Map<string, Served>();
  readonly #live = new Map<string, Live>();
  readonly #gone: Tombstones;
  readonly #observe: Observer;
  readonly #keySessions: KeyCounts;
  readonly #keyReaders: KeyCounts;
  #phase: Phase;

  constructor(options: ServiceOptions) {
    const { models, clock, limits, ids = randomId, phase = "ready", observe = () => {} } = options;
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
    for (const host of models) {
      assert(!this.#served.has(host.id), `model id "${host.id}" is used once`);
      this.#served.set(host.id, this.#serve(host));
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

  model(id: string): ModelHost {
    return this.#servedModel(id).host;
  }

  /** Starts a session at rest; see `OpenOptions`. */
  async open(options: OpenOptions = {}): Promise<StreamSession> {
    this.#assertPhase();
    const served = this.#servedModel(options.model);
    const { ttlSecondsMax, ttlSeconds, waitSecondsMax } = this.limits;
    checkRange("ttl_s", options.ttlSeconds ?? 0, ttlSecondsMax);
    checkRange("wait_s", options.waitSeconds ?? 0, waitSecondsMax);
    const record = served.host.checkRecord(options.record ?? [], this.limits.recordValuesMax);
    checkRange("frame_period_ms", options.framePeriodMs ?? 0, this.limits.framePeriodMsMax);
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
      // Awaited here: who opens may be sent away before anybody else listens.
      return await served.admission.enter(
        () => {
          if (served.isLost) throw lostError();
          uncount();
          return this.#start(served, {
            ...options,
            ttlSeconds: options.ttlSeconds ?? ttlSeconds,
            record,
          });
        },
        waitMs,
        options.signal,
      );
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
    session.options.slot.close();
    live.served.loop.forget(session);
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

  /** Throws unless every model can take sessions and chunks. */
  assertReady(): void {
    this.#assertPhase();
    for (const { isLost } of this.#served.values()) if (isLost) throw lostError();
  }

  /** Takes no new sessions or chunks, and resolves when all that was taken has run. */
  async drain(): Promise<void> {
    this.#enterPhase("draining");
    for (const { admission } of this.#served.values()) {
      admission.refuseAll(new GanglionError("draining", "The server is stopping"));
    }
    for (const { loop } of this.#served.values()) await loop.idle();
  }

  /** Ends all sessions at once, with what they have waiting. The executors stay open. */
  close(): void {
    this.#enterPhase("draining");
    for (const { admission } of this.#served.values()) {
      admission.refuseAll(new GanglionError("draining", "The server is stopping"));
    }
    for (const { session } of [...this.#live.values()]) this.end(session, "drained");
    this.#gone.clear();
  }

  /** How full each model is. */
  stats(): ModelStats[] {
    const all = [...this.#live.values()];
    return [...this.#served.values()].map((served) => {
      const sessions = all.filter((live) => live.served === served).map(({ session }) => session);
      const { id, scheduler } = served.host;
      return {
        model: id,
        slots: scheduler.slots,
        slotsFree: scheduler.slotsFree,
        waiting: served.admission.waiting,
        sessions: sessions.length,
        framesWaiting: sessions.reduce((sum, { queue }) => sum + queue.framesWaiting, 0),
        readers: sessions.reduce((sum, { readers }) => sum + readers, 0),
      };
    });
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
    if (this.#phase === "ready") return;
    throw new GanglionError(this.#phase, `The server is ${this.#phase}`, { retry_after_s: 1 });
  }

  #serve(host: ModelHost): Served {
    const { clock, limits } = this;
    const { scheduler } = host;
    const served: Served = {
      host,
      loop: new StepLoop({
        scheduler,
        clock,
        retries: limits.stepRetries,
        gatherMs: limits.stepGatherMs,
        onStep: (step) => this.#observe({ kind: "step", model: host.id, step }),
      }),
      admission: new Admission({
        clock,
        waitingMax: limits.waitingSessionsMax,
        slots: scheduler.slots,
        slotsFree: () => scheduler.slotsFree,
      }),
      isLost: false,
    };
    void host.executor.lost.then(() => this.#lose(served));
    return served;
  }

  /** The device can do no more: every session on it ends. */
  #lose(served: Served): void {
    served.isLost = true;
    this.#observe({ kind: "device_lost", model: served.host.id });
    served.admission.refuseAll(lostError());
    for (const live of [...this.#live.values()]) {
      if (live.served === served) this.end(live.session, "device_lost");
    }
  }

  #servedModel(id: string | undefined): Served {
    if (id === undefined) {
      const [only, ...others] = this.#served.values();
      if (only !== undefined && others.length === 0) return only;
      const models = [...this.#served.keys()];
      throw new GanglionError(
        "model_required",
        `Name one of the served models: ${models.join(", ")}`,
        { models },
      );
    }
    const served = this.#served.get(id);
    if (served === undefined) {
      throw new GanglionError("model_unknown", `No model is served under this name`, {
        models: [...this.#served.keys()],
      });
    }
    return served;
  }

  #start(
    served: Served,
    options: OpenOptions & { ttlSeconds: number; record: readonly string[] },
  ): StreamSession {
    const { host, loop } = served;
    this.#keySessions.enter(options.owner ?? null);
    const session = new StreamSession({
      id: this.#ids(),
      model: host.id,
      owner: options.owner ?? null,
      slot: host.scheduler.open(),
      frame: host.scheduler.frame,
      sampleSize: host.plan.sampleSize,
      outputStepBytes: 4 * (host.plan.outputSize + host.recordedValues(options.record)),
      ttlSeconds: options.ttlSeconds,
      record: options.record,
      outputs: options.outputs ?? "ring",
      framePeriodMs: options.framePeriodMs ?? 0,
      createdAtMs: this.clock.wallMs(),
    }, {
      limits: this.limits,
      onFrames: (each) => loop.wake(each),
      onActivity: (each) => this.#touch(each),
      onRan: (each, chunk) => this.#ran(each, chunk),
      onReaderCame: ({ options: { owner } }) => this.#keyReaders.enter(owner),
      onReaderLeft: ({ options: { owner } }) => this.#keyReaders.leave(owner),
      secondsFor: (frames) => Math.min(60, Math.max(1, Math.ceil(frames * loop.roundMs / 1000))),
    });
    const idle = new IdleWatch({
      clock: this.clock,
      ttlMs: options.ttlSeconds * 1000,
      noticeMs: this.limits.noticeSeconds * 1000,
      isQuiet: () => session.isQuiet,
      onNotice: (leftMs) => session.notify(this.#expiring("idle", leftMs)),
      onIdle: () => this.end(session, "idle"),
    });
    const life = new LifetimeWatch({
      clock: this.clock,
      lifeMs: this.limits.lifetimeSeconds * 1000,
      noticeMs: this.limits.noticeSeconds * 1000,
      onNotice: (leftMs) => session.notify(this.#expiring("lifetime", leftMs)),
      onOver: () => this.#outlived(session),
    });
    this.#live.set(session.id, { session, served, idle, life });
    this.#observe({ kind: "opened", session });
    return session;
  }

  #expiring(reason: Notice["reason"], leftMs: number): Notice {
    return { kind: "notice", code: "expiring", reason, atWallMs: this.clock.wallMs(), leftMs };
  }

  #touch(session: StreamSession): void {
    const live = this.#live.get(session.id);
    live?.idle.touch();
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
  }
}

function lostError(): GanglionError {
  return new GanglionError("device_lost", "The device of this model was lost");
}

function checkRange(field: string, value: number, max: number): void {
  if (Number.isFinite(value) && value >= 0 && value <= max) return;
  throw new GanglionError("invalid_body", `${field} must be from 0 to ${max}, got ${value}`, {
    field,
    min: 0,
    max,
  });
}
