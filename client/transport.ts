/**
 * One server over `fetch`: the key, time limits, problems as errors, and when to try again. Knows
 * nothing of sessions.
 */
import { type Clock, sleep } from "./clock.ts";
import { errorOf, GanglionError, NoAnswerError } from "./errors.ts";

/** How to reach a server, and how patient to be. All but `url` may be left out. */
export interface ConnectionOptions {
  /** Sent as `Authorization: Bearer …`. */
  readonly apiKey?: string;
  /** Instead of the global one. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** An answer that has not come after so long counts as lost, upload included. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * A stream that is silent for so long counts as cut: the server's heartbeats come every 8 s.
   * Default 20,000.
   */
  readonly idleMs?: number;
  /** Without any success for so long, give up with `unreachable`. Default 120,000. */
  readonly retryForMs?: number;
  /** The first pause is at most so long; it doubles with each try. Default 100. */
  readonly backoffMs?: number;
  /** No pause is longer, but where the server asks for it. Default 5000. */
  readonly backoffMsMax?: number;
  /** For tests. */
  readonly clock?: Clock;
  /** From 0 to 1; for tests. */
  readonly random?: () => number;
}

export interface Connection extends Required<Omit<ConnectionOptions, "apiKey">> {
  readonly url: string;
  readonly apiKey: string | null;
}

export interface CallInit {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  readonly signal?: AbortSignal | null;
  /** Instead of the connection's `timeoutMs`. */
  readonly timeoutMs?: number;
  /** The body is read later: `signal` goes on to end it, and the time limit is over with the head. */
  readonly isStream?: boolean;
}

/** Refusals that another try may change. */
const STATUS_AGAIN = [429, 502, 503, 504];

export function isWorthRepeating(error: unknown): boolean {
  return error instanceof NoAnswerError ||
    (error instanceof GanglionError && STATUS_AGAIN.includes(error.status));
}

/**
 * One request; `read` takes what it needs of a successful answer before the time is over. Throws a
 * `GanglionError` for a refusal, a `NoAnswerError` when no whole answer came, and the signal's reason.
 */
export async function attempt<T>(
  connection: Connection,
  path: string,
  { signal, timeoutMs, headers, isStream = false, ...init }: CallInit,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const { url, apiKey, clock } = connection;
  signal?.throwIfAborted();
  const own = new AbortController();
  const ms = timeoutMs ?? connection.timeoutMs;
  const timer = clock.after(ms, () => own.abort(new NoAnswerError(`No answer for ${ms} ms`)));
  const aborted = () => own.abort(signal!.reason);
  signal?.addEventListener("abort", aborted);
  try {
    const response = await connection.fetch(url + path, {
      ...init,
      headers: { ...headers, ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }) },
      signal: own.signal,
    });
    if (!response.ok) throw await errorOf(response);
    return await read(response);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof GanglionError) throw error;
    throw new NoAnswerError(`${init.method ?? "GET"} ${path}: ${messageOf(error)}`, error);
  } finally {
    timer.cancel();
    if (!isStream) signal?.removeEventListener("abort", aborted);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** As `attempt`, again and again until it is answered. For what may safely be done twice. */
export async function call<T>(
  connection: Connection,
  path: string,
  init: CallInit,
  read: (response: Response) => T | Promise<T>,
): Promise<T> {
  const backoff = new Backoff(connection);
  for (;;) {
    try {
      return await attempt(connection, path, init, read);
    } catch (error) {
      if (!isWorthRepeating(error)) throw error;
      await backoff.pause(error, init.signal);
    }
  }
}

/** Pauses between tries: doubling, with full jitter, never shorter than the server asks. */
export class Backoff {
  readonly #connection: Connection;
  #tries = 0;
  #sinceMs: number;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#sinceMs = connection.clock.now();
  }

  /** Something went well: the next pause is short again. */
  reset(): void {
    this.#tries = 0;
    this.#sinceMs = this.#connection.clock.now();
  }

  /** Waits before the next try, or until `wake`. Throws `unreachable` when it has been too long. */
  async pause(
    error: unknown,
    signal?: AbortSignal | null,
    wake?: Promise<unknown>,
  ): Promise<void> {
    const { clock, random, backoffMs, backoffMsMax, retryForMs, url } = this.#connection;
    if (clock.now() - this.#sinceMs >= retryForMs) {
      throw new GanglionError(
        "unreachable",
        `${url} did not take it for ${retryForMs / 1000} s: ${messageOf(error)}`,
        {
          action: "See whether the server runs; what was sent and read so far is not lost",
          cause: error,
        },
      );
    }
    const upTo = Math.min(backoffMsMax, backoffMs * 2 ** Math.min(this.#tries++, 30));
    const asked = error instanceof GanglionError ? error.retryAfterMs ?? 0 : 0;
    await sleep(clock, asked + random() * upTo, signal, wake);
  }
}
