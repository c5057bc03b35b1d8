/**
 * The outputs of a session, each step once and in order: over cuts, silence, and roll-backs, after which
 * the server tells some steps again. A cursor holds where the reader stands.
 */
import type { components } from "./api.gen.ts";
import { deferred } from "./clock.ts";
import {
  decodeValues,
  type Encoding,
  type Output,
  type Prediction,
  WIRE_ENCODING,
} from "./codec.ts";
import { GanglionError, NoAnswerError } from "./errors.ts";
import { EventParser, type ServerEvent } from "./sse.ts";
import { attempt, Backoff, type Connection, isWorthRepeating } from "./transport.ts";

type Schemas = components["schemas"];

/** Where a reader stands: the last event it had, and the step that must come next. */
export interface Cursor {
  id: string | null;
  /** Null: whatever the server begins with. */
  nextStep: number | null;
  epoch: number;
  /** Outputs of older epochs are of a state that was replaced. */
  firstEpoch: number;
}

/** Something worth knowing that is neither an output nor an error. */
export type StreamNotice =
  | { readonly kind: "reconnecting"; readonly error: unknown }
  | { readonly kind: "rolled_back"; readonly event: Schemas["RolledBackEvent"] }
  | { readonly kind: "reopened"; readonly id: string }
  | { readonly kind: "notice"; readonly event: Schemas["NoticeEvent"] };

export interface ReaderHost {
  readonly connection: Connection;
  /** Of the session, which may be another one after `recover`. */
  readonly path: () => string;
  readonly encoding: Encoding;
  readonly cursor: Cursor;
  /** Aborts when the reader leaves. */
  readonly signal: AbortSignal;
  readonly notify: (notice: StreamNotice) => void;
  /** Outputs of so many steps were read. */
  readonly onRead: (steps: number) => void;
  readonly onRolledBack: (nextSeq: number, epoch: number) => void;
  /** The session at this path is lost: whether another one has taken its place. */
  readonly recover: (path: string, error: unknown) => Promise<boolean>;
  /** A chunk was given up; awaited before the reader of the outputs hears of it. */
  readonly onFailed: (error: GanglionError) => Promise<void>;
}

/** Yields until the session is closed; throws `session_gone` when it ends otherwise. */
export async function* readOutputs(host: ReaderHost): AsyncGenerator<Output, void, void> {
  const { connection, signal, notify } = host;
  const backoff = new Backoff(connection);
  const timeline = new Timeline(host.cursor);
  for (;;) {
    const path = host.path();
    try {
      for await (const event of connect(host, path)) {
        backoff.reset();
        if (event.event === "lagged") break;
        if (event.event === "end") return endOf(event);
        const output = take(host, timeline, event);
        if (output === null) continue;
        host.onRead(output.steps);
        yield output;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (await host.recover(path, error)) continue;
      if (error instanceof ChunkFailedError) await host.onFailed(error);
      if (!isWorthRepeating(error)) throw error;
      notify({ kind: "reconnecting", error });
      await backoff.pause(error, signal);
    }
  }
}

/** The events of one connection; ends only by `lagged`, `end` or an error. */
async function* connect(
  host: ReaderHost,
  path: string,
): AsyncGenerator<ServerEvent, void, void> {
  const { connection, encoding, cursor, signal } = host;
  const own = new AbortController();
  const aborted = () => own.abort(signal.reason);
  signal.addEventListener("abort", aborted);
  try {
    const headers = {
      accept: "text/event-stream",
      ...(cursor.id === null ? {} : { "last-event-id": cursor.id }),
    };
    const query = `?encoding=${WIRE_ENCODING[encoding]}`;
    const init = { headers, signal: own.signal, isStream: true };
    const response = await attempt(connection, `${path}/outputs${query}`, init, (each) => each);
    // The session has ended and we have had everything.
    if (response.status === 204) return yield { event: "end", data: "{}", id: null };
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      const { value, done } = await inTime(connection, own, reader.read());
      if (done) throw new NoAnswerError("The stream was cut");
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    signal.removeEventListener("abort", aborted);
    own.abort();
  }
}

/** A read that must give a sign of life within `idleMs`. */
async function inTime<T>(
  { clock, idleMs }: Connection,
  controller: AbortController,
  reading: Promise<T>,
): Promise<T> {
  const lost = deferred<never>();
  const cut = (error: unknown) =>
    error instanceof NoAnswerError
      ? error
      : new NoAnswerError(`The stream was cut: ${error}`, error);
  const aborted = () => lost.reject(cut(controller.signal.reason));
  controller.signal.addEventListener("abort", aborted);
  const timer = clock.after(
    idleMs,
    () => controller.abort(new NoAnswerError(`The stream was silent for ${idleMs} ms`)),
  );
  reading.catch(() => {}); // it may fail with the connection when nobody waits for it any more
  try {
    return await Promise.race([reading, lost.promise]);
  } catch (error) {
    throw cut(error);
  } finally {
    timer.cancel();
    controller.signal.removeEventListener("abort", aborted);
  }
}

/** The output of an event, or null when it is none or brings nothing new. */
function take(
  host: ReaderHost,
  timeline: Timeline,
  { event, data, id }: ServerEvent,
): Output | null {
  if (event === "") return null;
  const { cursor, notify } = host;
  switch (event) {
    case "open": {
      const { missing } = JSON.parse(data) as Schemas["OpenEvent"];
      if (missing !== null) timeline.assertNothingLost(missing.to_step);
      return null;
    }
    case "output":
      return timeline.newPart(outputOf(JSON.parse(data) as Schemas["OutputEvent"], id!));
    case "rolled_back": {
      const told = JSON.parse(data) as Schemas["RolledBackEvent"];
      cursor.id = id;
      timeline.rolledBack(told.epoch);
      host.onRolledBack(told.next_chunk_seq, told.epoch);
      notify({ kind: "rolled_back", event: told });
      return null;
    }
    case "error": {
      const { seq, code, at_step: step } = JSON.parse(data) as Schemas["ErrorEvent"];
      cursor.id = id;
      if (code !== "step_failed") return null; // a chunk behind the one that failed
      throw new ChunkFailedError(code, `Chunk ${seq} was given up at step ${step}`, {
        action: "Send the rest of it again, from at_step",
        facts: { seq, at_step: step },
      });
    }
    case "notice":
      if (id !== null) cursor.id = id;
      notify({ kind: "notice", event: JSON.parse(data) as Schemas["NoticeEvent"] });
      return null;
    default:
      return null; // of a newer server
  }
}

function outputOf(event: Schemas["OutputEvent"], id: string): Output {
  const { seq, start_step: startStep, steps, shape, encoding, data, probes = {} } = event;
  const size = shape.slice(1).reduce((product, axis) => product * axis, 1);
  return {
    id,
    epoch: Number(id.split("-", 1)[0]),
    seq,
    startStep,
    steps,
    shape,
    data: decodeValues(encoding, data, steps, size),
    probes: Object.fromEntries(
      Object.entries(probes).map((
        [name, value],
      ) => [name, decodeValues(encoding, value, steps, 0)]),
    ),
    prediction: (event.prediction as Prediction | undefined) ?? null,
  };
}

function endOf({ data }: ServerEvent): void {
  const { reason = "closed" } = JSON.parse(data) as Partial<Schemas["EndEvent"]>;
  if (reason === "closed") return;
  throw new GanglionError("session_gone", `The session has ended (${reason})`, {
    status: 410,
    action: "Open a new one",
    facts: { reason },
  });
}

/** `step_failed`, as the outputs tell it. */
class ChunkFailedError extends GanglionError {}

/** Which steps were had, over epochs. */
class Timeline {
  readonly #cursor: Cursor;

  constructor(cursor: Cursor) {
    this.#cursor = cursor;
  }

  /** The time-line goes on from an earlier step; what is told again was had already. */
  rolledBack(epoch: number): void {
    this.#cursor.epoch = Math.max(this.#cursor.epoch, epoch);
  }

  /** What of an output was not had before; null for nothing. */
  newPart(output: Output): Output | null {
    const cursor = this.#cursor;
    const { id, epoch, startStep, steps } = output;
    if (epoch < cursor.firstEpoch) return null;
    // A new epoch that is no roll-back: a reset, or another state, from which steps are counted on.
    if (epoch > cursor.epoch) {
      cursor.epoch = epoch;
      cursor.nextStep = startStep;
    }
    const nextStep = cursor.nextStep ?? startStep;
    this.assertNothingLost(startStep);
    cursor.id = id;
    if (startStep + steps <= nextStep) return null;
    cursor.nextStep = startStep + steps;
    return startStep === nextStep ? output : lastOf(output, nextStep - startStep);
  }

  /** Throws when steps before this one were dropped before we had them. */
  assertNothingLost(step: number): void {
    const { nextStep } = this.#cursor;
    if (nextStep === null || step <= nextStep) return;
    this.#cursor.nextStep = null;
    throw new GanglionError(
      "outputs_missing",
      `The server no longer holds the outputs of steps ${nextStep} to ${step - 1}`,
      {
        action: 'Read sooner, or open with outputs: "hold"; the next reader goes on behind them',
        facts: { from_step: nextStep, to_step: step },
      },
    );
  }
}

/** An output without its first steps. */
function lastOf(output: Output, skip: number): Output {
  const cut = (values: Float32Array) => values.slice(skip * (values.length / output.steps));
  return {
    ...output,
    startStep: output.startStep + skip,
    steps: output.steps - skip,
    shape: [output.steps - skip, ...output.shape.slice(1)],
    data: cut(output.data),
    probes: Object.fromEntries(
      Object.entries(output.probes).map(([name, values]) => [name, cut(values)]),
    ),
  };
}
