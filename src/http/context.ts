/** What every handler gets: the parts the application was made of, who asks, and plain flags. */
import type { HonoRequest } from "hono/request";
import { hint } from "../base/closest.ts";
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import type { ErrorCode } from "../base/errors.ts";
import type { ServerMetrics } from "../metrics/mod.ts";
import type { Service } from "../scheduler/mod.ts";
import type { RequestEntry } from "./access_log.ts";
import type { ServerEvents } from "./server_events.ts";

/** A file that browsers get, by its name below `/web/`. */
export interface WebFile {
  readonly name: string;
  /** Its media type. */
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What a handler may ask of the connection its request came on; each runtime gives its own. */
export interface Connection {
  /** The runtime must not cut this request for being silent (a long wait, an event stream). */
  keepOpen?(): void;
  /** Ends the connection soon, whatever is still to be sent; not every runtime can. */
  cut?(): void;
}

export interface AppDeps {
  readonly service: Service;
  readonly clock: Clock;
  /** Keys that are taken; none means that the server is open to this machine alone. */
  readonly apiKeys: readonly string[];
  /** The one foreign origin whose pages may call. */
  readonly corsOrigin: string | null;
  readonly limits: Limits;
  /** Both must be told by the service; see `observers`. */
  readonly metrics: ServerMetrics;
  readonly serverEvents: ServerEvents;
  readonly version: string;
  readonly commit?: string;
  /** Called with every fault of our own; standard error when left out. */
  readonly onFault?: (error: unknown, requestId: string) => void;
  /** Called once a request, when it is answered. */
  readonly onRequest?: (entry: RequestEntry) => void;
  /** Of the dashboard and the API reference; without them there are no pages. */
  readonly webFiles?: readonly WebFile[];
  /** Memory of the process. */
  readonly residentBytes?: () => number;
}

/**
 * One request while it is answered, and what is known of it. Not Hono's own, which makes a dozen functions
 * for every request.
 */
export class Context {
  readonly req: HonoRequest;
  readonly connection: Connection;
  readonly requestId: string;
  /** Whose sessions the request may see; null without keys. */
  owner: string | null = null;
  /** The pattern of the route that answers. */
  route: string | null = null;
  /** The code of the problem that is answered. */
  problem: ErrorCode | null = null;

  constructor(req: HonoRequest, connection: Connection, requestId: string) {
    this.req = req;
    this.connection = connection;
    this.requestId = requestId;
  }
}

/** Throws when the query has a parameter that is none of `names`: it may be a slip of the pen. */
export function assertQuery(c: Context, names: readonly string[]): void {
  if (!c.req.url.includes("?")) return;
  for (const name of Object.keys(c.req.queries())) {
    if (names.includes(name)) continue;
    throw new GanglionError(
      "invalid_query",
      `"${name.slice(0, 100)}" is no parameter here; ${hint(name.slice(0, 100), names)}`,
      {
        parameter: name.slice(0, 100),
        parameters: names,
      },
    );
  }
}

/** A query parameter that is true or false. */
export function flagOf(c: Context, name: string): boolean {
  const value = c.req.query(name);
  if (value === undefined || value === "false") return false;
  if (value === "true") return true;
  throw new GanglionError("invalid_query", `${name} must be true or false`, { parameter: name });
}
