/**
 * HTTP/1.1 over a bare socket, as cheap as a client can be: requests are bytes made beforehand, answers
 * are looked at only as far as their length. One request at a time a connection; event streams go to a
 * listener in whole events.
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

const LINE_END = "\r\n";
const HEAD_END = LINE_END + LINE_END;
const NOTHING = Buffer.alloc(0);

/** A request as bytes. `headers` without Host and Content-Length, which are added. */
export function requestBytes(
  method: string,
  url: URL,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body: Uint8Array = NOTHING,
): Buffer {
  const lines = Object.entries({ host: url.host, "content-length": `${body.length}`, ...headers })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`), body]);
}

export class RawConnection {
  readonly #socket: Socket;
  #held: Buffer = NOTHING;
  #waiting: PromiseWithResolvers<Answer> | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("the server closed the connection")));
  }

  static open(url: URL): Promise<RawConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: url.hostname, port: Number(url.port) });
      socket.once("connect", () => resolve(new RawConnection(socket)));
      socket.once("error", reject);
    });
  }

  /** Sends a request and resolves with its answer, which must say its length. */
  ask(request: Buffer): Promise<Answer> {
    this.#waiting = Promise.withResolvers<Answer>();
    this.#socket.write(request);
    return this.#waiting.promise;
  }

  close(): void {
    this.#waiting = null;
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const headEnd = this.#held.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#held.toString("latin1", 0, headEnd);
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    const status = Number(head.slice(9, 12));
    if (length === undefined && status !== 204) {
      return this.#waiting?.reject(new Error(`an answer without a length: ${head}`));
    }
    const begin = headEnd + HEAD_END.length;
    const end = begin + Number(length ?? 0);
    if (this.#held.length < end) return;
    const body = this.#held.subarray(begin, end);
    this.#held = this.#held.subarray(end);
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve({ status, body });
  }
}

/** A body in chunks, as its bytes come; borders may lie anywhere. */
export class ChunkedBody {
  #held: Buffer = NOTHING;
  #left = 0; // bytes of the chunk that have not come, with the line end after it

  /** What of the body is in these bytes and those held back before. */
  take(bytes: Buffer): string {
    let held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    let text = "";
    for (;;) {
      if (this.#left > LINE_END.length) {
        const part = held.subarray(0, this.#left - LINE_END.length);
        text += part.toString("latin1");
        this.#left -= part.length;
        held = held.subarray(part.length);
      }
      if (held.length < Math.max(this.#left, 1)) break;
      held = held.subarray(this.#left);
      this.#left = 0;
      const end = held.indexOf(LINE_END);
      if (end < 0) break;
      this.#left = parseInt(held.toString("latin1", 0, end), 16) + LINE_END.length;
      held = held.subarray(end + LINE_END.length);
    }
    this.#held = held;
    return text;
  }
}

/** An event stream in a chunked body: `onEvents` gets text that ends where an event ends. Returns what ends it. */
export function openStream(
  url: URL,
  path: string,
  onEvents: (text: string) => void,
): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname, port: Number(url.port) });
    const body = new ChunkedBody();
    let head: Buffer | null = NOTHING;
    let text = "";
    let isOpen = false;
    socket.once("error", reject);
    socket.on("data", (bytes: Buffer) => {
      if (head !== null) {
        head = Buffer.concat([head, bytes]);
        const end = head.indexOf(HEAD_END);
        if (end < 0) return;
        const lines = head.toString("latin1", 0, end);
        if (!lines.startsWith("HTTP/1.1 200") || !/transfer-encoding: *chunked/i.test(lines)) {
          return reject(new Error(`no event stream: ${lines}`));
        }
        bytes = head.subarray(end + HEAD_END.length);
        head = null;
      }
      text += body.take(bytes);
      const end = text.lastIndexOf("\n\n");
      if (end < 0) return;
      const events = text.slice(0, end + 2);
      text = text.slice(end + 2);
      if (!isOpen) resolve(() => void socket.destroy());
      isOpen = true;
      onEvents(events);
    });
    socket.write(requestBytes("GET", url, path, { accept: "text/event-stream" }));
  });
}
