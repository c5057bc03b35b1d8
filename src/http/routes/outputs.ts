/**
 * Event streams of sessions, one or several in a stream. A reader is a cursor into its session's ring,
 * and moves only while the stream has room; all are closed together, whoever ends first.
 */
import { GanglionError } from "../../base/errors.ts";
import type {
  ModelHost,
  OutputReader,
  Position,
  ReaderEvent,
  ReadFrom,
  StreamSession,
} from "../../scheduler/mod.ts";
import { assertEventStream } from "../accept.ts";
import { type Answer, EMPTY_ANSWER, jsonAnswer } from "../answer.ts";
import { readNothing } from "../body.ts";
import type { AppDeps, Context } from "../context.ts";
import { type Encoding, ENCODINGS } from "../encode_outputs.ts";
import {
  cursorText,
  eventWriter,
  idOf,
  openingText,
  parseCursors,
  parseId,
  type WireEvent,
} from "../output_events.ts";
import { type EventStream, type EventStreams, eventText, streamAnswer } from "../sse.ts";
import type { Tickets } from "../tickets.ts";

type Deps = Pick<AppDeps, "service" | "clock" | "limits">;

/** One session in a stream. */
interface Source {
  readonly reader: OutputReader;
  readonly make: (event: ReaderEvent) => WireEvent;
  /** Null in a stream of one session. */
  readonly name: string | null;
  /** Where the stream begins in this session; null when nothing was told yet. */
  readonly cursor: Position | null;
}

export function outputRoutes(
  { service, clock, limits }: Deps,
  streams: EventStreams,
  tickets: Tickets,
) {
  const bodyLimits = { bytesMax: limits.controlBytesMax, seconds: limits.bodySeconds, clock };
  const find = (c: Context, id: string) => service.anySession(id, c.owner);

  function sourceOf(session: StreamSession, c: Context, from: ReadFrom, isNamed: boolean): Source {
    const host = service.model(session.options.model);
    const name = isNamed ? session.id : null;
    const make = eventWriter(session, host, encodingOf(c, host), name);
    const reader = session.read(from);
    const { epoch, nextStartStep: step } = reader.opening;
    const cursor = from === "now"
      ? { epoch, step, part: 0 }
      : typeof from === "string"
      ? null
      : from;
    return { reader, make, name, cursor };
  }

  function streamTo(c: Context, sources: readonly Source[]): Answer {
    const closeAll = () => sources.forEach(({ reader }) => reader.close());
    if (sources.every(({ reader }) => reader.opening.resume === "full" && reader.isComplete)) {
      closeAll();
      return EMPTY_ANSWER;
    }
    c.connection.keepOpen?.();
    const stream: EventStream = streams.start({
      signal: c.req.raw.signal,
      onRoom: () => pump(),
      cut: () => c.connection.cut?.(),
      onClose: closeAll,
    });
    const cursors = sources.map(({ cursor }) => cursorText(cursor));
    const textOf = (at: number, { event, data, position }: WireEvent): string => {
      if (position === null) return eventText(event, data);
      cursors[at] = idOf(position);
      return eventText(event, data, cursors.join(","));
    };
    const pump = (): void => {
      // All that there is goes out in one write: a round has an event for every session of the stream.
      const { room } = stream;
      let text = "";
      let isLagging = false;
      // In turns, so that no session keeps the others back.
      for (let isMore = true; isMore && !isLagging;) {
        isMore = false;
        for (const [at, { reader, make }] of sources.entries()) {
          if (text.length >= room) break;
          const event = reader.pull();
          if (event === null) continue;
          isMore = true;
          text += textOf(at, make(event));
          isLagging = event.kind === "lagged";
          if (isLagging) break;
        }
      }
      for (const [at, { reader, make }] of sources.entries()) {
        if (isLagging || !reader.closeIfLagging()) continue;
        isLagging = true;
        text += textOf(at, make({ kind: "lagged" }));
      }
      if (text !== "") stream.write(text);
      if (isLagging || sources.every(({ reader }) => reader.isClosed)) stream.close();
    };
    for (const { reader, name } of sources) stream.write(openingText(reader.opening, name));
    // Where the round's first session has brought the others along there is nothing left to do.
    for (const { reader } of sources) reader.onReady = () => void (reader.hasNews && pump());
    pump();
    return streamAnswer(stream);
  }

  return {
    stream(c: Context) {
      const session = find(c, c.req.param("session")!);
      assertEventStream(c.req.header("accept"));
      encodingOf(c, service.model(session.options.model));
      const id = lastIdOf(c);
      const from = id === undefined ? fromOf(c) : parseId(id);
      // Nobody would read the body of an answer to HEAD.
      if (c.req.raw.method === "HEAD") return streamAnswer(null);
      return streamTo(c, [sourceOf(session, c, from, false)]);
    },

    /** Several sessions in one stream: browsers allow six connections. */
    several(c: Context) {
      const sessions = idsOf(c, limits.sessionsPerStreamMax).map((id) => find(c, id));
      assertEventStream(c.req.header("accept"));
      for (const { options } of sessions) encodingOf(c, service.model(options.model));
      const id = lastIdOf(c);
      const froms = id === undefined
        ? sessions.map(() => fromOf(c))
        : parseCursors(id, sessions.length);
      if (c.req.raw.method === "HEAD") return streamAnswer(null);
      const sources: Source[] = [];
      try {
        sessions.forEach((each, i) => sources.push(sourceOf(each, c, froms[i]!, true)));
      } catch (error) {
        for (const { reader } of sources) reader.close();
        throw error;
      }
      return streamTo(c, sources);
    },

    async ticket(c: Context) {
      await readNothing(c, bodyLimits);
      const session = find(c, c.req.param("session")!);
      const ticket = tickets.issue(session.id, c.owner);
      const expires = new Date(clock.wallMs() + limits.ticketSeconds * 1000).toISOString();
      return jsonAnswer({ ticket, expires_at: expires }, 201, { "cache-control": "no-store" });
    },
  };
}

function idsOf(c: Context, max: number): string[] {
  const ids = [...new Set(c.req.queries("session") ?? [])];
  if (ids.length > 0 && ids.length <= max) return ids;
  throw new GanglionError(
    "invalid_query",
    `Name 1 to ${max} sessions: ?session=a&session=b, got ${ids.length}`,
    { parameter: "session", sessions_max: max },
  );
}

function encodingOf(c: Context, { plan }: ModelHost): Encoding {
  const wanted = c.req.query("encoding") ?? "json";
  const encoding = ENCODINGS.find((each) => each === wanted);
  if (encoding === undefined) {
    throw new GanglionError("invalid_query", `encoding must be one of ${ENCODINGS.join(", ")}`, {
      parameter: "encoding",
    });
  }
  if (encoding === "bits" && plan.nodes[plan.output]!.kind !== "spike") {
    throw new GanglionError("invalid_query", "The outputs of this model are no spikes: not bits", {
      parameter: "encoding",
    });
  }
  return encoding;
}

/** An id says more than `from=now`, which stands in the address that a browser comes back to. */
function lastIdOf(c: Context): string | undefined {
  return (c.req.header("last-event-id") ?? c.req.query("last_event_id")) || undefined;
}

function fromOf(c: Context): ReadFrom {
  const from = c.req.query("from");
  if (from === undefined) return "oldest";
  if (from === "now") return "now";
  throw new GanglionError("invalid_query", "from can only be now", { parameter: "from" });
}
