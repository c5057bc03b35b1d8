/**
 * What can go wrong, as one class. Codes of the server are those of docs/errors.md; the client adds
 * `unreachable`, `outputs_missing`, `replay_lost` and `bad_chunk`.
 */
import type { components } from "./api.gen.ts";

type Problem = components["schemas"]["Problem"];

/** What an error of the client itself says beside its code. */
export interface ErrorDetails {
  readonly status?: number;
  readonly action?: string;
  readonly requestId?: string | null;
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** A refusal of the server, or something that the client could not make good. */
export class GanglionError extends Error {
  override readonly name: string = "GanglionError";
  /** Stable; docs/errors.md lists the server's. */
  readonly code: string;
  /** HTTP status; 0 where the client itself says so. */
  readonly status: number;
  /** What to do about it. */
  readonly action: string;
  /** Stands in the server's log beside what happened; null where no server answered. */
  readonly requestId: string | null;
  /** The numbers that the message names, by their names on the wire. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** When to come again, if the server said so. */
  readonly retryAfterMs: number | null;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status ?? 0;
    this.action = details.action ?? "";
    this.requestId = details.requestId ?? null;
    this.facts = details.facts ?? {};
    this.retryAfterMs = details.retryAfterMs ?? null;
  }

  /** A number of `facts`; NaN where there is none. */
  number(fact: string): number {
    const value = this.facts[fact];
    return typeof value === "number" ? value : NaN;
  }
}

/** The error of an answer that is no success. Reads its body. */
export async function errorOf(response: Response): Promise<GanglionError> {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  const about = {
    status: response.status,
    requestId: response.headers.get("x-request-id"),
    retryAfterMs: seconds >= 0 ? seconds * 1000 : null,
  };
  const text = await response.text();
  const problem = parseProblem(text);
  if (problem === null) {
    // Something between us and the server has answered.
    return new GanglionError("bad_answer", `HTTP ${response.status}: ${text.slice(0, 200)}`, about);
  }
  const { type: _, title, status: __, detail, code, action, request_id: ___, ...facts } = problem;
  return new GanglionError(code, detail || title, { ...about, action, facts });
}

function parseProblem(text: string): Problem | null {
  try {
    const value: unknown = JSON.parse(text);
    const isProblem = typeof value === "object" && value !== null && "code" in value;
    return isProblem ? value as Problem : null;
  } catch {
    return null;
  }
}

/** `unreachable`: the connection failed, was cut, or stayed silent for too long. */
export class NoAnswerError extends GanglionError {
  constructor(message: string, cause?: unknown) {
    super("unreachable", message, { action: "See whether the server runs, then try again", cause });
  }
}
