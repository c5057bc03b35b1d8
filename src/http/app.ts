/**
 * The application: which handler answers which request, and what is done around every one of them, in
 * one function: request id, CORS, guard, errors, log. A plain `fetch` that knows no runtime; what it
 * needs of a connection comes as the second argument.
 */
import { OpenAPIHono } from "@hono/zod-openapi";
import { HonoRequest } from "hono/request";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { getPath } from "hono/utils/url";
import { randomId } from "../base/ids.ts";
import { GanglionError } from "../base/errors.ts";
import { accessLog } from "./access_log.ts";
import { type Answer, headOf, jsonAnswer } from "./answer.ts";
import { type AppDeps, assertQuery, type Connection, Context } from "./context.ts";
import { allowReading, foreignOrigin, guard, preflight } from "./guard.ts";
import { documentRoutes, INFO, queryParameters } from "./openapi.ts";
import { CHALLENGE, problemAnswer } from "./problem.ts";
import { chunkRoutes } from "./routes/chunks.ts";
import { outputRoutes } from "./routes/outputs.ts";
import { pageRoutes } from "./routes/pages.ts";
import { serverRoutes } from "./routes/server.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { stateRoutes } from "./routes/states.ts";
import { watchRoutes } from "./routes/watch.ts";
import { EventStreams } from "./sse.ts";
import { Tickets } from "./tickets.ts";

export type { AppDeps, Connection } from "./context.ts";

export interface App {
  fetch(request: Request, connection?: Connection): Response | Promise<Response>;
}

type RequestMatch = ConstructorParameters<typeof HonoRequest>[2];
type Handler = (c: Context) => Answer | Promise<Answer>;
type Route = readonly [method: "GET" | "POST" | "PUT" | "DELETE", path: string, handler: Handler];

const SESSION = "/v1/sessions/:session";

export function createApp(deps: AppDeps): App {
  const { clock, limits } = deps;
  const tickets = new Tickets({
    clock,
    seconds: limits.ticketSeconds,
    countMax: limits.ticketsMax,
  });
  const streams = new EventStreams(clock, limits.readerStallSeconds * 1000);
  const server = serverRoutes(deps);
  const sessions = sessionRoutes(deps);
  const chunks = chunkRoutes(deps);
  const outputs = outputRoutes(deps, streams, tickets);
  const states = stateRoutes(deps);
  const watch = watchRoutes(deps, streams);
  const pages = pageRoutes(deps);
  const router = new RegExpRouter<Handler>();
  const routes: Route[] = [
    ["GET", "/", pages.page],
    ["GET", "/docs", pages.page],
    ["GET", "/web/:file", pages.file],
    ["GET", "/healthz", server.healthy],
    ["GET", "/livez", server.live],
    ["GET", "/readyz", server.ready],
    ["GET", "/v1/limits", server.limits],
    ["GET", "/v1/models", server.models],
    ["GET", "/v1/models/:model", server.model],
    ["GET", "/v1/models/:model/graph", server.graph],
    ["POST", "/v1/sessions", sessions.create],
    ["GET", "/v1/sessions", sessions.list],
    ["GET", SESSION, sessions.get],
    ["DELETE", SESSION, sessions.close],
    ["POST", `${SESSION}/chunks`, chunks.post],
    ["DELETE", `${SESSION}/chunks/:seq`, chunks.cancel],
    ["GET", `${SESSION}/outputs`, outputs.stream],
    ["POST", `${SESSION}/reset`, sessions.reset],
    ["GET", `${SESSION}/state`, states.read],
    ["PUT", `${SESSION}/state`, states.replace],
    ["POST", `${SESSION}/fork`, states.fork],
    ["POST", `${SESSION}/park`, states.park],
    ["POST", `${SESSION}/ticket`, outputs.ticket],
    ["POST", `${SESSION}/transfer`, sessions.transfer],
    ["GET", "/v1/outputs", outputs.several],
    ["GET", "/v1/slots", watch.slots],
    ["GET", "/v1/events", watch.events],
    ["GET", "/metrics", watch.metrics],
    ["GET", "/openapi.json", () => jsonAnswer(document())],
  ];
  const document = documentOnce(deps.version);
  const allowed = methodsOf(routes);
  const around = surroundings(deps, tickets, pages.signIn);
  for (const [method, path, handler] of routes) {
    const parameters = queryParameters(method, path);
    const handle: Handler = (c) => {
      c.route = path;
      // Where a query says something, a name that is not known must not pass in silence.
      if (parameters !== null) assertQuery(c, parameters);
      return handler(c);
    };
    router.add(method, path, handle);
  }
  const missing: Handler = ({ req }) => {
    const allow = allowed(req.path);
    throw allow.length === 0
      ? new GanglionError("not_found", `There is nothing at ${req.path.slice(0, 200)}`)
      : new GanglionError("method_not_allowed", `Only ${allow.join(", ")} may be used here`, {
        allow,
      });
  };
  const nextId = requestIds();
  return {
    fetch(request, connection = {}) {
      const path = getPath(request);
      const match = router.match(request.method === "HEAD" ? "GET" : request.method, path);
      // Its parameters are all that a request takes of a match.
      const req = new HonoRequest(request, path, match as unknown as RequestMatch);
      return around(new Context(req, connection, nextId(req)), match[0][0]?.[0] ?? missing);
    },
  };
}

/**
 * What is done around every handler. One function, since each middleware of its own would cost every
 * request a few promises and closures.
 */
function surroundings(
  deps: AppDeps,
  tickets: Tickets,
  signIn: (c: Context) => Answer | null,
): (c: Context, handler: Handler) => Promise<Response> {
  const { clock, corsOrigin } = deps;
  const admit = guard(deps, tickets);
  const log = accessLog(deps);
  const onFault = deps.onFault ?? ((error, id) => console.error(`request ${id}:`, error));

  function refuse(c: Context, error: unknown): Answer {
    if (!(error instanceof GanglionError)) onFault(error, c.requestId);
    const code = error instanceof GanglionError ? error.code : "internal";
    c.problem = code;
    const page = code === "unauthorized" ? signIn(c) : null;
    return page === null
      ? problemAnswer(error, c.requestId)
      : { ...page, headers: { ...page.headers, "www-authenticate": CHALLENGE } };
  }

  return async (c, handler) => {
    const begin = clock.now();
    const origin = foreignOrigin(c, corsOrigin);
    const ofPreflight = origin === null ? null : preflight(c, origin);
    let answer: Answer;
    try {
      if (ofPreflight === null) c.owner = admit(c);
      answer = ofPreflight ?? await handler(c);
    } catch (error) {
      answer = refuse(c, error);
    }
    if (c.req.method === "HEAD") answer = headOf(answer);
    const isRead = origin !== null && ofPreflight === null;
    const headers = {
      ...answer.headers,
      ...(isRead ? allowReading(origin) : null),
      "x-request-id": c.requestId,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    };
    const response = new Response(answer.body, { status: answer.status, headers });
    log(c, answer, begin);
    return response;
  };
}

/** Every answer carries a request id: the client's own, or a new one. */
function requestIds(): (req: HonoRequest) => string {
  const prefix = randomId().slice(0, 8);
  let count = 0;
  return (req) => {
    const given = req.header("x-request-id");
    const isFine = given !== undefined && /^[\w.:/+=-]{1,128}$/.test(given);
    return isFine ? given : `${prefix}-${(count++).toString(36)}`;
  };
}

/** The methods that a path has. */
function methodsOf(routes: readonly Route[]): (path: string) => string[] {
  const patterns = routes.map(([method, path]) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/:\w+/g, "[^/]+")}$`),
  }));
  return (path) => {
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map((each) => each.method);
    return methods.includes("GET") ? [...methods, "HEAD"] : methods;
  };
}

/** The OpenAPI document, made when first asked for. */
function documentOnce(version: string): () => object {
  let document: object | null = null;
  return () => {
    if (document === null) {
      const app = new OpenAPIHono();
      documentRoutes(app.openAPIRegistry);
      document = app.getOpenAPI31Document({ openapi: "3.1.0", info: INFO(version) });
    }
    return document;
  };
}
