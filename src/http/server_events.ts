/**
 * What happens on the server, for a dashboard: sessions that open and end, devices that are lost, the
 * server's phases. A bounded ring; a reader that falls behind is told how much it missed. The id of a
 * session is shown to the key that owns it, and to nobody else.
 */
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import { randomId } from "../base/ids.ts";
import type { Observer, ServiceEvent } from "../scheduler/mod.ts";
import { eventText } from "./sse.ts";

interface HeldEvent {
  readonly event: string;
  readonly data: object;
  readonly session: { readonly id: string; readonly owner: string | null } | null;
}

export interface ServerEventsOptions {
  readonly clock: Clock;
  readonly eventsMax: number;
  readonly readersMax: number;
}

export class ServerEvents {
  readonly #options: ServerEventsOptions;
  /** Numbers of another start of the server mean something else. */
  readonly #start = randomId().slice(0, 8);
  readonly #readers = new Set<ServerEventReader>();
  #held: HeldEvent[] = [];
  #first = 0;

  constructor(options: ServerEventsOptions) {
    this.#options = options;
  }

  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#first + this.#held.length;
  }

  readonly observe: Observer = (event) => {
    const held = this.#heldOf(event);
    if (held === null) return;
    this.#held.push(held);
    if (this.#held.length > this.#options.eventsMax) {
      this.#held.shift();
      this.#first++;
    }
    for (const reader of [...this.#readers]) reader.onReady();
  };

  read(lastId: string | undefined): ServerEventReader {
    const { readersMax } = this.#options;
    if (this.#readers.size >= readersMax) {
      throw new GanglionError(
        "too_many_readers",
        `The server events have ${readersMax} readers, the most they may have`,
        { readers_max: readersMax, retry_after_s: 1 },
      );
    }
    const reader = new ServerEventReader(
      this,
      this.#after(lastId),
      () => this.#readers.delete(reader),
    );
    this.#readers.add(reader);
    return reader;
  }

  /** Ends all streams: the server stops. */
  close(): void {
    for (const reader of [...this.#readers]) {
      reader.close();
      reader.onReady();
    }
  }

  textAt(index: number, owner: string | null): string | null {
    const held = this.#held[index - this.#first];
    if (held === undefined) return null;
    const { event, data, session } = held;
    const named = session === null ? {} : { session: session.owner === owner ? session.id : null };
    return eventText(event, JSON.stringify({ ...data, ...named }), `${this.#start}-${index}`);
  }

  /** The index after an id of ours; the oldest otherwise. */
  #after(lastId: string | undefined): number {
    const match = /^([\w-]{8})-(\d{1,15})$/.exec(lastId ?? "");
    if (match === null || match[1] !== this.#start) return this.#first;
    return Math.min(Number(match[2]) + 1, this.end);
  }

  #heldOf(event: ServiceEvent): HeldEvent | null {
    const { kind } = event;
    if (kind === "step" || kind === "chunk" || kind === "late") return null;
    const at = new Date(this.#options.clock.wallMs()).toISOString();
    switch (kind) {
      case "opened":
      case "ended": {
        const { options, stepsDone } = event.session;
        return {
          event: `session_${kind}`,
          data: {
            at,
            model: options.model,
            ...(kind === "ended" ? { reason: event.reason, steps_done: stepsDone } : {}),
          },
          session: { id: options.id, owner: options.owner },
        };
      }
      case "device_lost":
        return { event: "device_lost", data: { at, model: event.model }, session: null };
      case "stuck":
        return { event: "step_stuck", data: { at, model: event.model }, session: null };
      case "phase":
        return { event: "phase", data: { at, phase: event.phase }, session: null };
    }
  }
}

export class ServerEventReader {
  /** Called when there may be something to pull. */
  onReady: () => void = () => {};
  readonly #events: ServerEvents;
  readonly #onClose: () => void;
  #cursor: number;
  #closed = false;

  constructor(events: ServerEvents, cursor: number, onClose: () => void) {
    this.#events = events;
    this.#cursor = cursor;
    this.#onClose = onClose;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** The next event as text, as one key may see it, or null when there is none yet. */
  pull(owner: string | null): string | null {
    if (this.#closed) return null;
    const missed = this.#events.first - this.#cursor;
    if (missed > 0) {
      this.#cursor = this.#events.first;
      return eventText("missed", JSON.stringify({ events: missed }));
    }
    const text = this.#events.textAt(this.#cursor, owner);
    if (text !== null) this.#cursor++;
    return text;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
  }
}
