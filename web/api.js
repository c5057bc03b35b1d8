// @ts-check
/**
 * The server's API: requests with the key, problems as errors, and event streams that come back by
 * themselves. Streams are read with fetch and not with EventSource, which can send no key; the key so
 * stays in a header and out of every address.
 */
import { createParser } from "./eventsource_parser.js";

const KEY = "ganglion-key";
/** The action of a problem that has no other; beside the detail it says nothing. */
const NO_ACTION = "See the detail";
/** Tries to come back after so long, then twice as long each time. */
const RETRY_MS = 400;
const RETRY_MAX_MS = 3000;

/** A request that the server refused, as its problem document says it. */
export class Refusal extends Error {
  /** @param {{ status: number, code: string, detail: string, action?: string, retry_after_s?: number }} problem */
  constructor({ status, code, detail, action = "", retry_after_s = 0 }) {
    super(detail);
    this.status = status;
    this.code = code;
    this.action = action === NO_ACTION ? "" : timed(action, retry_after_s);
    this.retryAfterSeconds = retry_after_s;
  }
}

/** An action for people: with the time where one is given, and else without. @param {string} action @param {number} seconds */
const timed = (action, seconds) =>
  action.replace("after the time given", seconds > 0 ? `in ${seconds} s` : "later");

/** No answer: the server is away. */
export class Unreachable extends Error {}

/** Called when the server wants a key, or another one. */
let onKeyWanted = () => {};

/** @param {() => void} action */
export function whenKeyIsWanted(action) {
  onKeyWanted = action;
}

/** Kept for this tab only. @param {string} key */
export function setKey(key) {
  sessionStorage.setItem(KEY, key);
}

export const hasKey = () => sessionStorage.getItem(KEY) !== null;

/**
 * @param {string} path
 * @param {RequestInit & { headers?: Record<string, string> }} [init]
 * @returns {Promise<Response>} an answer that is no problem
 */
export async function request(path, init = {}) {
  const key = sessionStorage.getItem(KEY);
  const headers = { ...init.headers, ...(key !== null && { authorization: `Bearer ${key}` }) };
  const answer = await fetch(path, { ...init, headers, cache: "no-store" }).catch(
    (/** @type {unknown} */ error) => {
      if (init.signal?.aborted) throw error;
      throw new Unreachable("The server does not answer");
    },
  );
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => null);
  if (answer.status === 401) onKeyWanted();
  throw new Refusal({
    status: answer.status,
    code: "unknown",
    detail: `The server answered ${answer.status}`,
    ...problem,
  });
}

/** @param {string} path @param {AbortSignal} [signal] */
export async function getJson(path, signal) {
  const answer = await request(path, signal === undefined ? {} : { signal });
  return await answer.json();
}

/**
 * @param {string} path
 * @param {unknown} body
 * @param {Omit<RequestInit, "headers"> & { headers?: Record<string, string> }} [init]
 */
export async function postJson(path, body, init = {}) {
  const headers = { ...init.headers, "content-type": "application/json" };
  const answer = await request(path, {
    ...init,
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return await answer.json();
}

/** @param {string} id */
export const sessionPath = (id) => `/v1/sessions/${encodeURIComponent(id)}`;

/**
 * @typedef {object} StreamHooks
 * @property {(event: string, data: any) => void} onEvent
 * @property {() => void} [onOpen] the server answered
 * @property {(error: unknown) => void} [onLost] the stream broke; another try follows
 * @property {() => void} [onOver] the server ended the stream for good
 * @property {(error: Refusal) => void} [onRefused] no further try: the server does not want to
 * @property {number} [silenceMs] a stream that says nothing for so long is broken
 */

/**
 * An event stream that goes on where it was after every break. `close` ends it. A page that nobody
 * sees holds no stream: browsers have six connections to a server, for all of its tabs together.
 */
export class EventFollower {
  #path;
  #hooks;
  /** @type {string | undefined} */
  #lastId;
  #closed = new AbortController();
  #attempt = new AbortController();
  #retryMs = RETRY_MS;
  #wake = () => {};

  /** @param {string} path @param {StreamHooks} hooks */
  constructor(path, hooks) {
    this.#path = path;
    this.#hooks = hooks;
    const { signal } = this.#closed;
    document.addEventListener("visibilitychange", () => this.#turned(), { signal });
    void this.#run();
  }

  close() {
    this.#closed.abort();
    this.#wake();
  }

  /** Tries at once instead of later. */
  retryNow() {
    this.#wake();
  }

  #turned() {
    if (document.hidden) this.#attempt.abort();
    else this.#wake();
  }

  async #run() {
    while (!this.#closed.signal.aborted) {
      if (document.hidden) {
        await this.#woken();
        continue;
      }
      try {
        if (await this.#read()) return this.#hooks.onOver?.();
        throw new Unreachable("The stream broke");
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        if (document.hidden) continue;
        const isFinal = error instanceof Refusal && error.status < 500 && error.status !== 429;
        if (isFinal) return this.#hooks.onRefused?.(error);
        this.#hooks.onLost?.(error);
      }
      await this.#pause();
    }
  }

  /** Reads until the stream ends. True when it has said all that it will ever say. */
  async #read() {
    const attempt = this.#attempt = new AbortController();
    const signal = AbortSignal.any([this.#closed.signal, attempt.signal]);
    const { silenceMs } = this.#hooks;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let silence;
    const heard = () => {
      clearTimeout(silence);
      if (silenceMs !== undefined) silence = setTimeout(() => attempt.abort(), silenceMs);
    };
    let isOver = false;
    const parser = createParser({
      onEvent: ({ id, event = "message", data }) => {
        if (id !== undefined) this.#lastId = id;
        if (event === "end") isOver = true;
        this.#hooks.onEvent(event, JSON.parse(data));
      },
    });
    try {
      heard();
      const lastId = this.#lastId;
      const answer = await request(this.#path, {
        headers: {
          accept: "text/event-stream",
          ...(lastId !== undefined && { "last-event-id": lastId }),
        },
        signal,
      });
      if (answer.status === 204 || answer.body === null) return true;
      this.#retryMs = RETRY_MS;
      this.#hooks.onOpen?.();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return isOver;
        heard();
        parser.feed(value);
      }
    } finally {
      clearTimeout(silence);
      attempt.abort();
    }
  }

  async #pause() {
    const timer = setTimeout(() => this.#wake(), this.#retryMs);
    this.#retryMs = Math.min(RETRY_MAX_MS, 2 * this.#retryMs);
    await this.#woken();
    clearTimeout(timer);
  }

  /** @returns {Promise<void>} */
  #woken() {
    return new Promise((resolve) => this.#wake = resolve);
  }
}
