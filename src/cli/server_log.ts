/**
 * What a running server says: one line a request, and its faults, as `--log` wants them. With `json`
 * everything on standard error is JSON, one object a line.
 */
import type { Settings } from "../config.ts";
import type { RequestEntry } from "../serve.ts";

export interface ServerLog {
  readonly say: (line: string) => void;
  readonly onFault: (error: unknown, requestId: string) => void;
  readonly onRequest?: (entry: RequestEntry) => void;
}

export function serverLog(
  mode: Settings["log"],
  write: (line: string) => void,
  wallMs: () => number,
): ServerLog {
  const time = () => new Date(wallMs()).toISOString();
  const stackOf = (error: unknown) => error instanceof Error ? error.stack ?? String(error) : error;
  if (mode === "json") {
    const put = (level: string, fields: object) =>
      write(JSON.stringify({ time: time(), level, ...fields }));
    return {
      say: (text) => put("info", { text }),
      onFault: (error, id) => put("error", { request_id: id, error: String(stackOf(error)) }),
      onRequest: (entry) => put("info", { ...entry, ms: rounded(entry.ms) }),
    };
  }
  return {
    say: write,
    onFault: (error, id) => write(`request ${id}: ${String(stackOf(error))}`),
    ...(mode === "text" && {
      onRequest: (entry: RequestEntry) => write(`${time()} ${requestLine(entry)}`),
    }),
  };
}

function requestLine(entry: RequestEntry): string {
  const { method, path, status, ms, request_id: id, code, trace_id: trace } = entry;
  const more = [code, trace === undefined ? undefined : `trace=${trace}`, entry.stream && "stream"];
  const words = [method, printable(path), status, `${rounded(ms)}ms`, `id=${id}`, ...more];
  return words.filter(Boolean).join(" ");
}

/** A path may hold anything once its escapes are undone; a line of the log may not. */
const printable = (path: string): string =>
  path.slice(0, 2000).replaceAll(/[^\x21-\x7e]/gu, (char) => encodeURIComponent(char));

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000;
