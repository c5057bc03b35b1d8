/**
 * One event stream and its only writer. Nothing is enqueued after the client left or the stream was
 * closed, whoever still calls; nothing is enqueued without looking at the room that is left. An
 * opening comment and heartbeats keep runtimes and proxies from cutting a silent stream.
 */
import type { Clock, Timer } from "../base/clock.ts";

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Runtimes cut a stream that is silent for 10 s. */
export const HEARTBEAT_MS = 8_000;

/** Bytes queued in the stream itself before the client reads them. */
const ROOM_BYTES = 64 << 10;

export interface EventStreamOptions {
  readonly clock: Clock;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** There is room again, first right after the opening comment. */
  readonly onRoom: () => void;
  /** Called once, however the stream ends. */
  readonly onClose: () => void;
}

const encoder = new TextEncoder();

export class EventStream {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly #options: EventStreamOptions;
  readonly #onAbort = () => this.close();
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;
  #heartbeat: Timer | null = null;
  #closed = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
    this.body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        this.#controller = controller;
        this.write(": ganglion\n\n");
      },
      pull: () => {
        if (!this.#closed) options.onRoom();
      },
      cancel: () => this.#end(),
    }, { highWaterMark: ROOM_BYTES, size: (bytes) => bytes!.byteLength });
    options.signal.addEventListener("abort", this.#onAbort);
    if (options.signal.aborted) this.close();
    else this.#beat();
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether an event may be written without queueing more than the stream's share. */
  get hasRoom(): boolean {
    return !this.#closed && (this.#controller.desiredSize ?? 0) > 0;
  }

  write(text: string): void {
    if (this.#closed) return;
    try {
      this.#controller.enqueue(encoder.encode(text));
    } catch {
      this.#end(); // the client left and nobody told us
    }
  }

  /** Ends the response after what was written. */
  close(): void {
    if (this.#closed) return;
    this.#end();
    try {
      this.#controller.close();
    } catch {
      // the client left first
    }
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

/** One event as text. `data` is a single line. */
export function eventText(event: string, data: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${data}\n\n`;
}
