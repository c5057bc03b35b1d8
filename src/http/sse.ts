/**
 * One event stream and its only writer. Nothing is enqueued after the client left or the stream was
 * closed, whoever still calls; nothing is enqueued without looking at the room that is left. An
 * opening comment and heartbeats keep runtimes and proxies from cutting a silent stream.
 */
import type { Clock, Timer } from "../base/clock.ts";
import type { Answer } from "./answer.ts";

export const EVENT_STREAM_TYPE = "text/event-stream";

const HEADERS = {
  "content-type": EVENT_STREAM_TYPE,
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Runtimes cut a stream that is silent for 10 s. */
export const HEARTBEAT_MS = 8_000;

/** Bytes queued in the stream itself before the client reads them. */
const ROOM_BYTES = 64 << 10;

export interface EventStreamHooks {
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** There is room again, first right after the opening comment. */
  readonly onRoom: () => void;
  /** Ends the connection even though something is still to be sent on it; where the runtime can. */
  readonly cut?: () => void;
  /** Called once, however the stream ends. */
  readonly onClose: () => void;
}

export interface EventStreamOptions extends EventStreamHooks {
  readonly clock: Clock;
  /** A client that takes nothing for so long is cut, also after the last event. */
  readonly stallMs: number;
}

const encoder = new TextEncoder();

export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #options: EventStreamOptions;
  readonly #onAbort = () => this.#leave();
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  #heartbeat: Timer | null = null;
  #stall: Timer | null = null;
  #closed = false; // takes nothing more; the queue may still hold something

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#controller = controller;
        this.write(": ganglion\n\n");
      },
      pull: () => {
        this.#forgetStall();
        if (this.#closed) this.#finish();
        else options.onRoom();
      },
      cancel: () => {
        this.#forgetStall();
        this.#end();
      },
    }, { highWaterMark: ROOM_BYTES, size: (bytes) => bytes!.byteLength });
    options.signal.addEventListener("abort", this.#onAbort);
    if (options.signal.aborted) this.#leave();
    else this.#beat();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Bytes that may be written without queueing more than the stream's share; one event may exceed it. */
  get room(): number {
    return this.#closed ? 0 : Math.max(0, this.#controller.desiredSize ?? 0);
  }

  get hasRoom(): boolean {
    return this.room > 0;
  }

  write(text: string): void {
    if (this.#closed) return;
    try {
      this.#controller.enqueue(encoder.encode(text));
      if (!this.#closed && !this.hasRoom) this.#watchStall();
    } catch {
      this.#end(); // the client left and nobody told us
    }
  }

  /** Ends the response after what was written. */
  close(): void {
    if (this.#closed) return;
    this.#end();
    this.#finish();
  }

  /** Closes the controller when its queue is empty, so that a client which takes nothing is noticed. */
  #finish(): void {
    try {
      if (this.#controller.desiredSize === ROOM_BYTES) this.#controller.close();
      else this.#watchStall();
    } catch {
      // the client left first
    }
  }

  /** The client has left: what is queued is for nobody. */
  #leave(): void {
    this.#forgetStall();
    this.#end();
    try {
      this.#controller.close();
    } catch {
      // it was closed already
    }
  }

  /** Cuts the connection when nothing leaves the queue for `stallMs`. */
  #watchStall(): void {
    if (this.#stall !== null) return;
    const { clock, stallMs } = this.#options;
    const before = this.#controller.desiredSize;
    this.#stall = clock.after(stallMs, () => {
      this.#stall = null;
      const now = this.#controller.desiredSize;
      if (now === null) return;
      if (now > before!) return this.#watchStall();
      this.#end();
      // A plain sentence: Deno prints it, and would print a stack.
      this.#controller.error(`ganglion: a reader took nothing for ${stallMs / 1000} s and was cut`);
      this.#options.cut?.();
    });
  }

  #forgetStall(): void {
    this.#stall?.cancel();
    this.#stall = null;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#heartbeat?.cancel();
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#options.onClose();
  }

  #beat(): void {
    this.#heartbeat = this.#options.clock.after(HEARTBEAT_MS, () => {
      if (this.hasRoom) this.write(": \n\n");
      if (!this.#closed) this.#beat();
    });
  }
}

/** Makes the streams of a server and counts those that are open. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #stallMs: number;
  #open = 0;

  constructor(clock: Clock, stallMs: number) {
    this.#clock = clock;
    this.#stallMs = stallMs;
  }

  get open(): number {
    return this.#open;
  }

  start({ onClose, ...hooks }: EventStreamHooks): EventStream {
    this.#open++;
    return new EventStream({
      clock: this.#clock,
      stallMs: this.#stallMs,
      ...hooks,
      onClose: () => {
        this.#open--;
        onClose();
      },
    });
  }
}

/** The answer that a stream is; null for HEAD, whose body nobody would read. */
export function streamAnswer(stream: EventStream | null): Answer {
  return { status: 200, headers: HEADERS, body: stream?.body ?? null };
}

/** One event as text. `data` is a single line. */
export function eventText(event: string, data: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}
