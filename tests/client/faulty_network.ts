/**
 * A network and a server that misbehave as a list of faults says, in virtual time: requests and answers
 * that are lost, come twice or late, are refused; streams cut at any byte or silent for ever; and the
 * server killed, after which the next one goes on from its last checkpoints. The server is the real one.
 */
import { decodeSession } from "../../src/checkpoint/mod.ts";
import type { Plan } from "../../src/model/plan.ts";
import type { Limits } from "../../src/base/limits.ts";
import { makeWorld, MemoryStore, SimClock, type World } from "../http/support/world.ts";

export interface Fault {
  readonly kind:
    | "none"
    | "lost request"
    | "lost answer"
    | "twice"
    | "late"
    | "429"
    | "503"
    | "silent"
    | "killed before"
    | "killed after";
  /** Bytes until a stream is cut, ms that something comes late. */
  readonly size: number;
}

const NO_FAULT: Fault = { kind: "none", size: Infinity };
const HARMLESS: readonly Fault["kind"][] = ["lost request", "late", "503"];
const TICK_MS = 40;
const STEP_MS = 30;
const TICKS_MAX = 20_000;

export class FaultyNetwork {
  readonly clock = new SimClock();
  readonly limits: Partial<Limits>;
  readonly #store = new MemoryStore();
  readonly #faults: readonly Fault[];
  #world: World | null;
  #sessions = 0;
  kills = 0;
  /** Chunks that were sent again although the server had taken them: they were lost with it. */
  replays = 0;
  readonly #taken = new Set<string>();
  #requests = -Infinity;
  #cuts = new Set<() => void>();
  /** What happened, for who looks into a failure. */
  readonly log: string[] = [];

  constructor(faults: readonly Fault[], limits: Partial<Limits>) {
    this.#faults = faults;
    this.limits = { checkpointMs: 150, ...limits };
    this.#world = this.#startServer();
  }

  /** The server that runs now. */
  get world(): World {
    return this.#world!;
  }

  get plan(): Plan {
    return this.world.plan;
  }

  /** What is there now survives a kill. */
  async keep(): Promise<void> {
    await this.world.service.keep();
  }

  /** Lets time pass, here and in the server, until the work is done. */
  async until<T>(work: Promise<T>): Promise<T> {
    let isDone = false;
    const ended = work.finally(() => isDone = true);
    ended.catch(() => {});
    for (let tick = 0; !isDone; tick++) {
      if (tick === TICKS_MAX) {
        throw new Error(`not done after ${tick} ticks:\n${this.log.join("\n")}`);
      }
      await this.clock.advance(TICK_MS);
      await this.#world?.clock.advance(TICK_MS);
    }
    return await ended;
  }

  /** From the next request on, faults happen. */
  start(): void {
    this.#requests = 0;
  }

  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const number = this.#requests++;
    const isOpening = init.method === "POST" && url.endsWith("/sessions");
    const drawn = this.#faults[number] ?? NO_FAULT;
    // A session that nobody knows of would hold a slot, of which there are few.
    const fault = isOpening && !HARMLESS.includes(drawn.kind) ? NO_FAULT : drawn;
    const what = `${number} ${init.method ?? "GET"} ${url} ${JSON.stringify(init.headers)}`;
    this.log.push(`${what}: ${fault.kind} ${fault.size}`);
    const answer = await this.#raced(init.signal ?? null, this.#answer(url, init, fault));
    this.log.push(`${number} → ${answer.status}`);
    const seq = new Headers(init.headers).get("chunk-seq");
    if (seq !== null && answer.ok) {
      if (this.#taken.has(seq)) this.replays++;
      this.#taken.add(seq);
    }
    return answer;
  };

  async #answer(url: string, init: RequestInit, { kind, size }: Fault): Promise<Response> {
    const { pathname, search } = new URL(url);
    const send = async () => {
      const world = this.#world;
      if (world === null) throw new TypeError("connection refused");
      const answer = await world.send(pathname + search, { ...init, signal: null });
      if (world !== this.#world) throw new TypeError("connection reset");
      return answer;
    };
    switch (kind) {
      case "lost request":
        throw new TypeError("connection refused");
      case "lost answer":
        await (await send()).body?.cancel();
        throw new TypeError("connection reset");
      case "twice": {
        const [first, second] = await Promise.all([send(), send()]);
        await first.body?.cancel();
        return this.#cutting(second, Infinity, init.signal ?? null);
      }
      case "late":
        await new Promise<void>((resolve) => void this.clock.after(size, resolve));
        return this.#cutting(await send(), Infinity, init.signal ?? null);
      case "429":
        return refusal(429, "too_many_readers");
      case "503":
        return refusal(503, "starting");
      case "killed before":
        await this.kill();
        throw new TypeError("connection refused");
      case "killed after": {
        const answer = await send();
        await this.kill();
        await answer.body?.cancel();
        throw new TypeError("connection reset");
      }
      case "silent":
        await (await send()).body?.cancel();
        return await new Promise<never>(() => {});
      case "none":
        return this.#cutting(await send(), size, init.signal ?? null);
    }
  }

  /** Another server, with an empty disk. */
  forget(): void {
    this.#store.files.clear();
    this.#world = this.#startServer();
  }

  /** What the disk holds goes on in another process; until it listens there is nobody to connect to. */
  async kill(): Promise<void> {
    if (this.#world === null) return;
    this.#world = null;
    for (const cut of this.#cuts) cut();
    this.#cuts.clear();
    const next = this.#startServer();
    for (const bytes of [...this.#store.files.values()]) {
      next.service.resume(decodeSession(bytes));
    }
    await next.service.keep();
    this.#world = next;
    this.kills++;
    this.log.push("killed");
  }

  #startServer(): World {
    const ids = () => `session${this.#sessions++}`; // no two processes give the same
    const world = makeWorld({ store: this.#store, limits: this.limits, ids });
    // A step takes its time, so that a kill finds chunks that wait, run, and are done.
    Object.defineProperty(world.executor, "gate", {
      get: () => new Promise<void>((resolve) => void world.clock.after(STEP_MS, resolve)),
    });
    return world;
  }

  /** An event stream that ends after so many bytes, or with the server; in pieces of odd lengths. */
  #cutting(answer: Response, bytesMax: number, signal: AbortSignal | null): Response {
    if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
    const reader = answer.body!.getReader();
    let left = bytesMax;
    let cut = () => {};
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start: (controller) => {
        cut = () => {
          cut = () => {};
          controller.error(new TypeError("connection reset"));
          void reader.cancel().catch(() => {});
        };
        const own = () => cut();
        this.#cuts.add(own);
        signal?.addEventListener("abort", own);
      },
      pull: async (controller) => {
        const { value, done } = await reader.read();
        if (done) return controller.close();
        for (let at = 0; at < value.length && left > 0; at += 61) {
          const piece = value.slice(at, Math.min(at + 61, at + left)) as Uint8Array<ArrayBuffer>;
          left -= piece.length;
          controller.enqueue(piece);
        }
        if (left <= 0) cut();
      },
      cancel: () => reader.cancel(),
    });
    return new Response(body, answer);
  }

  #raced<T>(signal: AbortSignal | null, work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      if (signal?.aborted) reject(signal.reason as Error);
      work.then(resolve, reject);
    });
  }
}

function refusal(status: number, code: string): Response {
  return new Response(JSON.stringify({ code, detail: "Not now", action: "Later" }), {
    status,
    headers: { "content-type": "application/problem+json", "retry-after": "1" },
  });
}
