// @ts-check
/**
 * A session of one's own that is fed at an even pace, until it is paused. It bears what a client must
 * bear: a full queue, a server that is away, and a session that is gone, in whose place it opens another.
 */
import { getJson, postJson, Refusal, request, sessionPath, Unreachable } from "./api.js";

/** @import { Session } from "./types.d.ts" */
/**
 * @typedef {object} Input
 * @property {number} steps
 * @property {Float32Array} values [steps][inputs]
 * @property {[t: number, i: number][]} [events] the same, where all of it is spikes
 */
/**
 * @typedef {object} PlayerHooks
 * @property {() => Record<string, unknown>} options of a session that is opened
 * @property {(steps: number) => Promise<Input | null>} draw the next steps of input; null: it is over
 * @property {() => boolean} takeReset whether the state goes to rest before the next steps
 * @property {(session: Session) => Promise<void>} onSession
 * @property {(start: number, input: Input, reset: boolean) => void} onSent
 * @property {(text: string, isTrouble?: boolean) => void} say
 * @property {(text: string) => void} unsay takes that back, if it still stands
 * @property {() => void} onChange whether it runs, or has a session
 */

const CHUNKS_A_SECOND = 10;
const RETRY_MS = 500;
/** So long something stays that has passed. */
const NEWS_MS = 6000;
/** A tab that is closed without a word leaves its slot so soon. */
const TTL_SECONDS = 60;
/** These pass by themselves. */
const PASSING = ["starting", "device_lost", "draining", "outputs_unread"];
/** The server counts chunks otherwise than we. */
const NUMBERS = ["chunk_differs", "chunk_gap", "chunk_too_old", "rolled_back"];

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Player {
  /** @type {Session | null} */
  session = null;
  isRunning = false;
  stepsASecond = 100;
  /** A run that was paused may still wait for an answer when the next one has begun. */
  #run = 0;
  #lastRun = Promise.resolve();
  /** What the server has not taken yet, so that a full queue leaves no gap. @type {{ input: Input, reset: boolean } | null} */
  #unsent = null;
  #generation = 0;
  /** Number of the next chunk: one that is sent again, because its answer was lost, plays once. */
  #seq = 0;
  #hooks;

  /** @param {PlayerHooks} hooks */
  constructor(hooks) {
    this.#hooks = hooks;
    addEventListener("pagehide", () => void this.#close({ keepalive: true }));
  }

  /** Feeds the session until `pause`; opens one first where there is none. */
  async start() {
    if (this.isRunning) return;
    this.isRunning = true;
    this.#hooks.say("");
    this.#hooks.onChange();
    const run = ++this.#run;
    const before = this.#lastRun;
    this.#lastRun = (async () => {
      await before; // its last chunk may still be on its way
      try {
        while (this.isRunning && run === this.#run) await this.#turn();
      } catch (error) {
        this.fail(error);
        this.pause();
      }
    })();
    await this.#lastRun;
  }

  /** Other input comes: of the last, what the server has not taken is not sent. */
  forget() {
    this.#unsent = null;
    this.#generation++;
  }

  pause() {
    this.isRunning = false;
    this.#hooks.onChange();
  }

  async end() {
    this.pause();
    await this.#close({}).catch(() => undefined);
    this.#hooks.onChange();
  }

  /** One chunk and the rest of its time; or what stands in the way, waited for. */
  async #turn() {
    const began = performance.now();
    try {
      const session = this.session ?? await this.#open();
      const steps = Math.max(1, Math.round(this.stepsASecond / CHUNKS_A_SECOND));
      if (!await this.#sendSteps(session, steps)) return this.pause();
      const dueMs = steps / this.stepsASecond * 1000;
      await pause(Math.max(0, dueMs - (performance.now() - began)));
    } catch (error) {
      await this.#recover(error);
    }
  }

  /** False when the input is over. @param {Session} session @param {number} steps */
  async #sendSteps(session, steps) {
    if (this.#unsent === null) {
      const generation = this.#generation;
      const input = await this.#hooks.draw(steps);
      if (generation !== this.#generation) return true;
      if (input === null) return false;
      this.#unsent = { input, reset: this.#hooks.takeReset() };
    }
    const unsent = this.#unsent;
    const { input, reset } = unsent;
    const { start_step: start } = await postChunk(session.id, input, { reset, seq: this.#seq });
    this.#seq++;
    if (this.#unsent === unsent) this.#unsent = null;
    this.#hooks.onSent(start, input, reset);
    return true;
  }

  async #open() {
    const options = { ...this.#hooks.options(), ttl_s: TTL_SECONDS };
    const session = this.session = /** @type {Session} */ (await postJson("/v1/sessions", options));
    this.#seq = session.next_chunk_seq;
    await this.#hooks.onSession(session);
    this.#hooks.onChange();
    return session;
  }

  /** @param {unknown} error @returns {Promise<void>} */
  async #recover(error) {
    if (!this.isRunning) return; // what it was after was given up
    if (error instanceof Unreachable) {
      this.#hooks.say("The server does not answer. Goes on when it is back.", true);
      await this.#waitForServer();
      return;
    }
    if (!(error instanceof Refusal)) throw error;
    if (NUMBERS.includes(error.code)) {
      return await this.#findSeq().catch((/** @type {unknown} */ other) => this.#recover(other));
    }
    if (isGone(error)) {
      this.session = null;
      const news = "The session was gone; a new one goes on.";
      this.#hooks.say(news, true);
      setTimeout(() => this.#hooks.unsay(news), NEWS_MS);
    } else if (error.code === "queue_full" || PASSING.includes(error.code)) {
      await pause(Math.max(RETRY_MS, error.retryAfterSeconds * 1000));
    } else throw error;
  }

  /** The server's next number: what was sent last was taken though other input came since, or is lost. */
  async #findSeq() {
    if (this.session === null) return;
    const found = await getJson(sessionPath(this.session.id));
    this.#seq = /** @type {Session} */ (found).next_chunk_seq;
  }

  async #waitForServer() {
    while (this.isRunning) {
      await pause(RETRY_MS);
      const isBack = await getJson("/readyz").then(() => true, () => false);
      if (isBack) return this.#hooks.say("");
    }
  }

  /** @param {RequestInit} init */
  async #close(init) {
    const { session } = this;
    this.session = null;
    if (session !== null) {
      await request(sessionPath(session.id), { ...init, method: "DELETE", headers: {} });
    }
  }

  /** Says what went wrong. @param {unknown} error */
  fail(error) {
    if (!(error instanceof Error)) throw error;
    const action = error instanceof Refusal && error.action !== "" ? ` ${error.action}.` : "";
    this.#hooks.say(`${error.message}.${action}`, true);
  }
}

/**
 * Spikes go as places; other values as they are, and in words only with a reset, which numbers cannot say.
 * @param {string} id
 * @param {Input} input
 * @param {{ reset: boolean, seq: number }} how
 */
async function postChunk(id, { steps, events, values }, { reset, seq }) {
  const path = `${sessionPath(id)}/chunks`;
  const number = { "chunk-seq": String(seq) };
  const init = { headers: number };
  if (events !== undefined) {
    return await postJson(path, { steps, events, ...(reset && { reset }) }, init);
  }
  if (reset) {
    const size = values.length / steps;
    const data = Array.from(
      { length: steps },
      (_, t) => [...values.subarray(t * size, (t + 1) * size)],
    );
    return await postJson(path, { data, reset }, init);
  }
  const headers = { ...number, "content-type": "application/octet-stream" };
  const body = /** @type {Float32Array<ArrayBuffer>} */ (values);
  const answer = await request(path, { method: "POST", headers, body });
  return await answer.json();
}

/** @param {Refusal} error */
const isGone = ({ status, code }) =>
  (status === 404 || status === 410) && code.startsWith("session_");
