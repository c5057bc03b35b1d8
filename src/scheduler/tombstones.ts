/**
 * Sessions that have ended, remembered for a while so that their clients learn why and can read the
 * rest of their outputs. Bounded in time, in number, and in bytes of outputs.
 */
import type { Clock, Timer } from "../base/clock.ts";
import type { StreamSession } from "./stream_session.ts";

export interface TombstoneOptions {
  readonly clock: Clock;
  readonly seconds: number;
  readonly countMax: number;
  readonly bytesMax: number;
}

interface Tombstone {
  readonly session: StreamSession;
  readonly untilMs: number;
}

export class Tombstones {
  readonly #options: TombstoneOptions;
  readonly #stones = new Map<string, Tombstone>(); // in the order in which they end
  #withOutputs: Tombstone[] = []; // the same, until their outputs are dropped
  #bytes = 0;
  #timer: Timer | null = null;

  constructor(options: TombstoneOptions) {
    this.#options = options;
  }

  get(id: string): StreamSession | undefined {
    return this.#stones.get(id)?.session;
  }

  add(session: StreamSession): void {
    const { clock, seconds, countMax, bytesMax } = this.#options;
    const stone = { session, untilMs: clock.now() + seconds * 1000 };
    this.#stones.set(session.id, stone);
    this.#withOutputs.push(stone);
    this.#bytes += session.outbox.bytes;
    while (this.#bytes > bytesMax) this.#dropOutputs();
    if (this.#stones.size > countMax) this.#forgetOldest();
    this.#arm();
  }

  /** Forgets all. */
  clear(): void {
    this.#timer?.cancel();
    this.#timer = null;
    while (this.#stones.size > 0) this.#forgetOldest();
  }

  #dropOutputs(): void {
    const { session } = this.#withOutputs.shift()!;
    this.#bytes -= session.outbox.bytes;
    session.outbox.clear();
  }

  #forgetOldest(): void {
    const [id, stone] = this.#stones.entries().next().value!;
    this.#stones.delete(id);
    if (this.#withOutputs[0] === stone) this.#dropOutputs();
    stone.session.closeReaders();
  }

  #arm(): void {
    if (this.#timer !== null) return;
    const oldest = this.#stones.values().next().value;
    if (oldest === undefined) return;
    const { clock } = this.#options;
    this.#timer = clock.after(Math.max(0, oldest.untilMs - clock.now()), () => {
      this.#timer = null;
      for (const { untilMs } of this.#stones.values()) {
        if (untilMs > clock.now()) break;
        this.#forgetOldest();
      }
      this.#arm();
    });
  }
}
