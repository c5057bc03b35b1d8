/**
 * Who may come in. Without keys: only requests that were sent to this machine by name, and nothing
 * that a foreign web page could do. With keys: a bearer key on every route but the health checks.
 */
import { GanglionError } from "../base/errors.ts";
import type { Answer, AnswerHeaders } from "./answer.ts";
import type { AppDeps, Context } from "./context.ts";
import { keyFinder } from "./digest.ts";
import type { Tickets } from "./tickets.ts";

const LOCAL_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
/** The health checks, and the files of the pages, which tell nothing of this server. */
const OPEN_PATHS = /^\/(healthz|livez|readyz|web\/[\w.-]+)$/;
const EXPOSED = "Location, Retry-After, X-Request-Id, Chunk-Seq, Start-Step, Steps, Session-Epoch";

type GuardDeps = Pick<AppDeps, "apiKeys" | "corsOrigin">;

/** Who asks: the owner whose sessions the request may see. Throws when nobody may. */
export function guard(
  { apiKeys, corsOrigin }: GuardDeps,
  tickets: Tickets,
): (c: Context) => string | null {
  const findKey = keyFinder(apiKeys);
  const assertLocal = localGuard();
  return (c) => {
    if (apiKeys.length === 0) {
      assertLocal(c);
      assertOwnOrigin(c, corsOrigin);
      redeemTicket(c, tickets);
      return null;
    }
    if (OPEN_PATHS.test(c.req.path)) return null;
    const admitted = redeemTicket(c, tickets);
    if (admitted !== null) return admitted.owner;
    const given = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
    const owner = given === undefined ? null : findKey(given);
    if (owner === null) {
      throw new GanglionError(
        "unauthorized",
        given === undefined ? "The request has no key" : "The key is not known",
      );
    }
    return owner;
  };
}

/**
 * A request for outputs that has a ticket instead of a key: uses it up and says whose it is. Null when
 * there is none; a ticket that does not open what was asked for is refused, also without keys.
 */
function redeemTicket(c: Context, tickets: Tickets): { owner: string | null } | null {
  if (c.req.method !== "GET" || c.req.header("authorization") !== undefined) return null;
  const tokens = c.req.queries("ticket");
  if (tokens === undefined) return null;
  const session = /^\/v1\/sessions\/([^/]+)\/outputs$/.exec(c.req.path)?.[1];
  const wanted = session !== undefined
    ? [session]
    : c.req.path === "/v1/outputs"
    ? c.req.queries("session") ?? []
    : null;
  if (wanted === null) return null;
  const admitted = tickets.redeem(tokens, wanted);
  if (admitted !== false) return admitted;
  throw new GanglionError("unauthorized", "The ticket is used, too old, or for another session");
}

/** The foreign origin, if the request comes from one of its pages. */
export function foreignOrigin(c: Context, corsOrigin: string | null): string | null {
  return corsOrigin !== null && c.req.header("origin") === corsOrigin ? corsOrigin : null;
}

/** The answer to a preflight of that origin; null when the request is none. */
export function preflight(c: Context, corsOrigin: string): Answer | null {
  const isPreflight = c.req.method === "OPTIONS" &&
    c.req.header("access-control-request-method") !== undefined;
  if (!isPreflight) return null;
  return {
    status: 204,
    headers: {
      "access-control-allow-origin": corsOrigin,
      "access-control-allow-methods": "GET, POST, PUT, DELETE",
      "access-control-allow-headers": "Authorization, Content-Type, Accept, Last-Event-ID, " +
        "Chunk-Seq, Session-Epoch, X-Request-Id, Traceparent",
      "access-control-max-age": "600",
      "vary": "Origin",
    },
    body: null,
  };
}

/** What tells the browser that the page may read the answer. */
export const allowReading = (corsOrigin: string): AnswerHeaders => ({
  "access-control-allow-origin": corsOrigin,
  "access-control-expose-headers": EXPOSED,
  "vary": "Origin",
});

function hostOf(c: Context): string {
  return (c.req.header("host") ?? new URL(c.req.url).host).toLowerCase();
}

/** Against pages that give their own name to this machine's address. */
function localGuard(): (c: Context) => void {
  let last = ""; // the one that was let in last, which nearly every request names again
  return (c) => {
    const given = c.req.header("host");
    if (given === last) return;
    const host = hostOf(c);
    if (!LOCAL_HOSTS.has(host.replace(/:\d+$/, ""))) {
      throw new GanglionError("forbidden_host", `Requests for the host "${host}" are not served`);
    }
    if (given !== undefined) last = given;
  };
}

function assertOwnOrigin(c: Context, corsOrigin: string | null): void {
  const origin = c.req.header("origin");
  if (origin === undefined || SAFE_METHODS.has(c.req.method) || origin === corsOrigin) return;
  if (URL.canParse(origin) && new URL(origin).host === hostOf(c)) return;
  throw new GanglionError("forbidden_origin", `A page of "${origin}" may not change anything here`);
}
