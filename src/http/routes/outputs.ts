/**
 * The event stream of a session. The reader is a cursor into the session's ring, and moves only
 * while the stream has room; both are closed together, whoever ends first.
 */
import { GanglionError } from "../../base/errors.ts";
import type { ModelHost, ReadFrom } from "../../scheduler/mod.ts";
import { bestType } from "../accept.ts";
import type { AppDeps, Context } from "../context.ts";
import { type Encoding, ENCODINGS } from "../encode_outputs.ts";
import { eventWriter, openingText, parseId } from "../output_events.ts";
import { EVENT_STREAM_HEADERS, EventStream } from "../sse.ts";

type Deps = Pick<AppDeps, "service" | "clock">;

export function outputRoutes({ service, clock }: Deps) {
  return {
    stream(c: Context) {
      const session = service.anySession(c.req.param("session")!, c.get("owner"));
      const host = service.model(session.options.model);
      assertAccepted(c);
      const encoding = encodingOf(c, host);
      const from = fromOf(c);
      // Nobody would read the body of an answer to HEAD.
      if (c.req.raw.method === "HEAD") return new Response(null, { headers: EVENT_STREAM_HEADERS });

      const reader = session.read(from);
      if (reader.opening.resume === "full" && reader.isComplete) {
        reader.close();
        return c.body(null, 204);
      }
      c.env.keepOpen?.();
      const textOf = eventWriter(session, host, encoding);
      const stream: EventStream = new EventStream({
        clock,
        signal: c.req.raw.signal,
        onRoom: () => pump(),
        onClose: () => reader.close(),
      });
      const pump = (): void => {
        while (stream.hasRoom) {
          const event = reader.pull();
          if (event === null) break;
          stream.write(textOf(event));
        }
        if (reader.closeIfLagging()) stream.write(textOf({ kind: "lagged" }));
        if (reader.isClosed) stream.close();
      };
      stream.write(openingText(reader.opening));
      reader.onReady = pump;
      pump();
      return new Response(stream.body, { headers: EVENT_STREAM_HEADERS });
    },
  };
}

function assertAccepted(c: Context): void {
  if (bestType(c.req.header("accept"), ["text/event-stream"]) !== null) return;
  throw new GanglionError("not_acceptable", "Outputs are given as text/event-stream", {
    types: ["text/event-stream"],
  });
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
function fromOf(c: Context): ReadFrom {
  const id = c.req.header("last-event-id") ?? c.req.query("last_event_id");
  if (id !== undefined && id !== "") return parseId(id);
  const from = c.req.query("from");
  if (from === undefined) return "oldest";
  if (from === "now") return "now";
  throw new GanglionError("invalid_query", "from can only be now", { parameter: "from" });
}
