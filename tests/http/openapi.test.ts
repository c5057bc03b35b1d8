/** The OpenAPI document and the page of errors say what the server does. */
import { expect, test } from "bun:test";
import { ERRORS } from "../../src/base/errors.ts";
import { CHUNK_TYPES } from "../../src/http/chunk_codec.ts";
import { SessionView } from "../../src/http/schemas.ts";
import { decodeSession } from "../../src/checkpoint/mod.ts";
import { EVENT_SCHEMAS } from "../../src/http/event_schemas.ts";
import { EventClient } from "./support/events.ts";
import { makeWorld, MemoryStore } from "./support/world.ts";
import { errorsPage } from "../../tools/gen_errors_doc.ts";

interface Document {
  openapi: string;
  paths: Record<string, Record<string, { requestBody?: { content: object }; responses: object }>>;
  components: { schemas: Record<string, unknown> };
}

test("/openapi.json lists every route that is built", async () => {
  const document = await (await makeWorld().send("/openapi.json")).json() as Document;
  expect(document.openapi).toBe("3.1.0");
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );
  expect(routes.sort()).toEqual([
    "DELETE /v1/sessions/{session}",
    "DELETE /v1/sessions/{session}/chunks/{seq}",
    "GET /healthz",
    "GET /livez",
    "GET /metrics",
    "GET /readyz",
    "GET /v1/events",
    "GET /v1/limits",
    "GET /v1/models",
    "GET /v1/models/{model}",
    "GET /v1/models/{model}/graph",
    "GET /v1/outputs",
    "GET /v1/sessions",
    "GET /v1/sessions/{session}",
    "GET /v1/sessions/{session}/outputs",
    "GET /v1/sessions/{session}/state",
    "GET /v1/slots",
    "POST /v1/sessions",
    "POST /v1/sessions/{session}/chunks",
    "POST /v1/sessions/{session}/fork",
    "POST /v1/sessions/{session}/park",
    "POST /v1/sessions/{session}/reset",
    "POST /v1/sessions/{session}/ticket",
    "PUT /v1/sessions/{session}/state",
  ]);
  const chunks = document.paths["/v1/sessions/{session}/chunks"]!.post!;
  expect(Object.keys(chunks.requestBody!.content).sort()).toEqual([...CHUNK_TYPES].sort());
  expect(Object.keys(document.components.schemas)).toContain("Problem");
});

test("every documented route is there, and a session has the documented fields", async () => {
  const { send, open } = makeWorld();
  const id = await open();
  const document = await (await send("/openapi.json")).json() as Document;
  for (const [path, methods] of Object.entries(document.paths)) {
    const to = path.replace("{session}", id).replace("{model}", "spiking").replace("{seq}", "9");
    for (const method of Object.keys(methods)) {
      if (method === "delete" && !to.endsWith("9")) continue;
      const { status, body } = await send(to, { method: method.toUpperCase() });
      expect([method, path, status]).not.toEqual([method, path, 405]);
      expect([method, path, status]).not.toEqual([method, path, 501]);
      await body?.cancel();
    }
  }
  const session = await (await send(`/v1/sessions/${id}`)).json();
  expect(SessionView.strict().safeParse(session).error).toBe(undefined);
});

test("events have the documented data", async () => {
  const store = new MemoryStore();
  const world = makeWorld({ store, limits: { stepRetries: 0 } });
  const id = await world.open({ record: ["lif.v"] });
  await world.post(id, new Float32Array(4 * 6), "?wait=true");
  world.executor.fails = () => true;
  await world.post(id, new Float32Array(4 * 6), "?wait=true");
  await world.clock.advance(2_000);
  const next = makeWorld({ store, limits: { noticeSeconds: 30 } });
  for (const bytes of store.files.values()) next.service.resume(decodeSession(bytes));
  const client = new EventClient(await next.send(`/v1/sessions/${id}/outputs`));
  await next.clock.advance(280_000);
  await next.send(`/v1/sessions/${id}`, { method: "DELETE" });
  await client.ended();
  const names = ["open", "output", "error", "rolled_back", "notice", "end"] as const;
  expect(client.events.map(({ event }) => event)).toEqual([...names]);
  const { OpenEvent, OutputEvent, ErrorEvent, RolledBackEvent, NoticeEvent, EndEvent } =
    EVENT_SCHEMAS;
  [OpenEvent, OutputEvent, ErrorEvent, RolledBackEvent, NoticeEvent, EndEvent].forEach(
    (schema, i) => {
      const { data } = client.events[i]!;
      expect(schema.parse(data)).toEqual(data); // unknown fields would be left out
    },
  );
});

test("docs/errors.md is what tools/gen_errors_doc.ts makes", async () => {
  const page = await Bun.file(new URL("../../docs/errors.md", import.meta.url)).text();
  expect(page).toBe(errorsPage());
  for (const code of Object.keys(ERRORS)) expect(page).toContain(`\`${code}\``);
});

test("docs/http_api.md names every documented route", async () => {
  const page = await Bun.file(new URL("../../docs/http_api.md", import.meta.url)).text();
  const document = await (await makeWorld().send("/openapi.json")).json() as Document;
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of Object.keys(methods)) {
      expect(page).toContain(`\`${method.toUpperCase()} ${path.replace("{session}", "{id}")}\``);
    }
  }
});
