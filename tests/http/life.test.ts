/** Life and its limits: notices, life time, keys, frame periods, readers that stall, bodies that dribble. */
import { describe, expect, test } from "bun:test";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { leakyPlan, makeWorld, settle, type World } from "./support/world.ts";

const step = new Float32Array(6);
const later = (world: World, ms: number) => new Date(world.clock.wallMs() + ms).toISOString();

async function watch(world: World, id: string) {
  const client = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
  await settle();
  return client;
}

describe("expiring", () => {
  test("is told before a session is idle for too long; a chunk takes it back", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 100 });
    const early = await watch(world, id);
    await world.clock.advance(69_999);
    expect(early.named("notice")).toEqual([]);
    await world.clock.advance(1);
    const notice = {
      id: undefined,
      event: "notice",
      data: { code: "expiring", reason: "idle", expires_at: later(world, 30_000) },
    };
    expect(early.named("notice")).toEqual([notice]);
    // Who comes later is told too, right after `open`.
    const late = await watch(world, id);
    expect(late.events.slice(1)).toEqual([notice]);
    await world.post(id, step);
    await settle();
    const after = await watch(world, id);
    expect(after.named("notice")).toEqual([]);
    await world.clock.advance(70_000);
    expect(early.named("notice")).toHaveLength(2);
    await world.clock.advance(30_000);
    await early.ended();
    expect(early.events.at(-1)).toMatchObject({ event: "end", data: { reason: "idle" } });
    await Promise.all([late.leave(), after.leave()]);
  });

  test("comes at half of a short life", async () => {
    const world = makeWorld();
    const client = await watch(world, await world.open({ ttl_s: 10 }));
    await world.clock.advance(4_999);
    expect(client.named("notice")).toHaveLength(0);
    await world.clock.advance(1);
    expect(client.named("notice")).toHaveLength(1);
    await client.leave();
  });
});

describe("life time", () => {
  test("ends a session that is in use, with a notice and the reason", async () => {
    const world = makeWorld({ limits: { lifetimeSeconds: 100 } });
    const id = await world.open({ ttl_s: 0 });
    const client = await watch(world, id);
    for (let i = 0; i < 9; i++) {
      await world.clock.advance(10_000);
      expect((await world.post(id, step)).status).toBe(202);
    }
    expect(client.named("notice")).toMatchObject([{ data: { reason: "lifetime" } }]);
    await world.clock.advance(10_000);
    await client.ended();
    expect(client.events.at(-1)).toMatchObject({ event: "end", data: { reason: "lifetime" } });
    await expectProblem(await world.post(id, step), "session_gone", { reason: "lifetime" });
    expect(world.service.stats()[0]!.slotsFree).toBe(3);
  });

  test("drops nothing that was taken", async () => {
    const world = makeWorld({ limits: { lifetimeSeconds: 100 } });
    const id = await world.open({ ttl_s: 0 });
    const client = await watch(world, id);
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    await world.clock.advance(99_000);
    await world.post(id, new Float32Array(9 * 6));
    await world.clock.advance(5_000);
    await expectProblem(await world.post(id, step), "session_gone", { reason: "lifetime" });
    expect((await world.send(`/v1/sessions/${id}`)).status).toBe(200);
    gate.resolve();
    await client.ended();
    const steps = client.named("output").map(({ data }) => data.steps);
    expect([steps, client.events.at(-1)!.data]).toEqual([[4, 4, 1], { reason: "lifetime" }]);
  });
});

describe("a key", () => {
  const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  const deps = { apiKeys: ["alpha", "beta"] };

  test("has so many sessions, open or waiting", async () => {
    const world = makeWorld({ deps, slots: 2, limits: { sessionsPerKeyMax: 2 } });
    const create = (key: string, body: object) =>
      world.send("/v1/sessions", {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", ...bearer(key).headers },
      });
    const first = await world.open({}, bearer("alpha"));
    await world.open({}, bearer("beta"));
    const waiting = create("alpha", { wait_s: 50 });
    await settle();
    const refused = await create("alpha", {});
    expect(refused.headers.get("retry-after")).toBe("1");
    await expectProblem(refused, "too_many_sessions", { per_key_max: 2 });
    await world.clock.advance(50_000);
    await expectProblem(await waiting, "no_slot");
    // Who waited in vain no longer counts; who closed one neither.
    await world.send(`/v1/sessions/${first}`, { method: "DELETE", ...bearer("alpha") });
    expect((await create("alpha", {})).status).toBe(201);
    await expectProblem(await create("alpha", {}), "no_slot");
  });

  test("has so many readers, whatever it reads", async () => {
    const world = makeWorld({ deps, limits: { readersPerKeyMax: 2 } });
    const ids = [await world.open({}, bearer("alpha")), await world.open({}, bearer("alpha"))];
    const other = await world.open({}, bearer("beta"));
    const read = (id: string, key: string) => world.send(`/v1/sessions/${id}/outputs`, bearer(key));
    const readers = [await read(ids[0]!, "alpha"), await read(ids[1]!, "alpha")];
    await expectProblem(await read(ids[0]!, "alpha"), "too_many_readers", { per_key_max: 2 });
    readers.push(await read(other, "beta"));
    await readers[1]!.body!.cancel();
    readers[1] = await read(ids[0]!, "alpha");
    expect(readers.map(({ status }) => status)).toEqual([200, 200, 200]);
    await Promise.all(readers.map(({ body }) => body!.cancel()));
  });
});

test("frame_period_ms: frame k of a chunk is late after k periods; late frames count", async () => {
  const world = makeWorld();
  const id = await world.open({ frame_period_ms: 40 });
  const seen = async () => {
    const view = await (await world.send(`/v1/sessions/${id}`)).json() as Record<string, number>;
    return [view.frame_period_ms, view.frames_late];
  };
  await world.post(id, new Float32Array(12 * 6), "?wait=true");
  expect(await seen()).toEqual([40, 0]);
  // A step of 60 ms: frame 1 is late at 60, frame 2 is not at 60.
  const gate = Promise.withResolvers<void>();
  world.executor.gate = gate.promise;
  await world.post(id, new Float32Array(8 * 6));
  await world.clock.advance(60);
  gate.resolve();
  await settle();
  expect(await seen()).toEqual([40, 1]);
  expect(await (await world.send("/metrics")).text())
    .toContain('ganglion_frames_late_total{model="spiking"} 1');
  for (const wrong of [-1, 60_001, "x"]) {
    await expectProblem(
      await world.send("/v1/sessions", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ frame_period_ms: wrong }),
      }),
      "invalid_body",
    );
  }
});

describe("a reader that takes nothing", () => {
  test("is cut after readerStallSeconds; one that takes a little is not", async () => {
    const limits = { readerStallSeconds: 20, ringBytesMax: 1 << 22, readerBytesMax: 1 << 22 };
    const world = makeWorld({ plans: [leakyPlan()], frame: 256, limits });
    const id = await world.open({ ttl_s: 0 });
    const read = async () => (await world.send(`/v1/sessions/${id}/outputs`)).body!.getReader();
    const [stalled, slow] = [await read(), await read()];
    for (let i = 0; i < 60; i++) await world.post(id, new Random(i).floats(1024), "?wait=true");
    const session = world.service.session(id);
    expect(session.readers).toBe(2);
    await world.clock.advance(15_000);
    await slow.read();
    await world.clock.advance(5_000);
    expect(session.readers).toBe(1);
    expect(await stalled.read().then(() => "ended", () => "cut")).toBe("cut");
    await world.clock.advance(19_000);
    await slow.read();
    await world.clock.advance(2_000);
    expect(session.readers).toBe(1);
    await slow.cancel();
    expect([session.readers, world.clock.timers]).toEqual([0, 0]);
  });

  test("is cut also after the last event", async () => {
    const limits = { readerStallSeconds: 20 };
    const world = makeWorld({ plans: [leakyPlan()], frame: 256, limits });
    const id = await world.open({ ttl_s: 0 });
    const reader = (await world.send(`/v1/sessions/${id}/outputs`)).body!.getReader();
    await world.post(id, new Random(1).floats(1024), "?wait=true");
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    expect(await (await world.send("/metrics")).text()).toContain("ganglion_event_streams 0");
    await world.clock.advance(20_000);
    expect(await reader.read().then(() => "ended", () => "cut")).toBe("cut");
  });
});

test("a body that does not come in time is refused, and takes no number", async () => {
  const world = makeWorld({ limits: { bodySeconds: 10 } });
  const id = await world.open();
  let sender!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (sender = controller),
  });
  const answer = world.send(`/v1/sessions/${id}/chunks`, {
    method: "POST",
    body,
    headers: { "content-type": "application/octet-stream" },
  });
  for (let i = 0; i < 9; i++) {
    sender.enqueue(new Uint8Array(1));
    await world.clock.advance(1000);
  }
  await world.clock.advance(1000);
  await expectProblem(await answer, "body_timeout", { seconds: 10 });
  expect(world.service.session(id).queue.nextSeq).toBe(0);
});
