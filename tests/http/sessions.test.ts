/** API §2: models, sessions, their life and their limits. */
import { describe, expect, test } from "bun:test";
import { expectProblem } from "./support/problems.ts";
import { EventClient } from "./support/events.ts";
import { leakyPlan, makeWorld, settle, spikingPlan } from "./support/world.ts";

const json = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const step = new Float32Array(6);

describe("POST /v1/sessions", () => {
  test("an empty request opens a session of the only model", async () => {
    const { send } = makeWorld();
    expect((await send("/v1/sessions", { method: "POST" })).status).toBe(201);
    expect((await send("/v1/sessions", json({}))).status).toBe(201);
    expect((await send("/v1/sessions", json({ model: "spiking" }))).status).toBe(201);
  });

  test("several models: the field model is needed, and one that is served", async () => {
    const { send } = makeWorld({ plans: [spikingPlan(), leakyPlan()] });
    await expectProblem(await send("/v1/sessions", json({})), "model_required", {
      models: ["spiking", "leaky"],
    });
    await expectProblem(await send("/v1/sessions", json({ model: "x" })), "model_unknown");
    const opened = await send("/v1/sessions", json({ model: "leaky" }));
    expect(await opened.json()).toMatchObject({ model: "leaky", output_shape: [1, 2] });
  });

  test.each(
    [
      ["not JSON", "{", "bad_json"],
      ["not UTF-8", "\u0000", "bad_json"],
      ["an array", "[]", "invalid_body"],
      ["an unknown field", { colour: 1 }, "invalid_body"],
      ["a negative ttl", { ttl_s: -1 }, "invalid_body"],
      ["a broken ttl", { ttl_s: 1.5 }, "invalid_body"],
      ["a ttl over the limit", { ttl_s: 86_401 }, "invalid_body"],
      ["a wait over the limit", { wait_s: 61 }, "invalid_body"],
      ["a wait that is text", { wait_s: "1" }, "invalid_body"],
      ["unknown outputs", { outputs: "all" }, "invalid_body"],
      ["an unknown probe", { record: ["nope.v"] }, "invalid_body"],
      ["record that is no list", { record: "lif.v" }, "invalid_body"],
      ["a state that is no text", { state: {} }, "invalid_body"],
    ] as const,
  )("%s is refused and takes no slot", async (_, body, code) => {
    const { send, service } = makeWorld();
    await expectProblem(await send("/v1/sessions", json(body)), code);
    expect(service.models[0]!.scheduler.slotsFree).toBe(3);
  });

  test("media type, encoding and size are checked before the body", async () => {
    const { send } = makeWorld();
    const post = (headers: HeadersInit, body = "{}") =>
      send("/v1/sessions", { method: "POST", headers, body });
    await expectProblem(await post({ "content-type": "text/plain" }), "unsupported_media_type");
    await expectProblem(
      await post({ "content-type": "application/json", "content-encoding": "gzip" }),
      "unsupported_media_type",
    );
    expect((await post({ "content-type": "Application/JSON; charset=utf-8" })).status).toBe(201);
    await expectProblem(
      await post({ "content-type": "application/json" }, `"${"x".repeat(70_000)}"`),
      "body_too_large",
      { bytes_max: 65_536 },
    );
  });

  test("a name that cannot be recorded is answered with those that can", async () => {
    const { send } = makeWorld();
    const { detail } = await (await send("/v1/sessions", json({ record: ["nope.v"] }))).json();
    expect(detail).toMatch(/^The model has no value named "nope\.v"; it has: .*\blif\.v\b/);
  });

  test("recorded values are bounded", async () => {
    const { send, open } = makeWorld({ limits: { recordValuesMax: 3 } });
    await open({ record: ["lif.v", "lif.v"] });
    await expectProblem(
      await send("/v1/sessions", json({ record: ["lif.v", "lif.s"] })),
      "invalid_body",
      {
        values: 6,
        values_max: 3,
      },
    );
  });

  test("no free slot: 503 at once, or a wait for one, first come first served", async () => {
    const world = makeWorld({ slots: 1, limits: { waitingSessionsMax: 2 } });
    const first = await world.open();
    const refused = await world.send("/v1/sessions", json({}));
    expect(refused.headers.get("retry-after")).toBe("1");
    await expectProblem(refused, "no_slot", { slots: 1 });

    const waiting = [1, 2].map(() => world.send("/v1/sessions", json({ wait_s: 10 })));
    await settle();
    await expectProblem(await world.send("/v1/sessions", json({ wait_s: 10 })), "no_slot");
    await world.clock.advance(5_000);
    await world.send(`/v1/sessions/${first}`, { method: "DELETE" });
    const second = await (await waiting[0]!).json() as { id: string };
    await world.clock.advance(5_000);
    await expectProblem(await waiting[1]!, "no_slot");
    expect(world.clock.now()).toBe(10_000);
    expect(second.id).toBe("session1");
  });

  test("a client that leaves while waiting leaves the queue", async () => {
    const world = makeWorld({ slots: 1 });
    const first = await world.open();
    const client = new AbortController();
    const left = world.send("/v1/sessions", { ...json({ wait_s: 60 }), signal: client.signal });
    await settle();
    const second = world.send("/v1/sessions", json({ wait_s: 60 }));
    await settle();
    client.abort();
    await settle();
    await world.send(`/v1/sessions/${first}`, { method: "DELETE" });
    expect((await second).status).toBe(201);
    await expectProblem(await left, "no_slot");
  });
});

describe("GET", () => {
  test("/v1/sessions lists the open ones, oldest first", async () => {
    const { send, open } = makeWorld();
    const ids = [await open(), await open(), await open()];
    await send(`/v1/sessions/${ids[1]}`, { method: "DELETE" });
    const list = await (await send("/v1/sessions")).json() as { sessions: { id: string }[] };
    expect(list.sessions.map(({ id }) => id)).toEqual([ids[0]!, ids[2]!]);
  });

  test("/v1/models describes what is served", async () => {
    const { send } = makeWorld({ plans: [spikingPlan(), leakyPlan()] });
    const { models } = await (await send("/v1/models")).json() as { models: { id: string }[] };
    expect(models.map(({ id }) => id)).toEqual(["spiking", "leaky"]);
    expect(await (await send("/v1/models/leaky")).json()).toEqual({
      id: "leaky",
      sample_shape: [4],
      output_shape: [1, 2],
      frame: 4,
      slots: 3,
      dt: 1e-4,
      dt_source: "default",
      discretization: "euler",
      options: {
        compare: "gt",
        reset: "v_reset",
        ifGain: "auto",
        cubaOrder: "new",
        flattenBatch: false,
        dialect: "none",
        gain: "file",
        form: "decay",
        spikes: "one",
        late: "none",
        synapse: "after",
        rest: "zero",
        clamp: false,
      },
      layers: [
        { name: "input", type: "input", shape: [4], kind: "input", state: [] },
        { name: "fc", type: "dense", shape: [1, 2], kind: "real", state: [] },
        { name: "li", type: "pointwise", shape: [1, 2], kind: "real", state: ["v"] },
      ],
      state_bytes: 24,
      digest: "leaky",
      numerics: "exact-1",
      executor: { kind: "reference", device: "plain TypeScript", software: true },
      notes: [],
    });
    await expectProblem(await send("/v1/models/x"), "model_unknown");
  });

  test("health, readiness, limits", async () => {
    const { send, service } = makeWorld({ phase: "starting", deps: { commit: "abc" } });
    expect(await (await send("/healthz")).json()).toEqual({
      status: "ok",
      version: "1.2.3",
      commit: "abc",
    });
    const starting = await send("/readyz");
    expect(starting.headers.get("retry-after")).toBe("1");
    await expectProblem(starting, "starting");
    await expectProblem(await send("/v1/sessions", { method: "POST" }), "starting");
    service.ready();
    expect((await send("/readyz")).status).toBe(200);
    expect(await (await send("/v1/limits")).json()).toMatchObject({ stepRetries: 2 });
    await service.drain();
    await expectProblem(await send("/readyz"), "draining");
    await expectProblem(await send("/v1/sessions", { method: "POST" }), "draining");
  });
});

describe("the end of a session", () => {
  test("DELETE: 204, then 410 on every route for 600 s, then 404", async () => {
    const world = makeWorld({ slots: 1 });
    const id = await world.open();
    await world.post(id, step, "?wait=true");
    const path = `/v1/sessions/${id}`;
    expect((await world.send(path, { method: "DELETE" })).status).toBe(204);
    const requests: [string, RequestInit][] = [
      [path, {}],
      [path, { method: "DELETE" }],
      [`${path}/chunks`, {
        method: "POST",
        headers: { "content-type": "application/octet-stream" },
        body: "xx",
      }],
      [`${path}/chunks/0`, { method: "DELETE" }],
      [`${path}/reset`, { method: "POST" }],
      [`${path}/state`, {}],
      [`${path}/fork`, { method: "POST" }],
    ];
    await world.clock.advance(599_000);
    for (const [to, init] of requests) {
      await expectProblem(await world.send(to, init), "session_gone", {
        reason: "closed",
        steps_done: 1,
      });
    }
    await world.clock.advance(1_000);
    for (const [to, init] of requests) {
      await expectProblem(await world.send(to, init), "session_unknown");
    }
    await expectProblem(await world.send(`${path}/outputs`), "session_unknown");
    expect(world.clock.timers).toBe(0);
  });

  test("idle: nothing queued or running and no chunk for ttl_s; readers do not count", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 10 });
    const events = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
    await world.clock.advance(9_999);
    expect((await world.post(id, step)).status).toBe(202);
    await world.clock.advance(9_999);
    expect((await world.send(`/v1/sessions/${id}`)).status).toBe(200);
    await world.clock.advance(1);
    await events.ended();
    expect(events.events.at(-1)!.data).toEqual({ reason: "idle" });
    await expectProblem(await world.send(`/v1/sessions/${id}`), "session_gone", { reason: "idle" });
    expect(world.service.models[0]!.scheduler.slotsFree).toBe(3);
  });

  test("idle never fires during a chunk, and counts from its end", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 10 });
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    await world.post(id, step);
    await world.clock.advance(25_000);
    expect((await world.send(`/v1/sessions/${id}`)).status).toBe(200);
    gate.resolve();
    await world.clock.advance(9_999);
    expect((await world.send(`/v1/sessions/${id}`)).status).toBe(200);
    await world.clock.advance(1);
    await expectProblem(await world.send(`/v1/sessions/${id}`), "session_gone");
  });

  test("ttl_s 0 means never", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 0 });
    await world.clock.advance(10 ** 9);
    expect((await world.send(`/v1/sessions/${id}`)).status).toBe(200);
  });

  test("a session that ends answers who waits with 410, and frees its slot during a step", async () => {
    const world = makeWorld({ slots: 1 });
    const id = await world.open();
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    const running = world.post(id, step, "?wait=true");
    const queued = world.post(id, step, "?wait=true");
    await settle();
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    await expectProblem(await running, "session_gone", { reason: "closed", steps_done: 0 });
    await expectProblem(await queued, "session_gone");
    const next = await world.open();
    world.executor.gate = null;
    gate.resolve();
    const values = new Float32Array(6).fill(1);
    const fresh = await (await world.post(next, values, "?wait=true")).json() as { data: unknown };
    const other = makeWorld();
    const expected = await (await other.post(await other.open(), values, "?wait=true")).json() as {
      data: unknown;
    };
    expect(fresh.data).toEqual(expected.data);
  });

  test("device lost: sessions of the model end, new ones are refused", async () => {
    const world = makeWorld();
    const id = await world.open();
    world.executor.lose();
    await settle();
    await expectProblem(await world.send(`/v1/sessions/${id}`), "session_gone", {
      reason: "device_lost",
    });
    await expectProblem(await world.send("/v1/sessions", { method: "POST" }), "device_lost");
    await expectProblem(await world.send("/readyz"), "device_lost");
    expect((await world.send("/healthz")).status).toBe(200);
  });

  test("close of the service ends all sessions, streams and waits", async () => {
    const world = makeWorld();
    const id = await world.open();
    const events = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
    world.executor.gate = new Promise(() => {});
    const waiting = world.post(id, step, "?wait=true");
    await settle();
    world.service.close();
    await events.ended();
    expect(events.events.at(-1)).toMatchObject({ event: "end", data: { reason: "drained" } });
    await expectProblem(await waiting, "session_gone", { reason: "drained" });
    expect(world.clock.timers).toBe(0);
  });
});

describe("reset", () => {
  test("puts the state back to rest, begins an epoch, keeps counting steps", async () => {
    const world = makeWorld();
    const id = await world.open();
    const values = new Float32Array(12).fill(0.7);
    const first = await (await world.post(id, values, "?wait=true")).json() as { data: unknown };
    const reset = await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    expect(await reset.json()).toMatchObject({
      epoch: 2,
      epochs: [{ epoch: 1, from_step: 0 }, { epoch: 2, from_step: 2 }],
      steps_done: 2,
      next_chunk_seq: 1,
    });
    const second = await (await world.post(id, values, "?wait=true")).json();
    expect(second).toMatchObject({ data: first.data, start_step: 2, end_step: 4, epoch: 2 });
  });

  test("needs an empty queue", async () => {
    const world = makeWorld();
    const id = await world.open();
    world.executor.gate = new Promise(() => {});
    await world.post(id, step);
    const answer = await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    await expectProblem(answer, "session_busy", { frames_waiting: 1 });
  });

  test("in a JSON chunk it comes before the chunk's first step, and not at all when cancelled", async () => {
    const world = makeWorld();
    const id = await world.open();
    const data = [[1, 0, 1, 0, 1, 0], [0, 1, 0, 1, 0, 1]];
    const post = async (body: unknown, query = "?wait=true") =>
      await (await world.send(`/v1/sessions/${id}/chunks${query}`, json(body))).json();
    const first = await post({ data });
    const continued = await post({ data });
    const fresh = await post({ data, reset: true });
    expect(fresh).toMatchObject({ data: first.data, epoch: 2, start_step: 4 });
    expect(continued.epoch).toBe(1);

    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    await post({ data }, "");
    await settle();
    expect(await post({ data, reset: true }, "")).toMatchObject({ seq: 4, epoch: 3 });
    expect((await world.send(`/v1/sessions/${id}/chunks/4`, { method: "DELETE" })).status).toBe(
      204,
    );
    gate.resolve();
    await settle();
    expect(await (await world.send(`/v1/sessions/${id}`)).json()).toMatchObject({ epoch: 2 });
  });
});
