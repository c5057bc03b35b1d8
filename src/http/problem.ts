/**
 * Errors as RFC 9457 problem documents. What is thrown with a code keeps its sentence and facts;
 * anything else is `internal` and tells nothing but the request id.
 */
import { type ErrorCode, ERRORS, type Facts, GanglionError } from "../base/errors.ts";
import type { Answer } from "./answer.ts";

/** URI prefix of a problem's `type`; the code follows. */
const TYPE = "urn:ganglion:problem:";

export const PROBLEM_TYPE = "application/problem+json";

/** `www-authenticate` of every 401. */
export const CHALLENGE = 'Bearer realm="ganglion"';

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
export function problemAnswer(error: unknown, requestId: string): Answer {
  const problem = problemOf(error, requestId);
  const headers: Record<string, string> = {
    "content-type": PROBLEM_TYPE,
    "cache-control": "no-store",
  };
  const { retry_after_s: retryAfter, allow } = problem as Facts;
  if (retryAfter !== undefined) headers["retry-after"] = String(retryAfter);
  if (Array.isArray(allow)) headers["allow"] = allow.join(", ");
  if (problem.status === 401) headers["www-authenticate"] = CHALLENGE;
  return { status: problem.status, headers, body: JSON.stringify(problem) };
}
