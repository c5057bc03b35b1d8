/** A server of Ganglion: its models and limits, and sessions to open or to come back to. */
import type { components } from "./api.gen.ts";
import { realClock } from "./clock.ts";
import { GanglionError } from "./errors.ts";
import { type Abortable, Session, type SessionOptions, type SessionView } from "./session.ts";
import {
  attempt,
  Backoff,
  call,
  type CallInit,
  type Connection,
  type ConnectionOptions,
} from "./transport.ts";

type Schemas = components["schemas"];
/** A model as the server describes it. */
export type ModelView = Schemas["Model"];
/** What a session is opened with, by its names on the wire; and a state to begin with. */
export interface OpenRequest extends Omit<Schemas["CreateSession"], "state"> {
  /** A snapshot; steps are counted on from its. */
  readonly state?: Uint8Array<ArrayBuffer>;
}

/** The server is not there for a while; a slot may not come free for long. */
const NOT_READY = ["starting", "draining", "device_lost", "origin_unreachable"];
const readJson = (response: Response) => response.json();

export class Ganglion {
  readonly #connection: Connection;

  /** @param url Where the server is, e.g. `http://127.0.0.1:8787`. */
  constructor(url: string, options: ConnectionOptions = {}) {
    this.#connection = {
      url: url.replace(/\/+$/, ""),
      apiKey: options.apiKey ?? null,
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      timeoutMs: options.timeoutMs ?? 10_000,
      idleMs: options.idleMs ?? 20_000,
      retryForMs: options.retryForMs ?? 120_000,
      backoffMs: options.backoffMs ?? 100,
      backoffMsMax: options.backoffMsMax ?? 5_000,
      clock: options.clock ?? realClock,
      random: options.random ?? Math.random,
    };
  }

  /** The models that are served. */
  async models({ signal }: Abortable = {}): Promise<ModelView[]> {
    const { models } = await this.#get("/v1/models", signal) as Schemas["ModelList"];
    return models;
  }

  /** One model: shapes, `frame`, `dt`, layers. */
  async model(id: string, { signal }: Abortable = {}): Promise<ModelView> {
    return await this.#get(`/v1/models/${encodeURIComponent(id)}`, signal) as ModelView;
  }

  /** Every limit of the server by name. */
  async limits({ signal }: Abortable = {}): Promise<Record<string, number>> {
    return await this.#get("/v1/limits", signal) as Record<string, number>;
  }

  /** The open sessions of this key. */
  async sessions({ signal }: Abortable = {}): Promise<SessionView[]> {
    const { sessions } = await this.#get("/v1/sessions", signal) as Schemas["SessionList"];
    return sessions;
  }

  /**
   * Opens a session, from rest or from a state. While the server starts, this waits.
   *
   * @throws GanglionError `model_required`, `model_unknown`, `no_slot` (see `wait_s`), `snapshot_refused`,
   *   `unreachable` …
   */
  async open(
    { state, ...request }: OpenRequest = {},
    { signal, ...options }: SessionOptions & Abortable = {},
  ): Promise<Session> {
    const init = {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
      timeoutMs: this.#connection.timeoutMs + 1000 * (request.wait_s ?? 0),
      signal: signal ?? null,
    };
    const view = await this.#openWhenReady(init);
    const again = (given: AbortSignal) => this.#openAgain({ ...init, signal: given });
    const origin = { start: view.steps_done, again: state === undefined ? again : null };
    const session = new Session(this.#connection, view, options, origin);
    if (state === undefined) return session;
    try {
      await session.restore(state, { signal });
      return session;
    } catch (error) {
      await session.close().catch(() => {}); // what was refused is worth more to know
      throw error;
    }
  }

  /**
   * Comes back to a session that is open, for example of another process. Its outputs begin with the
   * oldest that the server holds, or behind `outputs({ after })`; chunks go on with its next number.
   */
  async attach(
    id: string,
    { signal, ...options }: SessionOptions & Abortable = {},
  ): Promise<Session> {
    const path = `/v1/sessions/${encodeURIComponent(id)}`;
    const view = await this.#get(path, signal) as SessionView;
    return new Session(this.#connection, view, options, { start: null, again: null });
  }

  /** Not repeated when no answer came: a session that nobody knows of would hold a slot. */
  async #openWhenReady(init: CallInit): Promise<SessionView> {
    const backoff = new Backoff(this.#connection);
    for (;;) {
      try {
        return await attempt(this.#connection, "/v1/sessions", init, readJson) as SessionView;
      } catch (error) {
        if (!(error instanceof GanglionError) || !NOT_READY.includes(error.code)) throw error;
        await backoff.pause(error, init.signal);
      }
    }
  }

  /** For a session that is lost: there is no other way on, so this is repeated. */
  async #openAgain(init: CallInit): Promise<SessionView> {
    const open = await call(this.#connection, "/v1/sessions", init, readJson);
    return open as SessionView;
  }

  async #get(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    return await call(this.#connection, path, { signal: signal ?? null }, readJson);
  }
}
