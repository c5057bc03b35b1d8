/**
 * Sessions of a server over HTTP. A chunk is posted packed and its answer dropped; outputs come by few
 * event streams that carry many sessions each, so that a frame costs the client one short event. Closing
 * ends the streams and every session that was opened.
 */
import { createParser } from "eventsource-parser";
import { GanglionError } from "../base/errors.ts";
import type { ChunkBodies } from "./chunks.ts";
import type { ServerClient } from "./server_client.ts";
import { parseServerState } from "./server_state.ts";
import type { LoadListener, LoadSessions } from "./types.ts";

export interface OpenOptions {
  readonly sessions: number;
  readonly periodMs: number;
  readonly chunkSteps: number;
  readonly bodies: ChunkBodies;
}

/** Requests at once while sessions are opened and closed. */
const AT_ONCE = 16;
/** Of a session that nobody ends, should this process be killed. */
const TTL_SECONDS = 60;
/** Longest period that a server counts late frames for, unless its limits say otherwise. */
const PERIOD_MS_MAX = 60_000;

export class HttpSessions implements LoadSessions, AsyncDisposable {
  readonly chunkSteps: number;
  readonly frameSteps: number;
  readonly #client: ServerClient;
  readonly #bodies: ChunkBodies;
  readonly #ids: string[] = [];
  readonly #paths: string[] = [];
  readonly #leave = new AbortController();

  private constructor(client: ServerClient, { chunkSteps, bodies }: OpenOptions) {
    this.#client = client;
    this.chunkSteps = chunkSteps;
    this.frameSteps = client.model.frame;
    this.#bodies = bodies;
  }

  /** Opens all sessions and their streams, or none. */
  static async open(
    client: ServerClient,
    options: OpenOptions,
    listener: LoadListener,
  ): Promise<HttpSessions> {
    const opened = new HttpSessions(client, options);
    try {
      await opened.#openSessions(options);
      await opened.#openStreams(listener);
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
    return opened;
  }

  async send(session: number, chunk: number): Promise<boolean> {
    const path = this.#paths[session]!;
    const response = await this.#client.ask(path, {
      method: "POST",
      headers: { "content-type": this.#bodies.contentType },
      body: this.#bodies.bodyOf(session, chunk),
    });
    if (response.status === 429) {
      await response.body?.cancel();
      return false;
    }
    if (response.status !== 202) throw await this.#client.refusal(response, path);
    await response.arrayBuffer(); // so that the connection can be used again
    return true;
  }

  async readServer() {
    const response = await this.#client.ask("/metrics");
    const text = await response.text();
    return response.status === 200 ? parseServerState(text, this.#client.model.id) : null;
  }

  /** Ends everything; a server that is gone is no error. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#leave.abort();
    await inTurns(this.#ids.splice(0), async (id) => {
      try {
        const response = await this.#client.ask(`/v1/sessions/${id}`, { method: "DELETE" });
        await response.arrayBuffer();
      } catch {
        // It ends by itself after its idle time, if it is still there.
      }
    });
  }

  async #openSessions({ sessions, periodMs }: OpenOptions): Promise<void> {
    const body = JSON.stringify({
      model: this.#client.model.id,
      ttl_s: TTL_SECONDS,
      frame_period_ms: Math.min(periodMs, PERIOD_MS_MAX),
    });
    await inTurns(Array.from({ length: sessions }), async () => {
      const path = "/v1/sessions";
      const response = await this.#client.ask(path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      if (response.status !== 201) throw await this.#client.refusal(response, path);
      const { id } = await response.json() as { id: string };
      this.#ids.push(id);
      this.#paths.push(`/v1/sessions/${id}/chunks`);
    }).catch((error: unknown) => {
      throw this.#noSession(error, sessions);
    });
  }

  #noSession(error: unknown, sessions: number): unknown {
    const { id, slots } = this.#client.model;
    if (!(error instanceof GanglionError) || error.code !== "no_slot") return error;
    return new GanglionError(
      "no_slot",
      `${sessions} sessions do not fit: "${id}" has ${slots} slots, ${this.#ids.length} were free; ` +
        "ask for fewer with --sessions, or start the server with more --slots",
    );
  }

  async #openStreams(listener: LoadListener): Promise<void> {
    const { sessionsPerStream } = this.#client;
    const numbers = new Map(this.#ids.map((id, number) => [id, number]));
    const streams = Math.ceil(this.#ids.length / sessionsPerStream);
    for (let i = 0; i < streams; i++) {
      const ids = this.#ids.slice(i * sessionsPerStream, (i + 1) * sessionsPerStream);
      const response = await this.#openStream(ids);
      void this.#read(response, numbers, listener);
    }
  }

  /** In bits where outputs are spikes, else as base64: the shortest that there is. */
  async #openStream(ids: readonly string[]): Promise<Response> {
    for (const encoding of ["bits", "base64"]) {
      const path = `/v1/outputs?encoding=${encoding}&${ids.map((id) => `session=${id}`).join("&")}`;
      const response = await this.#client.ask(path, {
        headers: { accept: "text/event-stream" },
        signal: this.#leave.signal,
      });
      if (response.status === 200) return response;
      const refused = await this.#client.refusal(response, "/v1/outputs");
      if (refused.code !== "invalid_query" || encoding === "base64") throw refused;
    }
    throw new Error("unreachable");
  }

  async #read(
    response: Response,
    numbers: ReadonlyMap<string, number>,
    listener: LoadListener,
  ): Promise<void> {
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === "output") {
          const { session, start_step, steps } = JSON.parse(data) as {
            session: string;
            start_step: number;
            steps: number;
          };
          listener.onOutput(numbers.get(session)!, start_step, steps);
        } else if (event !== "open" && event !== "notice") {
          listener.onFailure(this.#eventProblem(event ?? "", data));
        }
      },
    });
    const decoder = new TextDecoder();
    try {
      for await (const bytes of response.body!) {
        parser.feed(decoder.decode(bytes, { stream: true }));
      }
    } catch {
      // It broke off: by us, or because the server is gone.
    }
    if (this.#leave.signal.aborted) return;
    const text = `${this.#client.url} went away: it ended a stream of outputs`;
    listener.onFailure(new GanglionError("server_unreachable", text));
  }

  #eventProblem(event: string, data: string): GanglionError {
    const { url } = this.#client;
    if (event === "end") {
      const { reason } = JSON.parse(data) as { reason: string };
      return new GanglionError("session_gone", `${url} ended a session of the load: ${reason}`);
    }
    if (event === "lagged") {
      return new GanglionError(
        "internal",
        "This client read its outputs too slowly and was cut: run it on another machine",
      );
    }
    return new GanglionError("step_failed", `${url} tells of a failed step: ${event} ${data}`);
  }
}

/** A few at once. After a failure no further one begins, and it throws when those under way have ended. */
async function inTurns<T>(items: readonly T[], use: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const turn = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      await use(items[next++]!).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, turn));
  if (failures.length > 0) throw failures[0];
}
