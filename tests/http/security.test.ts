/** DESIGN §9, API §1: what must not get in, through or out. */
import { describe, expect, test } from "bun:test";
import { keyFinder } from "../../src/http/digest.ts";
import { dense, input, makePlan, pointwise, Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld, settle } from "./support/world.ts";

const octets = new Uint8Array(24);

describe("content types are never guessed", () => {
  const NAMES = [
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="utf-8" ; x=y',
  ];
  const WRONG = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonp",
    "application/json, text/plain",
    "json",
    ";application/json",
    "application/problem+json",
  ];

  test("of a JSON route", async () => {
    const { send } = makeWorld({ slots: 20 });
    const create = (type: string | null, body: BodyInit | null = '{"ttl_s":5}') =>
      send("/v1/sessions", {
        method: "POST",
        body,
        headers: type === null ? {} : { "content-type": type },
      });
    for (const type of NAMES) expect([type, (await create(type)).status]).toEqual([type, 201]);
    for (const type of WRONG) await expectProblem(await create(type), "unsupported_media_type");
    // A body without a type; bytes, so that the request gives it none by itself.
    await expectProblem(
      await create(null, new TextEncoder().encode("{}")),
      "unsupported_media_type",
    );
    await expectProblem(await create("application/json", null), "bad_json");
    expect((await create(null, null)).status).toBe(201);
    expect((await create(null, new Uint8Array(0))).status).toBe(201);
  });

  test("of a chunk: JSON sent as octets is octets, and the other way round", async () => {
    const world = makeWorld();
    const id = await world.open();
    const chunk = (type: string, body: BodyInit, headers = {}) =>
      world.send(`/v1/sessions/${id}/chunks`, {
        method: "POST",
        body,
        headers: { "content-type": type, ...headers },
      });
    await expectProblem(await chunk("application/json", octets), "bad_json");
    await expectProblem(await chunk("application/octet-stream", '{"data":[]}'), "bad_length");
    for (const type of WRONG) {
      await expectProblem(await chunk(type, octets), "unsupported_media_type");
    }
    for (const encoding of ["gzip", "br", "deflate", "identity, gzip", "x"]) {
      await expectProblem(
        await chunk("application/octet-stream", octets, { "content-encoding": encoding }),
        "unsupported_media_type",
      );
    }
    expect((await chunk("Application/Octet-Stream; x=y", octets)).status).toBe(202);
    expect(world.service.session(id).queue.nextSeq).toBe(1);
  });
});

describe("keys", () => {
  const world = makeWorld({ deps: { apiKeys: ["alpha", "ключ", "a".repeat(500)] } });
  const ask = (authorization: string) => world.send("/v1/models", { headers: { authorization } });

  test.each([
    "Bearer",
    "Bearer ",
    "Bearer alpha,Bearer alpha",
    "Bearer alpha, Bearer alpha",
    "Bearer alpha alpha",
    "Bearer\talpha",
    'Bearer "alpha"',
    "bearer:alpha",
    "alpha",
    "Bearer alphА",
    "Bearer null",
    "Bearer undefined",
    `Bearer ${"a".repeat(499)}`,
    `Bearer ${"a".repeat(60_000)}`,
  ])("%p is none", async (header) => {
    const answer = await ask(encodeURIComponent(header) === header ? header : ascii(header));
    await expectProblem(answer, "unauthorized");
  });

  test("are compared whole, whatever their length", () => {
    const find = keyFinder(["alpha", "beta"]);
    expect([find("alpha"), find("beta")].every((owner) => owner?.startsWith("key:"))).toBe(true);
    expect(find("alpha")).not.toBe(find("beta"));
    expect(find("alpha")).not.toContain("alpha");
    for (const wrong of ["", "a", "alph", "alphaa", "alpha\0", "Alpha"]) {
      expect(find(wrong)).toBe(null);
    }
  });

  test("guard every address, however it is written", async () => {
    for (
      const path of [
        "/healthz/",
        "//healthz",
        "/healthz/../v1/models",
        "/v1/models;/healthz",
        "/HEALTHZ",
        "/v1/%6dodels",
        "/v1/limits",
        "/metrics",
        "/v1/slots",
        "/v1/events",
        "/v1/outputs?session=x",
        "/docs",
      ]
    ) {
      expect([path, (await world.send(path)).status]).toEqual([path, 401]);
    }
    expect((await world.send("/healthz?x=/v1/models")).status).toBe(200);
    const preflight = await world.send("/v1/models", { method: "OPTIONS" });
    expect(preflight.status).toBe(401);
  });

  test("are in no answer and no log", async () => {
    const entries: unknown[] = [];
    const watched = makeWorld({
      deps: { apiKeys: ["s3cret"], onRequest: (entry) => void entries.push(entry) },
    });
    const headers = { authorization: "Bearer s3cret" };
    for (const path of ["/", "/v1/models", "/v1/limits", "/metrics", "/v1/slots", "/nothing"]) {
      const answer = await watched.send(path, { headers });
      expect(await answer.text()).not.toContain("s3cret");
    }
    expect(JSON.stringify(entries)).not.toContain("s3cret");
  });
});

/** Headers carry latin-1 only. */
const ascii = (text: string) => text.replaceAll(/[^\x20-\x7e\t]/g, "?");

describe("nothing that a client says comes back as something else", () => {
  test("no header can be made by a request", async () => {
    const { send } = makeWorld({ deps: { corsOrigin: "https://a.example" } });
    const answer = await send("/v1/sessions/%0d%0aset-cookie:%20a=b", {
      headers: {
        "x-request-id": "a%0d%0aset-cookie: a=b",
        origin: "https://b.example",
        accept: "text/html\tset-cookie: a=b",
      },
    });
    expect([...answer.headers.keys()].sort()).toEqual([
      "cache-control",
      "content-type",
      "referrer-policy",
      "x-content-type-options",
      "x-request-id",
    ]);
    expect(answer.headers.get("x-request-id")).toMatch(/^[\w-]+$/);
  });

  test("problems and texts are never taken for pages", async () => {
    const { send } = makeWorld();
    for (const path of ["/<script>alert(1)</script>", "/", "/metrics", "/v1/models/<b>"]) {
      const answer = await send(path);
      expect(answer.headers.get("content-type")).not.toContain("html");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("names with line ends cannot end an event", async () => {
    const random = new Random(3);
    const evil = 'lif\r\n\r\nevent: end\ndata: {}\u2028"<b>';
    const plan = makePlan("model\n\nevent: x", [
      input([2]),
      { name: "fc", inputs: ["input"], shape: [2], ...dense(random, 2, 2) },
      { name: evil, inputs: ["fc"], shape: [2], ...pointwise(random, "lif", 2) },
    ]);
    const world = makeWorld({ plans: [plan] });
    const id = await world.open({ record: [`${evil}.v`] });
    const client = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
    const events = new EventClient(await world.send("/v1/events"));
    await world.post(id, new Float32Array(4), "?wait=true");
    const other = await world.open();
    await settle();
    expect(client.events.map(({ event }) => event)).toEqual(["open", "output"]);
    expect(Object.keys(client.events[1]!.data.probes)).toEqual([`${evil}.v`]);
    const told = events.events.filter(({ event }) => event !== "load");
    expect(told.map(({ event, data }) => [event, data.model, data.session]))
      .toEqual([["session_opened", plan.name, id], ["session_opened", plan.name, other]]);
    const metrics = await (await world.send("/metrics")).text();
    expect(metrics).toContain('model="model\\n\\nevent: x"');
    await Promise.all([client.leave(), events.leave()]);
  });

  test("a prototype is no field", async () => {
    const world = makeWorld();
    for (const body of ['{"__proto__":{"ttl_s":0}}', '{"constructor":{}}', '{"toString":1}']) {
      const answer = await world.send("/v1/sessions", {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
      });
      expect([body, answer.status === 201 || answer.status === 422]).toEqual([body, true]);
    }
    expect(({} as Record<string, unknown>).ttl_s).toBe(undefined);
    for (const id of ["__proto__", "constructor", "toString"]) {
      await expectProblem(await world.send(`/v1/sessions/${id}`), "session_unknown");
      await expectProblem(await world.send(`/v1/models/${id}`), "model_unknown");
    }
  });
});
