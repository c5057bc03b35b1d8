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

export function openingText({ epoch, resume, nextStartStep, missing }: Opening): string {
  const data = {
    epoch,
    resume,
    next_start_step: nextStartStep,
    missing: missing === null ? null : { from_step: missing.fromStep, to_step: missing.toStep },
  };
  return eventText("open", JSON.stringify(data));
}

/** The text of events for one reader: its session's shapes, its encoding. */
export function eventWriter(
  session: StreamSession,
  host: ModelHost,
  encoding: Encoding,
): (event: ReaderEvent) => string {
  return (event) => {
    switch (event.kind) {
      case "output":
        return eventText("output", outputData(event, host, encoding), idOf(event.position));
      case "error": {
        const { seq, code, position } = event;
        const data = JSON.stringify({ seq, code, at_step: position.step });
        return eventText("error", data, idOf(position));
      }
      case "rolled_back": {
        const { epoch, step } = event.position;
        const data = { epoch, to_step: step, next_chunk_seq: event.nextSeq };
        return eventText("rolled_back", JSON.stringify(data), idOf(event.position));
      }
      case "notice": {
        const data = JSON.stringify({ code: event.code, ...event.facts });
        return eventText("notice", data, idOf(event.position));
      }
      case "end":
        return eventText("end", JSON.stringify({ reason: session.endReason }));
      case "lagged":
        return eventText("lagged", "{}");
    }
  };
}

function outputData(event: OutputEvent, { plan, probes }: ModelHost, encoding: Encoding): string {
  const { chunk, startStep, steps, data } = event;
  const shape = [steps, ...plan.outputShape];
  const head = JSON.stringify({ seq: chunk.seq, start_step: startStep, steps, shape, encoding });
  const values = encodeValues(encoding, data, shape);
  let recorded = "";
  for (const _ in event.probes) {
    const shapeOf = (name: string) => [steps, ...probes.get(name)!.shape];
    recorded = `,"probes":${encodeProbes(encoding, event.probes, shapeOf)}`;
    break;
  }
  return `${head.slice(0, -1)},"data":${values}${recorded}}`;
}
