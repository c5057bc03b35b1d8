/** API §1: who may come in, and what every answer has. */
import { describe, expect, test } from "bun:test";
import { expectProblem } from "./support/problems.ts";
import { makeWorld } from "./support/world.ts";

const from = (headers: Record<string, string>, method = "GET"): RequestInit => ({
  method,
  headers,
});

describe("without keys", () => {
  test("only requests to this machine's own names are served", async () => {
    const { send } = makeWorld();
    for (
      const host of [
        "localhost",
        "localhost:8787",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:8787",
        "LocalHost",
      ]
    ) {
      expect([host, (await send("/v1/models", from({ host }))).status]).toEqual([host, 200]);
    }
    for (
      const host of [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.2",
        "0.0.0.0",
        "[::2]",
        "::1",
        "",
      ]
    ) {
      await expectProblem(await send("/v1/models", from({ host })), "forbidden_host");
    }
  });

  test("a foreign page may change nothing", async () => {
    const { send, service } = makeWorld();
    const host = "127.0.0.1:8787";
    for (
      const origin of [
        "https://evil.example",
        "null",
        "http://127.0.0.1:8788",
        "http://localhost:8787",
        "x",
      ]
    ) {
      await expectProblem(
        await send("/v1/sessions", from({ host, origin }, "POST")),
        "forbidden_origin",
      );
      await expectProblem(
        await send("/v1/sessions/x", from({ host, origin }, "DELETE")),
        "forbidden_origin",
      );
      expect((await send("/v1/models", from({ host, origin }))).status).toBe(200);
    }
    expect(service.sessions()).toEqual([]);
    const own = from({ host, origin: "http://127.0.0.1:8787" }, "POST");
    expect((await send("/v1/sessions", own)).status).toBe(201);
  });

  test("CORS is off, unless for one origin", async () => {
    const off = await makeWorld().send("/v1/models", from({ origin: "https://a.example" }));
    expect(off.headers.get("access-control-allow-origin")).toBe(null);

    const { send } = makeWorld({ deps: { corsOrigin: "https://a.example" } });
    const origin = "https://a.example";
    const preflight = await send("/v1/sessions", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe(origin);
    const opened = await send("/v1/sessions", from({ origin }, "POST"));
    expect(opened.status).toBe(201);
    expect(opened.headers.get("access-control-allow-origin")).toBe(origin);
    expect(opened.headers.get("access-control-expose-headers")).toContain("Location");
    const missing = await send("/v1/sessions/x", from({ origin }));
    expect(missing.headers.get("access-control-allow-origin")).toBe(origin);
    const other = await send("/v1/models", from({ origin: "https://b.example" }));
    expect(other.headers.get("access-control-allow-origin")).toBe(null);
  });
});

describe("with keys", () => {
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const keys = { deps: { apiKeys: ["alpha", "beta"] } };

  test("every route but the health checks needs one", async () => {
    const { send } = makeWorld(keys);
    for (
      const path of ["/v1/models", "/v1/sessions", "/", "/openapi.json", "/metrics", "/nothing"]
    ) {
      const answer = await send(path);
      expect(answer.headers.get("www-authenticate")).toContain("Bearer");
      await expectProblem(answer, "unauthorized");
    }
    for (const path of ["/healthz", "/livez", "/readyz"]) {
      expect((await send(path)).status).toBe(200);
    }
    for (const wrong of ["alph", "alphaa", "ALPHA", "", "alpha beta"]) {
      await expectProblem(await send("/v1/models", from(bearer(wrong))), "unauthorized");
    }
    await expectProblem(
      await send("/v1/models", from({ authorization: "Basic alpha" })),
      "unauthorized",
    );
    await expectProblem(await send("/v1/models?key=alpha&api_key=alpha"), "unauthorized");
    for (const right of ["alpha", "beta"]) {
      expect((await send("/v1/models", from(bearer(right)))).status).toBe(200);
    }
    expect((await send("/v1/models", from({ authorization: "bearer alpha" }))).status).toBe(200);
  });

  test("any host is served", async () => {
    const { send } = makeWorld(keys);
    expect((await send("/v1/models", from({ ...bearer("alpha"), host: "gpu.example" }))).status)
      .toBe(200);
  });

  test("a session belongs to the key that opened it: another's is 404, open or ended", async () => {
    const { send, open } = makeWorld(keys);
    const id = await open({}, { headers: bearer("alpha") });
    const path = `/v1/sessions/${id}`;
    const asBeta = (to: string, method = "GET") => send(to, from(bearer("beta"), method));
    const routes = [["", "GET"], ["", "DELETE"], ["/outputs", "GET"], ["/chunks", "POST"], [
      "/reset",
      "POST",
    ]] as const;
    for (const [tail, method] of routes) {
      await expectProblem(await asBeta(path + tail, method), "session_unknown");
    }
    expect(await (await asBeta("/v1/sessions")).json()).toEqual({ sessions: [] });
    expect((await send(path, from(bearer("alpha"), "DELETE"))).status).toBe(204);
    for (const [tail, method] of routes) {
      await expectProblem(await asBeta(path + tail, method), "session_unknown");
    }
    await expectProblem(await send(path, from(bearer("alpha"))), "session_gone");
  });
});

describe("every answer", () => {
  test("has a request id: the client's own when it is one, else a new one", async () => {
    const { send } = makeWorld();
    const own = await send("/v1/models", from({ "x-request-id": "trace-1.2:3" }));
    expect(own.headers.get("x-request-id")).toBe("trace-1.2:3");
    const junk = await send("/nothing", from({ "x-request-id": "a b" }));
    const ids = [junk.headers.get("x-request-id"), (await send("/")).headers.get("x-request-id")];
    expect(ids[0]).toMatch(/^[\w-]+$/);
    expect(ids[0]).not.toBe(ids[1]);
    await expectProblem(junk, "not_found");
  });

  test("404 where nothing is, 405 with Allow where another method is", async () => {
    const { send } = makeWorld();
    for (
      const path of [
        "/nothing",
        "/v1",
        "/v1/sessions/",
        "/v1/sessions/a/b",
        "/v1/models/a/b",
        "//",
        "/%00",
      ]
    ) {
      await expectProblem(await send(path), "not_found");
    }
    const patch = await send("/v1/sessions", { method: "PATCH" });
    expect(patch.headers.get("allow")).toBe("POST, GET, HEAD");
    await expectProblem(patch, "method_not_allowed", { allow: ["POST", "GET", "HEAD"] });
    await expectProblem(await send("/v1/sessions/x/chunks"), "method_not_allowed");
    await expectProblem(await send("/healthz", { method: "POST" }), "method_not_allowed");
    await expectProblem(await send("/openapi.json", { method: "DELETE" }), "method_not_allowed");
  });

  test("what later versions bring answers 501", async () => {
    const { send, open } = makeWorld();
    const path = `/v1/sessions/${await open()}`;
    await expectProblem(await send(`${path}/transfer`, { method: "POST" }), "not_built");
    await expectProblem(await send("/v1/sessions/x/fork", { method: "POST" }), "session_unknown");
  });

  test("a fault of ours is 500 with the request id and nothing else", async () => {
    const world = makeWorld();
    world.service.sessions = () => {
      throw new Error("secret /etc/passwd");
    };
    const answer = await world.send("/v1/sessions");
    const problem = await expectProblem(answer, "internal");
    expect(JSON.stringify(problem)).not.toContain("secret");
    expect(world.faults).toHaveLength(1);
  });

  test("long answers ask the connection to stay open", async () => {
    const world = makeWorld();
    const id = await world.open();
    let kept = 0;
    const connection = { keepOpen: () => void kept++ };
    const ask = (path: string, init?: RequestInit) =>
      world.app.fetch(new Request(`http://localhost${path}`, init), connection);
    const chunk = (query: string) =>
      ask(`/v1/sessions/${id}/chunks${query}`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: new Uint8Array(24),
      });
    await chunk("");
    await ask("/v1/models");
    expect(kept).toBe(0);
    await chunk("?wait=true");
    await (await ask(`/v1/sessions/${id}/outputs`)).body!.cancel();
    await ask("/v1/sessions", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"wait_s":1}',
    });
    expect(kept).toBe(3);
  });
});
