/**
 * The gateway in the real workerd, in front of a small origin: what goes in comes out unchanged and
 * unbuffered, and an origin that is away is told without saying where it was.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { readRootFile } from "../../tools/source_text.ts";

const EVENT = "data: 1\n\n";
const BODY_BYTES_MAX = 1 << 20;

/** What the origin saw, by path. */
const seen = new Map<string, { headers: Headers; bytes: Uint8Array }>();
/** Told when a client of `/v1/silent` has left. */
let onLeave: () => void = () => {};
let onArrival: () => void = () => {};
let finishStream: () => void = () => {};

/** A stream that says hello and then nothing until it is finished or left. */
function quietStream(): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(": hello\n\n"));
      finishStream = () => {
        controller.enqueue(new TextEncoder().encode(EVENT));
        controller.close();
      };
    },
    cancel: () => onLeave(),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function originFetch(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/v1/outputs") return quietStream();
  if (pathname.startsWith("/v1/silent")) {
    await request.arrayBuffer();
    request.signal.addEventListener("abort", () => onLeave());
    onArrival();
    if (pathname === "/v1/silent/wait") return new Promise(() => {}); // never answers
    return quietStream();
  }
  if (pathname === "/v1/moved") {
    const location = new URL("/v1/sessions/s1?a=1", request.url).href;
    return new Response(null, { status: 201, headers: { location } });
  }
  if (Number(request.headers.get("content-length")) > BODY_BYTES_MAX) {
    return Response.json({ code: "body_too_large" }, {
      status: 413,
      headers: { "content-type": "application/problem+json" },
    });
  }
  const bytes = new Uint8Array(await request.arrayBuffer());
  seen.set(pathname, { headers: request.headers, bytes });
  return new Response(bytes, { headers: { "chunk-seq": "7", "keep-alive": "timeout=5" } });
}

const origin = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: originFetch });
const workers: Miniflare[] = [];
let script = "";
let url: URL;

/** A gateway with its own environment, set up as wrangler.toml says. */
async function startGateway(bindings: Record<string, string>): Promise<URL> {
  const settings = Bun.TOML.parse(readRootFile("wrangler.toml")) as {
    compatibility_date: string;
    compatibility_flags: string[];
  };
  const worker = new Miniflare({
    modules: true,
    script,
    bindings,
    compatibilityDate: settings.compatibility_date,
    compatibilityFlags: settings.compatibility_flags,
    cf: false,
    host: "127.0.0.1",
    port: 0,
  });
  workers.push(worker);
  return await worker.ready;
}

beforeAll(async () => {
  const bundle = await build({
    entryPoints: [new URL("../../src/runtime/worker.ts", import.meta.url).pathname],
    bundle: true,
    format: "esm",
    write: false,
  });
  script = bundle.outputFiles[0]!.text;
  url = await startGateway({ ORIGIN: origin.url.href });
});

afterAll(async () => {
  await Promise.all(workers.map((worker) => worker.dispose()));
  await origin.stop(true);
});

test("a binary chunk reaches the origin and comes back byte for byte", async () => {
  const body = crypto.getRandomValues(new Uint8Array(65_536));
  const answer = await fetch(new URL("/v1/sessions/s1/chunks?wait=true", url), {
    method: "POST",
    headers: {
      "content-type": "application/octet-stream",
      "chunk-seq": "7",
      authorization: "Bearer key",
      te: "trailers",
      "proxy-authorization": "Basic secret",
    },
    body,
  });
  expect(new Uint8Array(await answer.arrayBuffer())).toEqual(body);
  expect(answer.headers.get("chunk-seq")).toBe("7");
  expect(answer.headers.get("keep-alive")).toBeNull();
  const { headers, bytes } = seen.get("/v1/sessions/s1/chunks")!;
  expect(bytes).toEqual(body);
  expect(headers.get("content-type")).toBe("application/octet-stream");
  expect(headers.get("content-length")).toBe("65536");
  expect(headers.get("authorization")).toBe("Bearer key");
  expect(headers.get("proxy-authorization")).toBeNull();
  expect(headers.get("te")).toBeNull();
});

test("the first comment of an event stream arrives before the stream ends", async () => {
  const answer = await fetch(new URL("/v1/outputs", url));
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe(": hello\n\n");
  finishStream();
  expect((await reader.read()).value).toBe(EVENT);
  expect((await reader.read()).done).toBe(true);
});

test("a client that leaves is told to the origin, in a silent stream and before an answer", async () => {
  const wait = { method: "POST", body: "chunk" };
  const calls = [["/v1/silent", {}], ["/v1/silent/wait", {}], ["/v1/silent/wait", wait]] as const;
  for (const [path, init] of calls) {
    const arrived = new Promise<void>((resolve) => onArrival = resolve);
    const left = new Promise<void>((resolve) => onLeave = resolve);
    const leave = new AbortController();
    const answer = fetch(new URL(path, url), { ...init, signal: leave.signal });
    void Promise.allSettled([answer]); // it is cut short on purpose
    await arrived;
    if (path === "/v1/silent") await (await answer).body!.getReader().read();
    leave.abort();
    await left;
  }
});

test("a body over the origin's limit is answered 413 by the origin", async () => {
  const body = new Uint8Array(3 * BODY_BYTES_MAX);
  const answer = await fetch(new URL("/v1/sessions/s1/chunks", url), { method: "POST", body });
  expect(answer.status).toBe(413);
  expect(await answer.json()).toEqual({ code: "body_too_large" });
});

test("a Location at the origin becomes one at the gateway", async () => {
  const answer = await fetch(new URL("/v1/moved", url), { method: "POST" });
  expect(answer.status).toBe(201);
  expect(answer.headers.get("location")).toBe("/v1/sessions/s1?a=1");
});

test("only the public routes are handed on", async () => {
  for (const path of ["/", "/metrics", "/v1/../metrics", "/docs"]) {
    const answer = await fetch(new URL(path, url));
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({ code: "not_found", status: 404 });
  }
  for (const path of ["/healthz", "/livez", "/readyz", "/openapi.json"]) {
    expect((await fetch(new URL(path, url))).status).toBe(200);
  }
});

test("an origin that is away is a 502 problem that does not say where it was", async () => {
  const gone = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: originFetch });
  const gateway = await startGateway({ ORIGIN: new URL("/inside", gone.url).href });
  expect((await fetch(new URL("/healthz", gateway))).status).toBe(200);
  expect(seen.has("/inside/healthz")).toBe(true);
  const { port } = gone;
  await gone.stop(true);

  const answer = await fetch(new URL("/v1/models", gateway));
  expect(answer.status).toBe(502);
  expect(answer.headers.get("content-type")).toBe("application/problem+json");
  const text = await answer.text();
  expect(JSON.parse(text)).toEqual({
    type: "urn:ganglion:problem:origin_unreachable",
    title: expect.any(String),
    status: 502,
    detail: expect.any(String),
    code: "origin_unreachable",
    action: expect.any(String),
  });
  expect(text).not.toContain(String(port));
  expect(text).not.toContain("inside");
});

test("a gateway without a usable origin is a 500 problem", async () => {
  const unusable: Record<string, string>[] = [{}, { ORIGIN: "" }, { ORIGIN: "ftp://example.com" }];
  for (const bindings of unusable) {
    const gateway = await startGateway(bindings);
    const answer = await fetch(new URL("/v1/models", gateway));
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({ code: "misconfigured", status: 500 });
  }
});
