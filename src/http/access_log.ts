/** One entry a request: for the log, and for the metrics. */
import { ERRORS } from "../base/errors.ts";
import type { Answer } from "./answer.ts";
import type { AppDeps, Context } from "./context.ts";
import { EVENT_STREAM_TYPE } from "./sse.ts";

/** What is said of a request once it is answered. */
export interface RequestEntry {
  readonly request_id: string;
  readonly method: string;
  /** Without the query, where a ticket may stand. */
  readonly path: string;
  readonly route: string;
  readonly status: number;
  /** To the answer's head; an event stream goes on. */
  readonly ms: number;
  readonly stream: boolean;
  /** The problem's code, if it was one. */
  readonly code?: string;
  /** From `traceparent`. */
  readonly trace_id?: string;
  readonly parent_id?: string;
}

const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}/;

type Deps = Pick<AppDeps, "clock" | "metrics" | "onRequest">;

/** Says of a request that it was answered; it came at `begin`. */
export function accessLog({ clock, metrics, onRequest }: Deps) {
  return (c: Context, { status, headers }: Answer, begin: number): void => {
    const { method, path } = c.req;
    const route = c.route ?? "none";
    const code = c.problem;
    const ms = clock.now() - begin;
    const isStream = headers["content-type"] === EVENT_STREAM_TYPE;
    metrics.answered({ method, route, status, ms, code, isStream });
    if (onRequest === undefined) return;
    onRequest({
      request_id: c.requestId,
      ...{ method, path, route, status, ms },
      stream: isStream,
      ...codeOf(code),
      ...traceOf(c.req.header("traceparent")),
    });
  };
}

const codeOf = (code: keyof typeof ERRORS | null) => code === null ? {} : { code };

/** The ids of a W3C trace context; nothing when it is malformed, as the standard asks. */
export function traceOf(header: string | undefined): Pick<RequestEntry, "trace_id" | "parent_id"> {
  const match = TRACEPARENT.exec(header ?? "");
  if (match === null || (header!.startsWith("00") && header!.length !== 55)) return {};
  return { trace_id: match[1]!, parent_id: match[2]! };
}
