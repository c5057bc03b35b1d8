/** What a session tells its readers, as events on the wire; and the ids by which they resume. */
import type {
  ModelHost,
  Opening,
  OutputEvent,
  Position,
  ReaderEvent,
  ReadFrom,
  StreamSession,
} from "../scheduler/mod.ts";
import { encodeProbes, encodeValues, type Encoding } from "./encode_outputs.ts";
import { eventText } from "./sse.ts";

/** `<epoch>-<end step>`, and `.<n>` for the n-th event after that output. */
export function idOf({ epoch, step, part }: Position): string {
  return part === 0 ? `${epoch}-${step}` : `${epoch}-${step}.${part}`;
}

/** Where to go on after an id; `unknown` when it is none of ours. */
export function parseId(id: string): ReadFrom {
  const match = /^(\d{1,15})-(\d{1,15})(?:\.(\d{1,15}))?$/.exec(id);
  if (match === null) return "unknown";
  return { epoch: Number(match[1]), step: Number(match[2]), part: Number(match[3] ?? 0) };
}

/** Where a stream of several sessions stands in one of them; all of them, with commas, are its id. */
export function cursorText(cursor: Position | null): string {
  return cursor === null ? "*" : idOf(cursor);
}

/** Where to go on in each of several sessions. Another number of them is no cursor of this stream. */
export function parseCursors(id: string, count: number): ReadFrom[] {
  const parts = id.split(",");
  if (parts.length !== count) return Array.from({ length: count }, () => "unknown" as const);
  return parts.map((part) => part === "*" ? "oldest" : parseId(part));
}

export function openingText(opening: Opening, name: string | null): string {
  const { epoch, resume, nextStartStep, missing } = opening;
  const data = {
    ...(name === null ? {} : { session: name }),
    epoch,
    resume,
    next_start_step: nextStartStep,
    missing: missing === null ? null : { from_step: missing.fromStep, to_step: missing.toStep },
  };
  return eventText("open", JSON.stringify(data));
}

/** An event before it has an id: a stream of several sessions makes its own. */
export interface WireEvent {
  readonly event: string;
  readonly data: string;
  /** Null for what cannot be resumed at. */
  readonly position: Position | null;
}

/**
 * Makes the events for one reader: its session's shapes, its encoding. `name` stands first in the
 * data of a stream that carries several sessions.
 */
export function eventWriter(
  session: StreamSession,
  host: ModelHost,
  encoding: Encoding,
  name: string | null,
): (event: ReaderEvent) => WireEvent {
  const named = name === null ? {} : { session: name };
  // What every output begins with, and the end of its head, as text.
  const begin = name === null ? "{" : `{"session":${JSON.stringify(name)},`;
  const rest = `${["", ...host.plan.outputShape].join(",")}],"encoding":"${encoding}","data":`;
  const make = (event: string, data: object, position: Position | null = null): WireEvent => ({
    event,
    data: JSON.stringify({ ...named, ...data }),
    position,
  });
  return (event) => {
    switch (event.kind) {
      case "output":
        return {
          event: "output",
          data: outputData(event, host, encoding, { begin, rest }),
          position: event.position,
        };
      case "error": {
        const { seq, code, position } = event;
        return make("error", { seq, code, at_step: position.step }, position);
      }
      case "notice": {
        const { code, reason, atWallMs, leftMs } = event;
        return make("notice", {
          code,
          reason,
          expires_at: new Date(atWallMs + leftMs).toISOString(),
        });
      }
      case "rolled_back": {
        const { epoch, step } = event.position;
        const data = { epoch, to_step: step, next_chunk_seq: event.nextSeq };
        return make("rolled_back", data, event.position);
      }
      case "numerics": {
        const { was, numerics, position } = event;
        return make("notice", { code: "numerics_changed", was, numerics }, position);
      }
      case "end":
        return make("end", { reason: session.endReason });
      case "lagged":
        return make("lagged", {});
    }
  };
}

/** The field `prediction`, where there is one; null for a score that is no number. */
export function predictionText({ prediction }: Pick<OutputEvent, "prediction">): string {
  return prediction === undefined ? "" : `,"prediction":${JSON.stringify(prediction)}`;
}

function outputData(
  event: OutputEvent,
  { plan, probes }: ModelHost,
  encoding: Encoding,
  { begin, rest }: { readonly begin: string; readonly rest: string },
): string {
  const { seq, startStep, steps, data } = event;
  const shape = [steps, ...plan.outputShape];
  const where = `"seq":${seq},"start_step":${startStep},"steps":${steps}`;
  const values = encodeValues(encoding, data, shape);
  let recorded = "";
  for (const _ in event.probes) {
    const shapeOf = (name: string) => [steps, ...probes.get(name)!.shape];
    recorded = `,"probes":${encodeProbes(encoding, event.probes, shapeOf)}`;
    break;
  }
  return `${begin}${where},"shape":[${steps}${rest}${values}${recorded}${predictionText(event)}}`;
}
