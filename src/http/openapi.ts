/** The OpenAPI document: each route of the contract, its bodies and its answers. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import { z } from "@hono/zod-openapi";
import { CHUNK_TYPES } from "./chunk_codec.ts";
import { ENCODINGS } from "./encode_outputs.ts";
import { EVENT_SCHEMAS } from "./event_schemas.ts";
import {
  ChunkAnswer,
  ChunkBody,
  ChunkReceipt,
  CreateSession,
  GraphView,
  ModelList,
  ModelView,
  ProblemView,
  ServerStats,
  SessionList,
  SessionView,
  TicketView,
} from "./schemas.ts";

type Registry = OpenAPIHono["openAPIRegistry"];
type RouteConfig = Parameters<Registry["registerPath"]>[0];
type Responses = RouteConfig["responses"];

export const INFO = (version: string) => ({
  title: "Ganglion",
  version,
  description: "Streaming spiking neural networks: sessions, chunks in, outputs out.",
});

const json = (schema: z.ZodType) => ({ "application/json": { schema } });
const answer = (description: string, schema: z.ZodType) => ({ description, content: json(schema) });
const nothing = (description: string) => ({ description });
const binary = { schema: { type: "string", format: "binary" } as const };

const problems = (...statuses: number[]): Responses =>
  Object.fromEntries(statuses.map((status) => [status, {
    description: "A problem; `code` says which",
    content: { "application/problem+json": { schema: ProblemView } },
  }]));

const session = z.object({ session: z.string() });
const SESSION = "/v1/sessions/{session}";

const outputsQuery = z.object({
  encoding: z.enum(ENCODINGS).optional(),
  from: z.enum(["now"]).optional(),
  last_event_id: z.string().optional(),
  ticket: z.string().optional().openapi({ description: "Instead of a key, once" }),
});
const inexactQuery = z.object({
  allow_inexact: z.enum(["true", "false"]).optional().openapi({
    description: "Also take a state of another numerics tag",
  }),
});
const lastEventId = z.object({ "Last-Event-ID": z.string().optional() });
const events = (description: string) => ({
  description,
  content: { "text/event-stream": { schema: { type: "string" } as const } },
});

const ROUTES: readonly RouteConfig[] = [
  {
    method: "get",
    path: "/healthz",
    summary: "Whether the process lives",
    responses: { 200: nothing("It does") },
  },
  {
    method: "get",
    path: "/livez",
    summary: "Whether steps end; when they do not, only another process may help",
    responses: { 200: nothing("They do"), ...problems(503) },
  },
  {
    method: "get",
    path: "/readyz",
    summary: "Whether sessions and chunks are taken",
    responses: { 200: nothing("They are"), ...problems(503) },
  },
  {
    method: "get",
    path: "/v1/limits",
    summary: "Every limit of this server",
    responses: { 200: answer("Limits by name", z.record(z.string(), z.number())) },
  },
  {
    method: "get",
    path: "/v1/models",
    summary: "Served models",
    responses: { 200: answer("All models", ModelList) },
  },
  {
    method: "get",
    path: "/v1/models/{model}",
    summary: "One served model",
    request: { params: z.object({ model: z.string() }) },
    responses: { 200: answer("The model", ModelView), ...problems(404) },
  },
  {
    method: "get",
    path: "/v1/models/{model}/graph",
    summary: "Its layers, and what sessions may record",
    request: { params: z.object({ model: z.string() }) },
    responses: { 200: answer("The graph", GraphView), ...problems(404) },
  },
  {
    method: "post",
    path: "/v1/sessions",
    summary: "Open a session",
    request: { query: inexactQuery, body: { content: json(CreateSession) } },
    responses: {
      201: {
        ...answer("The session", SessionView),
        headers: { Location: { schema: { type: "string" }, description: "Its address" } },
      },
      ...problems(400, 404, 413, 415, 422, 429, 503),
    },
  },
  {
    method: "get",
    path: "/v1/sessions",
    summary: "Open sessions of this key",
    responses: { 200: answer("All sessions", SessionList) },
  },
  {
    method: "get",
    path: SESSION,
    summary: "One session",
    request: { params: session },
    responses: { 200: answer("The session", SessionView), ...problems(404, 410) },
  },
  {
    method: "delete",
    path: SESSION,
    summary: "Close a session; its slot is free at once",
    request: { params: session },
    responses: { 204: nothing("It is closed"), ...problems(404, 410) },
  },
  {
    method: "post",
    path: `${SESSION}/chunks`,
    summary: "Send time steps",
    request: {
      params: session,
      query: z.object({
        wait: z.enum(["true", "false"]).optional().openapi({
          description: "Answer with the outputs of these steps",
        }),
      }),
      headers: z.object({
        "Chunk-Seq": z.string().optional(),
        "Session-Epoch": z.string().optional(),
      }),
      body: {
        required: true,
        content: {
          ...Object.fromEntries(CHUNK_TYPES.map((type) => [type, binary])),
          ...json(ChunkBody),
        },
      },
    },
    responses: {
      200: {
        description: "With wait=true: the outputs of exactly these steps",
        content: {
          ...json(ChunkAnswer),
          "application/octet-stream": binary,
          "application/x-npy": binary,
        },
      },
      202: answer("Taken; start_step and end_step are the plan at this moment", ChunkReceipt),
      ...problems(400, 404, 406, 409, 410, 413, 415, 422, 429, 500, 503),
    },
  },
  {
    method: "delete",
    path: `${SESSION}/chunks/{seq}`,
    summary: "Cancel a chunk that has not begun",
    request: { params: session.extend({ seq: z.string() }) },
    responses: { 204: nothing("It will not run"), ...problems(404, 409, 410) },
  },
  {
    method: "get",
    path: `${SESSION}/outputs`,
    summary: "Outputs as server-sent events",
    request: {
      params: session,
      query: outputsQuery,
      headers: lastEventId,
    },
    responses: {
      200: events(
        "open, then output, error, rolled_back, notice, lagged and end events; their data are the " +
          "schemas OpenEvent, OutputEvent, …",
      ),
      204: nothing("The session has ended and this reader has read all"),
      ...problems(401, 404, 406, 422, 429),
    },
  },
  {
    method: "get",
    path: "/v1/outputs",
    summary: "Outputs of several sessions in one stream",
    request: {
      query: outputsQuery.extend({
        session: z.array(z.string()).openapi({ description: "Once for each session" }),
      }),
      headers: lastEventId,
    },
    responses: {
      200: events("As for one session; the data begins with its id in `session`"),
      204: nothing("All sessions have ended and this reader has read all"),
      ...problems(401, 404, 406, 422, 429),
    },
  },
  {
    method: "post",
    path: `${SESSION}/ticket`,
    summary: "A token that opens the outputs of this session once, without a key",
    request: { params: session },
    responses: {
      201: answer("The ticket", TicketView),
      ...problems(400, 404, 410, 413, 415, 422),
    },
  },
  {
    method: "get",
    path: "/v1/slots",
    summary: "Who holds which slot",
    responses: { 200: answer("Slots by model", ServerStats) },
  },
  {
    method: "get",
    path: "/v1/events",
    summary: "Server events for a dashboard",
    request: { query: outputsQuery.pick({ last_event_id: true }), headers: lastEventId },
    responses: {
      200: events(
        "session_opened, session_ended, device_lost, step_stuck, phase, missed; load every second",
      ),
      ...problems(406, 422, 429),
    },
  },
  {
    method: "get",
    path: "/metrics",
    summary: "Metrics in the Prometheus text format",
    responses: {
      200: { description: "Metrics", content: { "text/plain": { schema: { type: "string" } } } },
    },
  },
  {
    method: "post",
    path: `${SESSION}/reset`,
    summary: "Put the state back to rest",
    request: { params: session },
    responses: {
      200: answer("The session", SessionView),
      ...problems(400, 404, 409, 410, 413, 415, 422),
    },
  },
  {
    method: "get",
    path: `${SESSION}/state`,
    summary: "The session's state, a .safetensors file",
    request: { params: session },
    responses: {
      200: { description: "Every state tensor", content: { "application/octet-stream": binary } },
      ...problems(404, 406, 410, 503),
    },
  },
  {
    method: "put",
    path: `${SESSION}/state`,
    summary: "Replace the session's state",
    request: {
      params: session,
      query: inexactQuery,
      body: { required: true, content: { "application/octet-stream": binary } },
    },
    responses: {
      200: answer("The session", SessionView),
      ...problems(400, 404, 409, 410, 413, 415, 422, 503),
    },
  },
  {
    method: "post",
    path: `${SESSION}/fork`,
    summary: "A new session that goes on from this one's state",
    request: { params: session },
    responses: {
      201: {
        ...answer("The new session; parked when no slot is free", SessionView),
        headers: { Location: { schema: { type: "string" }, description: "Its address" } },
      },
      ...problems(400, 404, 410, 413, 415, 422, 429, 503),
    },
  },
  {
    method: "post",
    path: `${SESSION}/park`,
    summary: "Take the state off the device; the next chunk brings it back",
    request: { params: session },
    responses: {
      200: answer("The session", SessionView),
      ...problems(400, 404, 409, 410, 413, 415, 422, 503),
    },
  },
];

/** The query parameters that the document gives a route; null where it has none. */
export function queryParameters(method: string, path: string): string[] | null {
  const template = path.replaceAll(/:(\w+)/g, "{$1}");
  const route = ROUTES.find((each) =>
    each.method === method.toLowerCase() && each.path === template
  );
  const query = route?.request?.query;
  return query instanceof z.ZodObject ? Object.keys(query.shape) : null;
}

export function documentRoutes(registry: Registry): void {
  for (const route of ROUTES) registry.registerPath(route);
  for (const [name, schema] of Object.entries(EVENT_SCHEMAS)) registry.register(name, schema);
}
