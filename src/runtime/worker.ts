/**
 * The gateway at the edge: a Cloudflare Worker that hands requests of the public API on to the GPU
 * host in `env.ORIGIN` and its answers back. Bodies stream both ways, and a client that leaves is
 * told to the origin. It has no state and no GPU: it never imports the engine, the scheduler or the
 * model reader.
 */
import { type Context, Hono } from "hono";
import { type ErrorCode, ERRORS } from "../base/errors.ts";

interface Bindings {
  /** Base URL of the origin, e.g. `https://gpu-1.example.com`. */
  readonly ORIGIN?: string;
}

type GatewayContext = Context<{ Bindings: Bindings }>;

/** RFC 9110 §7.6.1: these speak of one connection and end here. */
const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

/** The same document that the origin would send for `code`. */
function problem(code: ErrorCode, detail: string): Response {
  const { status, title, action } = ERRORS[code];
  const type = `urn:ganglion:problem:${code}`;
  return Response.json({ type, title, status, detail, code, action }, {
    status,
    headers: { "content-type": "application/problem+json", "cache-control": "no-store" },
  });
}

/** The base URL of the origin, or undefined when it is missing or no http(s) URL. */
function originOf(text: string | undefined): URL | undefined {
  if (text === undefined || !URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === "https:" || url.protocol === "http:" ? url : undefined;
}

/** A copy without hop-by-hop headers, those that Connection names included. */
function endToEnd(headers: Headers): Headers {
  const copy = new Headers(headers);
  const named = (headers.get("connection") ?? "").split(",").map((name) => name.trim());
  for (const name of [...HOP_BY_HOP, ...named]) if (name !== "") copy.delete(name);
  return copy;
}

/** `Location` without the origin's name and base path, which clients cannot reach. */
function publicLocation(location: string, origin: URL, base: string): string {
  const target = new URL(location, origin);
  if (target.origin !== origin.origin) return location;
  const path = target.pathname.startsWith(`${base}/`)
    ? target.pathname.slice(base.length)
    : target.pathname;
  return path + target.search;
}

async function forward(context: GatewayContext): Promise<Response> {
  const origin = originOf(context.env.ORIGIN);
  if (origin === undefined) return problem("misconfigured", "ORIGIN is no http or https URL");
  const request = context.req.raw;
  const { pathname, search } = new URL(request.url);
  const base = origin.pathname.replace(/\/+$/, "");
  let answer: Response;
  try {
    answer = await fetch(new URL(`${base}${pathname}${search}`, origin), {
      method: request.method,
      headers: endToEnd(request.headers),
      body: request.body,
      redirect: "manual",
      signal: request.signal,
    });
  } catch {
    // The reason names addresses of the inside; the client needs only what to do.
    return problem("origin_unreachable", "The server is away, or ended the connection");
  }
  const headers = endToEnd(answer.headers);
  const location = headers.get("location");
  if (location !== null) headers.set("location", publicLocation(location, origin, base));
  return new Response(answer.body, { status: answer.status, headers });
}

const gateway = new Hono<{ Bindings: Bindings }>();

for (const path of ["/v1/*", "/healthz", "/livez", "/readyz", "/openapi.json"]) {
  gateway.all(path, forward);
}

gateway.notFound(() => problem("not_found", "The gateway hands on /v1 and the health routes"));

export default gateway;
