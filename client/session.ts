/**
 * One session: chunks out, outputs in, and its state as a thing to keep, branch and put back. All that
 * the network may do to it (cuts, silence, restarts, roll-backs) is made good here or told as an error.
 */
import type { components } from "./api.gen.ts";
import { sleep } from "./clock.ts";
import {
  type Body,
  type ChunkData,
  decodeValues,
  encodeChunk,
  type Encoding,
  type Output,
} from "./codec.ts";
import { GanglionError, NoAnswerError } from "./errors.ts";
import { type Cursor, readOutputs, type StreamNotice } from "./reader.ts";
import { Sender, type Taken } from "./sender.ts";
import { attempt, Backoff, call, type CallInit, type Connection } from "./transport.ts";

type Schemas = components["schemas"];
/** A session as the server describes it. */
export type SessionView = Schemas["Session"];

export interface SessionOptions {
  /** How outputs travel. Default `f32`. */
  readonly encoding?: Encoding;
  /** Bytes of chunks that are kept for a replay once they were taken. Default 16 MiB. */
  readonly replayBytesMax?: number;
  /** Gets what is worth knowing: connections that are made again, roll-backs, notices. */
  readonly onNotice?: (notice: StreamNotice) => void;
}

/** What the server says to a chunk that it has taken. */
export type Receipt = Omit<Taken, "output">;

/** Lets one call be given up. */
export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

export interface OutputsOptions extends Abortable {
  /** The `id` of the output to go on after; by default the last one that this object gave. */
  readonly after?: string;
}

const REPLAY_BYTES = 16 << 20;
/** How often to ask whether the last frames have run. */
const BUSY_MS = 50;
const readJson = (response: Response) => response.json();

/** How a session came to be: from which step it is read, and how to make it anew. */
export interface Origin {
  /** The step whose output comes first; null for the oldest that is held. */
  readonly start: number | null;
  /** Opens one like it; null where that would not be the same. */
  readonly again: ((signal: AbortSignal) => Promise<SessionView>) | null;
}

export class Session {
  readonly #connection: Connection;
  readonly #options: SessionOptions;
  readonly #sender: Sender;
  readonly #given = new AbortController();
  readonly #sampleSize: number;
  readonly #cursor: Cursor;
  readonly #again: Origin["again"];
  #reopening: Promise<void> | null = null;
  #view: SessionView;

  /** For the client. */
  constructor(
    connection: Connection,
    view: SessionView,
    options: SessionOptions,
    { start, again }: Origin,
  ) {
    this.#again = again;
    this.#connection = connection;
    this.#options = options;
    this.#view = view;
    this.#sampleSize = view.sample_shape.reduce((product, axis) => product * axis, 1);
    const epoch = start === null ? 0 : view.epoch;
    this.#cursor = { id: null, nextStep: start, epoch, firstEpoch: 0 };
    const { replayBytesMax = REPLAY_BYTES } = options;
    const signal = this.#given.signal;
    this.#sender = new Sender({
      connection,
      signal,
      replayBytesMax,
      post: (body, seq, waits) => this.#post(body, seq, waits),
      view: () => this.describe({ signal }),
    }, view);
  }

  /** Changes only where a session that a server has lost was opened again. */
  get id(): string {
    return this.#view.id;
  }

  /** As the server last described it: shapes, `frame`, limits. */
  get view(): SessionView {
    return this.#view;
  }

  /**
   * Sends a chunk and resolves when the server has taken it: wait for that, and the server's queue is
   * never overrun. Chunks arrive in the order of the calls, each once. Aborting withdraws the chunk
   * unless it is on its way.
   *
   * @throws GanglionError `bad_chunk`, or what the server says of it; `session_gone`; `step_failed` when
   *   an earlier chunk was given up and this one dropped; `replay_lost`; `unreachable`.
   */
  async send(data: ChunkData, { signal }: Abortable = {}): Promise<Receipt> {
    const body = encodeChunk(data, this.#sampleSize);
    const { output: _, ...receipt } = await this.#sender.push(body, false, signal);
    return receipt;
  }

  /** Sends a chunk and resolves with what exactly these steps gave. Readers of `outputs` get it too. */
  async run(data: ChunkData, { signal }: Abortable = {}): Promise<Output> {
    const taken = await this.#sender.push(encodeChunk(data, this.#sampleSize), true, signal);
    return taken.output!;
  }

  /**
   * What the session gives, each step once and in order, until it is closed: over cuts, a frozen or
   * restarted server, and roll-backs. Another call goes on behind the last output that this object gave.
   * One reader at a time; `client.attach` makes others.
   *
   * @throws GanglionError `session_gone` with a `reason`; `step_failed`; `outputs_missing` when the server
   *   had dropped some before they were read; `unreachable`. Reading may go on after the middle two.
   */
  async *outputs(options: OutputsOptions = {}): AsyncGenerator<Output, void, void> {
    const { signal, after } = options;
    const { encoding = "f32", onNotice = () => {} } = this.#options;
    if (after !== undefined) Object.assign(this.#cursor, cursorAt(after));
    const isRecording = this.#view.record.length > 0 && encoding !== "json";
    yield* readOutputs({
      connection: this.#connection,
      path: () => this.#path,
      recover: (path, error) => this.#recover(path, error),
      encoding: isRecording ? "f32" : encoding,
      cursor: this.#cursor,
      signal: signal === undefined
        ? this.#given.signal
        : AbortSignal.any([signal, this.#given.signal]),
      notify: onNotice,
      onRead: (steps) => this.#sender.read(steps),
      onRolledBack: (nextSeq, epoch) => this.#sender.rolledBack(nextSeq, epoch),
      onFailed: (error) => this.#sender.heardOfFailure(error),
    });
  }

  /** Asks the server how the session stands. */
  async describe({ signal }: Abortable = {}): Promise<SessionView> {
    const path = this.#path;
    try {
      this.#view = await this.#call("", { signal: signal ?? null }) as SessionView;
    } catch (error) {
      if (!await this.#recover(path, error)) throw error;
    }
    return this.#view;
  }

  /** The state after the last frame that ran: a `.safetensors` file. */
  async snapshot({ signal }: Abortable = {}): Promise<Uint8Array<ArrayBuffer>> {
    const init = { signal: signal ?? null };
    return await call(
      this.#connection,
      `${this.#path}/state`,
      init,
      async (response) => new Uint8Array(await response.arrayBuffer()),
    );
  }

  /**
   * Puts a state in place of this one, once all that was sent has run. Steps are counted on from the
   * state's; outputs that nobody has read are dropped.
   */
  async restore(
    state: Uint8Array<ArrayBuffer>,
    { signal, allowInexact = false }: Abortable & { readonly allowInexact?: boolean } = {},
  ): Promise<SessionView> {
    const view = await this.#whenQuiet(`/state${allowInexact ? "?allow_inexact=true" : ""}`, {
      method: "PUT",
      headers: { "content-type": "application/octet-stream" },
      body: state,
      signal: signal ?? null,
    });
    this.#sender.restarted(view);
    const { epoch, steps_done: step } = view;
    const place = { id: `${epoch}-${step}`, nextStep: step, epoch, firstEpoch: epoch };
    Object.assign(this.#cursor, place);
    return view;
  }

  /** Puts the state back to rest, once all that was sent has run. Step numbers go on. */
  async reset({ signal }: Abortable = {}): Promise<SessionView> {
    const view = await this.#whenQuiet("/reset", { method: "POST", signal: signal ?? null });
    this.#sender.restarted(view);
    return view;
  }

  /** Takes the state off the device, once all that was sent has run; the next chunk brings it back. */
  async park({ signal }: Abortable = {}): Promise<SessionView> {
    return await this.#whenQuiet("/park", { method: "POST", signal: signal ?? null });
  }

  /**
   * A new session that goes on from the state after the last frame that ran.
   *
   * @throws GanglionError `unreachable` at the first answer that is lost: a repeat might make two.
   */
  async fork({ signal }: Abortable = {}): Promise<Session> {
    const init = { method: "POST", signal: signal ?? null };
    const view = await attempt(
      this.#connection,
      `${this.#path}/fork`,
      init,
      readJson,
    ) as SessionView;
    const origin = { start: view.steps_done, again: null };
    return new Session(this.#connection, view, this.#options, origin);
  }

  /** Ends the session on the server; its outputs end with what has run. No error when it is gone. */
  async close({ signal }: Abortable = {}): Promise<void> {
    this.#sender.close(new GanglionError("session_gone", "The session was closed here"));
    try {
      await call(
        this.#connection,
        this.#path,
        { method: "DELETE", signal: signal ?? null },
        () => undefined,
      );
    } catch (error) {
      const isGone = error instanceof GanglionError && [404, 410].includes(error.status);
      if (!isGone) throw error;
    }
  }

  /** Forgets the session without ending it: readers and senders here stop; `client.attach` comes back. */
  detach(): void {
    const error = new GanglionError("session_gone", "The session was detached from here");
    this.#sender.close(error);
    this.#given.abort(error);
  }

  get #path(): string {
    return `/v1/sessions/${encodeURIComponent(this.id)}`;
  }

  /**
   * A server that was killed before it kept the session does not know it any more. When the replay ring
   * holds all that was ever sent, another session begins in its place and soon is where this one was.
   */
  async #recover(path: string, error: unknown): Promise<boolean> {
    const isLost = error instanceof GanglionError && error.code === "session_unknown";
    if (!isLost) return false;
    if (path !== this.#path) return true; // somebody was faster
    if (this.#again === null || (this.#reopening === null && !this.#sender.isWhole)) return false;
    this.#reopening ??= this.#reopen(this.#again).finally(() => this.#reopening = null);
    await this.#reopening;
    return true;
  }

  async #reopen(again: NonNullable<Origin["again"]>): Promise<void> {
    const view = await again(this.#given.signal);
    this.#view = view;
    this.#cursor.id = null;
    this.#sender.reopened(view);
    this.#options.onNotice?.({ kind: "reopened", id: view.id });
  }

  async #call(path: string, init: CallInit): Promise<unknown> {
    return await call(this.#connection, this.#path + path, init, readJson);
  }

  /** For what needs an empty queue. */
  async #whenQuiet(path: string, init: CallInit): Promise<SessionView> {
    const { clock } = this.#connection;
    const backoff = new Backoff(this.#connection);
    for (;;) {
      await this.#sender.idle();
      try {
        return this.#view = await this.#call(path, init) as SessionView;
      } catch (error) {
        const isBusy = error instanceof GanglionError && error.code === "session_busy";
        if (!isBusy) throw error;
        backoff.reset();
        await sleep(clock, BUSY_MS, init.signal);
      }
    }
  }

  async #post(body: Body, seq: number, waits: boolean): Promise<Taken> {
    const { record, readout } = this.#view;
    const isJson = !waits || record.length > 0 || readout === true;
    const init = {
      method: "POST",
      headers: {
        "content-type": body.type,
        "chunk-seq": String(seq),
        "accept": isJson ? "application/json" : "application/octet-stream",
      },
      body: body.bytes,
      signal: this.#given.signal,
      // One that waits may wait long; after so long a repeat finds out whether anybody is there.
      ...(waits ? { timeoutMs: this.#connection.idleMs } : {}),
    };
    const path = this.#path;
    const address = `${path}/chunks${waits ? "?wait=true" : ""}`;
    try {
      return await attempt(
        this.#connection,
        address,
        init,
        async (response) =>
          response.status === 200 && !isJson
            ? takenOf(response.headers, await response.arrayBuffer(), this.#view)
            : takenOfJson(await response.json(), response.status === 200),
      );
    } catch (error) {
      if (!await this.#recover(path, error)) throw error;
      throw new NoAnswerError("The session was opened again, and begins with its first chunk");
    }
  }
}

/** The place after an output of this id. */
function cursorAt(id: string): Partial<Cursor> {
  const [, epoch, step] = /^(\d+)-(\d+)/.exec(id) ?? [];
  if (step === undefined) {
    throw new GanglionError("bad_id", `"${id}" is no id of an output`, {
      action: "Give the id of an output of this session",
    });
  }
  return { id, epoch: Number(epoch), nextStep: Number(step) };
}

function takenOfJson(answer: Schemas["ChunkAnswer"], hasRun: boolean): Taken {
  const { seq, steps, start_step: startStep, epoch, credit, durable_seq: durableSeq } = answer;
  const taken = { seq, steps, startStep, epoch, credit, durableSeq, output: null };
  if (!hasRun) return taken;
  const { shape, data, probes = {}, prediction = null } = answer;
  const decode = (value: unknown) => decodeValues("json", value, steps, 0);
  const output = {
    ...{ id: `${epoch}-${startStep + steps}`, epoch, seq, startStep, steps, shape, prediction },
    data: decode(data),
    probes: Object.fromEntries(
      Object.entries(probes).map(([name, value]) => [name, decode(value)]),
    ),
  };
  return { ...taken, output };
}

function takenOf(headers: Headers, values: ArrayBuffer, { output_shape }: SessionView): Taken {
  const number = (name: string) => Number(headers.get(name));
  const [seq, startStep, steps, epoch] = [
    number("chunk-seq"),
    number("start-step"),
    number("steps"),
    number("session-epoch"),
  ];
  const output = {
    ...{ id: `${epoch}-${startStep + steps}`, epoch, seq, startStep, steps },
    shape: [steps, ...output_shape],
    data: new Float32Array(values),
    probes: {},
    prediction: null,
  };
  return { seq, steps, startStep, epoch, credit: null, output };
}
