// @ts-check
/**
 * A session of one's own that is fed at an even pace, until it is paused. It bears what a client must
 * bear: a full queue, a server that is away, and a session that is gone, in whose place it opens another.
 */
import { getJson, postJson, Refusal, request, sessionPath, Unreachable } from "./api.js";

/** @import { Session } from "./types.d.ts" */
/** @typedef {{ steps: number, events: [t: number, i: number][], values: Float32Array }} Input */
/**
 * @typedef {object} PlayerHooks
 * @property {() => Record<string, unknown>} options of a session that is opened
 * @property {(steps: number) => Input} draw the next steps of input
 * @property {() => boolean} takeReset whether the state goes to rest before the next steps
 * @property {(session: Session) => Promise<void>} onSession
 * @property {(start: number, input: Input, reset: boolean) => void} onSent
 * @property {(text: string) => void} say
 * @property {() => void} onChange whether it runs, or has a session
 */

const CHUNKS_A_SECOND = 10;
const RETRY_MS = 500;
/** A tab that is closed without a word leaves its slot so soon. */
const TTL_SECONDS = 60;
/** These pass by themselves. */
const PASSING = ["starting", "device_lost", "draining", "rolled_back", "outputs_unread"];

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Player {
  /** @type {Session | null} */
  session = null;
  isRunning = false;
  stepsASecond = 100;
  /** A run that was paused may still wait for an answer when the next one has begun. */
  #run = 0;
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
    try {
      while (this.isRunning && run === this.#run) await this.#turn();
    } catch (error) {
      this.#fail(error);
      this.pause();
    }
  }

  pause() {
    this.isRunning = false;
    this.#hooks.onChange();
  }

  /** Sends a file of steps as it is. @param {Blob} file */
  async send(file) {
    this.pause();
    try {
      const session = this.session ?? await this.#open();
      const headers = { "content-type": "application/x-npy" };
      const answer = await request(`${sessionPath(session.id)}/chunks`, {
        method: "POST",
        headers,
        body: file,
      });
      const { steps } = await answer.json();
      this.#hooks.say(`Sent ${steps} steps.`);
      return true;
    } catch (error) {
      if (error instanceof Refusal && isGone(error)) this.session = null;
      this.#fail(error);
      return false;
    }
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
      await this.#sendSteps(session, steps);
      const dueMs = steps / this.stepsASecond * 1000;
      await pause(Math.max(0, dueMs - (performance.now() - began)));
    } catch (error) {
      await this.#recover(error);
    }
  }

  /** @param {Session} session @param {number} steps */
  async #sendSteps(session, steps) {
    const input = this.#hooks.draw(steps);
    const reset = this.#hooks.takeReset();
    const body = { steps, events: input.events, ...(reset && { reset }) };
    const { start_step: start } = await postJson(`${sessionPath(session.id)}/chunks`, body);
    this.#hooks.onSent(start, input, reset);
  }

  async #open() {
    const options = { ...this.#hooks.options(), ttl_s: TTL_SECONDS };
    const session = this.session = /** @type {Session} */ (await postJson("/v1/sessions", options));
    await this.#hooks.onSession(session);
    this.#hooks.onChange();
    return session;
  }

  /** @param {unknown} error */
  async #recover(error) {
    if (!this.isRunning) return; // what it was after was given up
    if (error instanceof Unreachable) {
      this.#hooks.say("The server does not answer. Goes on when it is back.");
      await this.#waitForServer();
      return;
    }
    if (!(error instanceof Refusal)) throw error;
    if (isGone(error)) {
      this.session = null;
      this.#hooks.say("The session was gone; a new one goes on.");
    } else if (error.code === "queue_full" || PASSING.includes(error.code)) {
      await pause(Math.max(RETRY_MS, error.retryAfterSeconds * 1000));
    } else throw error;
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

  /** @param {unknown} error */
  #fail(error) {
    if (!(error instanceof Error)) throw error;
    const action = error instanceof Refusal && error.action !== "" ? ` ${error.action}.` : "";
    this.#hooks.say(`${error.message}.${action}`);
  }
}

/** @param {Refusal} error */
const isGone = ({ status, code }) =>
  (status === 404 || status === 410) && code.startsWith("session_");
