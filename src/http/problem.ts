/**
 * Errors as RFC 9457 problem documents. What is thrown with a code keeps its sentence and facts;
 * anything else is `internal` and tells nothing but the request id.
 */
import { type ErrorCode, ERRORS, type Facts, GanglionError } from "../base/errors.ts";

/** URI prefix of a problem's `type`; the code follows. */
const TYPE = "urn:ganglion:problem:";

export const PROBLEM_TYPE = "application/problem+json";

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  readonly action: string;
  readonly request_id: string;
}

export function problemOf(error: unknown, requestId: string): Problem & Facts {
  const known = error instanceof GanglionError
    ? error
    : new GanglionError("internal", "Something went wrong that is not your fault");
  const { status, title, action } = ERRORS[known.code];
  return {
    type: `${TYPE}${known.code}`,
    title,
    status,
    detail: known.message,
    code: known.code,
    action,
    ...known.facts,
    request_id: requestId,
  };
}

/** The answer for an error, with the headers that belong to its status. */
export function problemResponse(error: unknown, requestId: string): Response {
  const problem = problemOf(error, requestId);
  const headers = new Headers({ "content-type": PROBLEM_TYPE, "cache-control": "no-store" });
  const { retry_after_s: retryAfter, allow } = problem as Facts;
  if (retryAfter !== undefined) headers.set("retry-after", String(retryAfter));
  if (Array.isArray(allow)) headers.set("allow", allow.join(", "));
  if (problem.status === 401) headers.set("www-authenticate", 'Bearer realm="ganglion"');
  return new Response(JSON.stringify(problem), { status: problem.status, headers });
}
