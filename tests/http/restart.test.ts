/** Sessions beyond the end of a process: checkpoints, kill, roll-back (API §3–4, after a roll-back). */
import { describe, expect, test } from "bun:test";
import { decodeSession } from "../../src/checkpoint/mod.ts";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import {
  makeWorld,
  MemoryStore,
  onePass,
  settle,
  type World,
  type WorldOptions,
} from "./support/world.ts";

const octets = { accept: "application/octet-stream" };
const stream = (seed: number, steps: number) => new Random(seed).floats(steps * 6);

const run = async (world: World, id: string, values: Float32Array, headers = {}) => {
  const answer = await world.post(id, values, "?wait=true", { ...octets, ...headers });
  expect(answer.status).toBe(200);
  return [...new Float32Array(await answer.arrayBuffer())];
};

const view = async (world: World, id: string) =>
  await (await world.send(`/v1/sessions/${id}`)).json() as Record<string, unknown>;

/** The next process: what the store has goes on, as src/serve.ts does it. */
async function restart(store: MemoryStore, options: WorldOptions = {}): Promise<World> {
  const world = makeWorld({ ...options, store });
  for (const bytes of store.files.values()) world.service.resume(decodeSession(bytes));
  await world.service.keep();
  return world;
}

describe("after a kill", () => {
  test("durable_seq: chunks up to it survive, and the session goes on from there", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store, limits: { checkpointMs: 100 } });
    const id = await world.open();
    expect(await view(world, id)).toMatchObject({ durable_seq: null });
    await run(world, id, stream(1, 5));
    await world.clock.advance(100);
    expect(await view(world, id)).toMatchObject({ durable_seq: 0 });
    const lost = await world.post(id, stream(2, 5), "?wait=true");
    expect(await lost.json()).toMatchObject({ durable_seq: 0, seq: 1 });

    const next = await restart(store);
    expect(await view(next, id)).toMatchObject({
      steps_done: 5,
      next_chunk_seq: 1,
      durable_seq: 0,
      epoch: 2,
      epochs: [{ epoch: 1, from_step: 0 }, { epoch: 2, from_step: 5 }],
    });
    const late = await run(next, id, stream(2, 5), { "chunk-seq": "1" });
    const whole = Float32Array.from([...stream(1, 5), ...stream(2, 5)]);
    expect(late).toEqual([...await onePass(world.plan, whole)].slice(15));
  });

  test("the first unnumbered chunk is refused once with rolled_back", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const id = await world.open();
    await run(world, id, stream(1, 5));
    await world.clock.advance(1_000);
    const facts = { to_step: 5, next_chunk_seq: 1, epoch: 2 };
    let next = await restart(store);
    await expectProblem(await next.post(id, stream(2, 5)), "rolled_back", facts);
    await run(next, id, stream(2, 5));

    next = await restart(store);
    const epochs = (await view(next, id)).epoch as number;
    expect(epochs).toBe(3);
    await run(next, id, stream(2, 5), { "session-epoch": "3" });
    const stale = await next.post(id, stream(2, 5), "", { "session-epoch": "2" });
    await expectProblem(stale, "rolled_back", { epoch: 3 });
    await expectProblem(
      await next.post(id, stream(2, 5), "", { "session-epoch": "x" }),
      "bad_header",
      { header: "Session-Epoch" },
    );
    await run(next, id, stream(2, 5));
  });

  test("a number accepts the roll-back", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const id = await world.open();
    await run(world, id, stream(1, 5));
    await world.clock.advance(1_000);
    const next = await restart(store);
    // A repeat of what is durable has no second effect and the same bytes.
    expect(await run(next, id, stream(1, 5), { "chunk-seq": "0" })).toEqual(
      [...await onePass(world.plan, stream(1, 5))],
    );
    await run(next, id, stream(2, 5));
    await expectProblem(
      await next.post(id, stream(3, 1), "", { "chunk-seq": "0" }),
      "chunk_differs",
    );
  });

  test("rolled_back comes before anything else, also for an id behind the cut", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const id = await world.open();
    await run(world, id, stream(1, 4));
    await world.clock.advance(1_000);
    await run(world, id, stream(2, 4));
    const next = await restart(store);
    await run(next, id, stream(3, 2), { "chunk-seq": "1" });
    const read = async (last: string) => {
      const headers = { "last-event-id": last };
      const client = new EventClient(await next.send(`/v1/sessions/${id}/outputs`, { headers }));
      await settle();
      await client.leave();
      return client.events.map((each) => [each.id, each.event, each.data.resume]);
    };
    const after = [["2-4.1", "rolled_back", undefined], ["2-6", "output", undefined]];
    expect(await read("1-8")).toEqual([[undefined, "open", "full"], ...after]);
    expect(await read("1-4")).toEqual([[undefined, "open", "full"], ...after]);
    expect(await read("2-4.1")).toEqual([[undefined, "open", "full"], after[1]!]);
    expect(await read("9-4")).toEqual([
      [undefined, "open", "reset"],
      ["1-4", "output", undefined],
      ...after,
    ]);
  });

  test("what the ring had dropped before is still missing", async () => {
    const store = new MemoryStore();
    const limits = { ringBytesMax: 400 };
    const world = makeWorld({ store, limits });
    const id = await world.open();
    for (const seed of [1, 2, 3, 4]) await run(world, id, stream(seed, 4));
    await world.clock.advance(1_000);
    const next = await restart(store, { limits });
    const headers = { "last-event-id": "1-4" };
    const client = new EventClient(await next.send(`/v1/sessions/${id}/outputs`, { headers }));
    await settle();
    expect(client.events[0]!.data).toMatchObject({ resume: "partial", missing: { from_step: 4 } });
    await client.leave();
  });

  test("what waits in the queue is durable too, a chunk begun goes on where it was", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store, limits: { checkpointSteps: 8 } });
    const id = await world.open();
    const whole = stream(1, 30);
    await world.post(id, whole.slice(0, 20 * 6));
    await world.post(id, whole.slice(20 * 6));
    const session = world.service.session(id);
    while (session.stepsDone < 12) await settle(1);
    await world.service.keep();
    const at = decodeSession(store.files.get(id)!).timeline.stepsDone;
    expect(at).toBeGreaterThanOrEqual(12);
    expect(at).toBeLessThan(30);
    await settle();
    const image = store.files.get(id)!;

    const killed = new MemoryStore();
    killed.files.set(id, image);
    const next = await restart(killed);
    const events = new EventClient(await next.send(`/v1/sessions/${id}/outputs`));
    await settle();
    const values = events.named("output").flatMap(({ data }) => (data.data as number[][]).flat());
    expect(values).toEqual([...await onePass(world.plan, whole)]);
    expect(await view(next, id)).toMatchObject({
      durable_seq: 1,
      next_chunk_seq: 2,
      steps_done: 30,
    });
  });

  test("an ended session does not come back, and a failing disk is said and tried again", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const [first, second] = [await world.open(), await world.open()];
    await world.clock.advance(1_000);
    expect([...store.files.keys()].sort()).toEqual([first, second]);
    await world.send(`/v1/sessions/${first}`, { method: "DELETE" });
    await settle();
    expect([...store.files.keys()]).toEqual([second]);

    store.fails = true;
    await run(world, second, stream(1, 3));
    await world.clock.advance(5_000);
    expect(world.said[0]).toContain("disk full");
    expect(world.said.length).toBeLessThan(4);
    expect(await view(world, second)).toMatchObject({ durable_seq: null });
    store.fails = false;
    await world.clock.advance(10_000);
    expect(await view(world, second)).toMatchObject({ durable_seq: 0 });
  });

  test("a session that ends while it is written does not come back", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const id = await world.open();
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    await world.clock.advance(1_000);
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    gate.resolve();
    await settle();
    expect(store.files.size).toBe(0);
  });

  test("reset: the new epoch is durable before it is answered", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const id = await world.open();
    await run(world, id, stream(1, 3));
    await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    const next = await restart(store);
    expect(await view(next, id)).toMatchObject({ epoch: 3, steps_done: 3 });
    const late = await run(next, id, stream(2, 4), { "session-epoch": "3" });
    expect(late).toEqual([...await onePass(world.plan, stream(2, 4))]);
  });

  test("held outputs that a reader says it has make room", async () => {
    const store = new MemoryStore();
    const limits = { ringBytesMax: 1200 };
    const world = makeWorld({ store, limits });
    const id = await world.open({ outputs: "hold" });
    for (const seed of [1, 2, 3]) await run(world, id, stream(seed, 4));
    await world.clock.advance(1_000);
    const next = await restart(store, { limits });
    const chunk = () => next.post(id, stream(4, 20), "", { "session-epoch": "2" });
    await expectProblem(await chunk(), "outputs_unread");
    const headers = { "last-event-id": "1-12" };
    const client = new EventClient(await next.send(`/v1/sessions/${id}/outputs`, { headers }));
    await settle();
    expect((await chunk()).status).toBe(202);
    await client.leave();
  });
});

describe("the end of a process", () => {
  test("suspend: all sessions are kept as they are, readers leave without an end", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ store });
    const ids = [await world.open(), await world.open()];
    for (const [i, id] of ids.entries()) await run(world, id, stream(i, 6));
    const events = new EventClient(await world.send(`/v1/sessions/${ids[0]}/outputs`));
    await settle();
    // One chunk is stuck: what the grace period leaves over.
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    const waiting = world.post(ids[0]!, stream(5, 9), "?wait=true");
    await settle();
    void world.service.drain();
    await expectProblem(await world.send("/readyz"), "draining");
    const suspended = world.service.suspend();
    gate.resolve();
    expect(await suspended).toBe(true);
    world.service.close();
    await events.ended();
    expect(events.named("end")).toEqual([]);
    expect((await waiting).status).toBe(202);
    await expectProblem(await world.send(`/v1/sessions/${ids[0]}`), "draining");
    expect(world.clock.timers).toBe(0);

    const next = await restart(store);
    await settle();
    const again = await next.post(ids[0]!, stream(5, 9), "?wait=true", {
      ...octets,
      "chunk-seq": "1",
    });
    const whole = Float32Array.from([...stream(0, 6), ...stream(5, 9)]);
    expect([...new Float32Array(await again.arrayBuffer())])
      .toEqual([...await onePass(world.plan, whole)].slice(18));
  });

  test("owners, limits, recording and times go with the session", async () => {
    const store = new MemoryStore();
    const deps = { apiKeys: ["first", "second"] };
    const world = makeWorld({ store, deps });
    const headers = { authorization: "Bearer first" };
    const id = await world.open({ ttl_s: 9, record: ["lif.v"], outputs: "hold" }, { headers });
    const before = await (await world.send(`/v1/sessions/${id}`, { headers })).json();
    await world.service.keep();
    expect(Buffer.from(store.files.get(id)!).includes("first")).toBe(false);
    const next = await restart(store, { deps });
    const after = await (await next.send(`/v1/sessions/${id}`, { headers })).json();
    const { created_at, ttl_s, record, outputs } = before;
    expect(after).toMatchObject({ created_at, ttl_s, record, outputs });
    const other = { authorization: "Bearer second" };
    await expectProblem(
      await next.send(`/v1/sessions/${id}`, { headers: other }),
      "session_unknown",
    );
    await next.clock.advance(9_000);
    await expectProblem(await next.send(`/v1/sessions/${id}`, { headers }), "session_gone");
    await settle();
    expect(store.files.size).toBe(0);
  });
});
