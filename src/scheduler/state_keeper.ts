/**
 * Keeps sessions beyond the end of the process. A changed session is written a while later, and sooner
 * when it has run many steps; one write of all that are due at a time. What is written is a moment
 * between two rounds, and `durableSeq` moves only when it is safe.
 */
import type { Clock, Timer } from "../base/clock.ts";
import type { Limits } from "../base/limits.ts";
import { encodeSession, type SessionImage } from "../checkpoint/mod.ts";
import type { StreamSession } from "./stream_session.ts";

/** Where checkpoints are kept, by session id. What `write` has resolved for survives a crash. */
export interface StateStore {
  write(id: string, bytes: Uint8Array): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface StateKeeperOptions {
  readonly store: StateStore;
  readonly clock: Clock;
  readonly limits: Pick<Limits, "checkpointMs" | "checkpointSteps">;
  readonly say: (line: string) => void;
  readonly capture: (
    sessions: readonly StreamSession[],
  ) => Promise<[StreamSession, SessionImage][]>;
}

/** Checkpoints written at the same time. */
const WRITES_AT_ONCE = 4;
/** After a failure the next try is at most so much later. */
const PAUSE_MS_MAX = 60_000;

export class StateKeeper {
  readonly #options: StateKeeperOptions;
  /** Changed since the last checkpoint, with the steps done at it. */
  readonly #changed = new Map<StreamSession, number>();
  readonly #stepsKept = new WeakMap<StreamSession, number>();
  #timer: Timer | null = null;
  #dueAtMs = Infinity;
  #writing: Promise<unknown> | null = null;
  #pauseMs = 0;
  #isStopped = false;

  constructor(options: StateKeeperOptions) {
    this.#options = options;
  }

  /** The session is not any more what its checkpoint says. */
  changed(session: StreamSession): void {
    if (this.#isStopped || session.endReason !== null) return;
    if (!this.#changed.has(session)) {
      this.#changed.set(session, this.#stepsKept.get(session) ?? 0);
    }
    const { checkpointMs, checkpointSteps } = this.#options.limits;
    const steps = Math.abs(session.stepsDone - this.#changed.get(session)!);
    const isUrgent = steps >= checkpointSteps || session.isHeld;
    this.#wakeIn(this.#pauseMs || (isUrgent ? 0 : checkpointMs));
  }

  /** The session is over: its checkpoint goes. */
  ended(session: StreamSession): void {
    this.#changed.delete(session);
    // A write under way would bring it back.
    const after = this.#writing ?? Promise.resolve();
    void after.then(() => this.#options.store.remove(session.id)).catch((error: unknown) => {
      this.#options.say(`the checkpoint of an ended session could not be removed: ${error}`);
    });
  }

  /** Writes these now, and whatever else is due. */
  async keepNow(sessions: readonly StreamSession[]): Promise<void> {
    while (this.#writing !== null) await this.#writing;
    for (const session of sessions) this.changed(session);
    if (!this.#isStopped) await this.#keepChanged();
  }

  /** As the last act: writes all of these; returns those that are safe. */
  async keepAll(sessions: readonly StreamSession[]): Promise<ReadonlySet<StreamSession>> {
    this.stop();
    await this.#writing;
    return await this.#write(sessions);
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  #wakeIn(ms: number): void {
    const { clock } = this.#options;
    const atMs = clock.now() + ms;
    if (this.#writing !== null || atMs >= this.#dueAtMs) return;
    this.#timer?.cancel();
    this.#dueAtMs = atMs;
    this.#timer = clock.after(ms, () => void this.#keepChanged());
  }

  async #keepChanged(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    this.#dueAtMs = Infinity;
    const due = [...this.#changed.keys()];
    this.#changed.clear();
    this.#writing = this.#write(due).then((kept) => {
      const failed = due.filter((session) => !kept.has(session) && session.endReason === null);
      const { checkpointMs } = this.#options.limits;
      this.#pauseMs = failed.length === 0
        ? 0
        : Math.min(PAUSE_MS_MAX, Math.max(checkpointMs, 2 * this.#pauseMs));
      this.#writing = null;
      for (const session of failed) {
        session.kept(null);
        this.changed(session);
      }
      // Those that changed during the write found it busy.
      for (const session of this.#changed.keys()) this.changed(session);
    });
    await this.#writing;
  }

  /** Never rejects: what could not be written is said, and left out of the result. */
  async #write(sessions: readonly StreamSession[]): Promise<ReadonlySet<StreamSession>> {
    const kept = new Set<StreamSession>();
    const { store, say, capture } = this.#options;
    try {
      const images = await capture(sessions);
      const writers = Array.from({ length: WRITES_AT_ONCE }, async () => {
        for (let next = images.pop(); next !== undefined; next = images.pop()) {
          const [session, image] = next;
          if (session.endReason !== null) continue;
          await store.write(session.id, encodeSession(image));
          this.#stepsKept.set(session, image.timeline.stepsDone);
          session.kept(image);
          kept.add(session);
        }
      });
      const failed = (await Promise.allSettled(writers)).find(({ status }) =>
        status === "rejected"
      );
      if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
    } catch (error) {
      say(`checkpoints could not be kept: ${error instanceof Error ? error.message : error}`);
    }
    return kept;
  }
}
