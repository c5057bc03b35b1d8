/** API §2: the state as a resource: read, replace, fork, park; more sessions than slots. */
import { describe, expect, test } from "bun:test";
import { encodeSnapshot } from "../../src/checkpoint/mod.ts";
import { restState } from "../../src/model/row_state.ts";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { leakyPlan, makeWorld, onePass, settle, type World } from "./support/world.ts";

const OCTETS = { "content-type": "application/octet-stream" };
const octets = { accept: "application/octet-stream" };
const stream = (seed: number, steps: number) => new Random(seed).floats(steps * 6);

async function outputs(answer: Response): Promise<number[]> {
  expect(answer.status).toBe(200);
  return [...new Float32Array(await answer.arrayBuffer())];
}

const run = async (world: World, id: string, values: Float32Array): Promise<number[]> =>
  await outputs(await world.post(id, values, "?wait=true", octets));

const view = async (world: World, id: string) =>
  await (await world.send(`/v1/sessions/${id}`)).json() as Record<string, unknown>;

const snapshot = async (world: World, id: string): Promise<Uint8Array<ArrayBuffer>> => {
  const answer = await world.send(`/v1/sessions/${id}/state`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([
    200,
    OCTETS["content-type"],
  ]);
  return new Uint8Array(await answer.arrayBuffer());
};

const put = (world: World, id: string, body: Uint8Array<ArrayBuffer>, query = "") =>
  world.send(`/v1/sessions/${id}/state${query}`, { method: "PUT", body, headers: OCTETS });

const post = (world: World, path: string) => world.send(path, { method: "POST" });

describe("GET and PUT …/state", () => {
  test("a restored session's outputs are those of the session that was saved", async () => {
    const world = makeWorld();
    const [first, second] = [await world.open(), await world.open()];
    const whole = stream(1, 20);
    const wanted = [...await onePass(world.plan, whole)];
    const early = await run(world, first, whole.slice(0, 7 * 6));
    const file = await snapshot(world, first);
    const late = await run(world, first, whole.slice(7 * 6));
    expect([...early, ...late]).toEqual(wanted);

    await run(world, second, stream(2, 5));
    const answer = await put(world, second, file);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      steps_done: 7,
      next_chunk_seq: 1,
      epoch: 2,
      epochs: [{ epoch: 1, from_step: 0 }, { epoch: 2, from_step: 7 }],
    });
    const again = await world.post(second, whole.slice(7 * 6), "?wait=true", octets);
    expect(again.headers.get("start-step")).toBe("7");
    expect(await outputs(again)).toEqual(late);
  });

  test("the ring is emptied, and a repeat of an earlier chunk says that its outputs are gone", async () => {
    const world = makeWorld();
    const id = await world.open();
    await run(world, id, stream(1, 3));
    await put(world, id, await snapshot(world, id));
    const events = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
    await settle();
    expect(events.events.map(({ event }) => event)).toEqual(["open"]);
    await events.leave();
    const repeat = await world.post(id, stream(1, 3), "?wait=true", { "chunk-seq": "0" });
    await expectProblem(repeat, "outputs_gone");
  });

  test("open says what is missing of the new time-line, and nothing of the one before", async () => {
    // An event of 4 steps takes 48 + 128 bytes: two fit.
    const world = makeWorld({ limits: { ringBytesMax: 400 } });
    const id = await world.open();
    for (const seed of [1, 2, 3, 4]) await run(world, id, stream(seed, 4));
    const early = await world.open();
    await run(world, early, stream(9, 5));
    await put(world, id, await snapshot(world, early));
    const opening = async (last?: string) => {
      const headers: Record<string, string> = last === undefined ? {} : { "last-event-id": last };
      const events = new EventClient(await world.send(`/v1/sessions/${id}/outputs`, { headers }));
      await settle();
      await events.leave();
      const { data } = events.named("open")[0]!;
      return { ...data, ids: events.named("output").map((each) => each.id) };
    };
    const nothing = { epoch: 2, next_start_step: 5, missing: null, ids: [] };
    expect(await opening()).toEqual({ ...nothing, resume: "start" });
    expect(await opening("1-16")).toEqual({ ...nothing, resume: "full" });
    // Outputs after these were emptied with the ring, and cannot be told any more.
    for (const last of ["1-4", "1-12"]) {
      expect(await opening(last)).toEqual({ ...nothing, resume: "reset" });
    }
    for (const seed of [5, 6, 7]) await run(world, id, stream(seed, 4));
    const rest = { epoch: 2, next_start_step: 9, ids: ["2-13", "2-17"] };
    const missing = { from_step: 5, to_step: 9 };
    expect(await opening()).toEqual({ ...rest, resume: "start", missing });
    expect(await opening("1-16")).toEqual({ ...rest, resume: "partial", missing });
    expect(await opening("1-4")).toEqual({ ...rest, resume: "reset", missing });
    expect(await opening("2-9")).toEqual({ ...rest, resume: "full", missing: null });
  });

  test("a chunk that knows only an older epoch is refused after PUT state and reset; a repeat is not", async () => {
    const world = makeWorld();
    const id = await world.open();
    const chunk = stream(1, 5);
    const wanted = await run(world, id, chunk);
    const send = (values: Float32Array, headers: Record<string, string>) =>
      world.post(id, values, "", headers);
    const stale = async (epoch: number, at: Record<string, number>, headers = {}) => {
      const answer = await send(stream(2, 3), { "session-epoch": String(epoch), ...headers });
      await expectProblem(answer, "rolled_back", at);
    };
    await put(world, id, await snapshot(world, id));
    await stale(1, { epoch: 2, to_step: 5, next_chunk_seq: 1 });
    await stale(1, { epoch: 2, to_step: 5, next_chunk_seq: 1 }, { "chunk-seq": "1" });
    expect((await send(stream(2, 3), { "session-epoch": "2" })).status).toBe(202);
    await settle();
    await post(world, `/v1/sessions/${id}/reset`);
    await stale(2, { epoch: 3, to_step: 8, next_chunk_seq: 2 });
    // Nothing was rolled back: without an epoch a chunk goes through.
    expect((await send(stream(3, 1), {})).status).toBe(202);
    const repeat = await send(chunk, { "chunk-seq": "0", "session-epoch": "1" });
    expect([repeat.status, (await repeat.json()).seq]).toEqual([202, 0]);
    const inTime = await world.open();
    expect(await run(world, inTime, chunk)).toEqual(wanted);
  });

  test("a chunk with reset: its own epoch may be the old one, what follows knows the new one", async () => {
    const world = makeWorld();
    const id = await world.open();
    const send = (body: object, headers: Record<string, string>) =>
      world.send(`/v1/sessions/${id}/chunks`, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", ...headers },
      });
    const data = [[0, 0, 1, 0, 0, 0]];
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    const first = { "session-epoch": "1", "chunk-seq": "0" };
    const taken = await send({ data, reset: true }, first);
    expect([taken.status, (await taken.json()).epoch]).toEqual([202, 2]);
    // While it waits and after it ran the same holds.
    const verdicts = async () => {
      const next = { "chunk-seq": "1", "session-epoch": "1" };
      await expectProblem(await send({ data }, next), "rolled_back", { epoch: 2 });
      expect((await send({ data, reset: true }, first)).status).toBe(202);
    };
    await verdicts();
    gate.resolve();
    await settle();
    await verdicts();
    expect((await send({ data }, { "session-epoch": "2" })).status).toBe(202);
  });

  test("the state is that of a frame boundary, also while frames wait; restoring is refused then", async () => {
    const world = makeWorld({ frame: 4 });
    const id = await world.open();
    const whole = stream(3, 12);
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    await world.post(id, whole);
    await settle();
    const reading = world.send(`/v1/sessions/${id}/state`);
    await expectProblem(await put(world, id, new Uint8Array(9)), "session_busy", {
      frames_waiting: 3,
    });
    gate.resolve();
    const file = new Uint8Array(await (await reading).arrayBuffer());
    const other = await world.open();
    const { steps_done: at } = await (await put(world, other, file)).json() as {
      steps_done: number;
    };
    expect(at).toBeGreaterThan(0);
    expect(at % 4).toBe(0);
    const wanted = [...await onePass(world.plan, whole)].slice(at * 3);
    if (at < 12) expect(await run(world, other, whole.slice(at * 6))).toEqual(wanted);
  });

  test("a session that was reset gives the state at rest", async () => {
    const world = makeWorld();
    const id = await world.open();
    const rest = await snapshot(world, id);
    await run(world, id, stream(1, 9));
    expect((await post(world, `/v1/sessions/${id}/reset`)).status).toBe(200);
    const tensors = (file: Uint8Array) => file.slice(-12);
    expect(tensors(await snapshot(world, id))).toEqual(tensors(rest));
  });

  test("a refused file changes nothing", async () => {
    const world = makeWorld({ plans: [makeWorld().plan, leakyPlan()] });
    const id = await world.open({ model: "spiking" });
    const other = await world.open({ model: "leaky" });
    await run(world, id, stream(1, 5));
    const before = await view(world, id);
    const file = await snapshot(world, id);
    const foreign = await snapshot(world, other);
    const flipped = file.slice();
    flipped[flipped.length - 1]! ^= 1;
    const cases = [
      [foreign, "snapshot_refused", { reason: "model" }],
      [flipped, "snapshot_refused", { reason: "checksum" }],
      [file.slice(0, -1), "snapshot_unreadable", {}],
      [new Uint8Array(0), "snapshot_unreadable", {}],
      [new Uint8Array(2_000_000), "body_too_large", {}],
    ] as const;
    for (const [body, code, facts] of cases) {
      await expectProblem(await put(world, id, body), code, facts);
    }
    const json = await world.send(`/v1/sessions/${id}/state`, {
      method: "PUT",
      body: file,
      headers: { "content-type": "application/json" },
    });
    await expectProblem(json, "unsupported_media_type");
    await expectProblem(await put(world, id, file, "?allow_inexact=1"), "invalid_query");
    expect(await view(world, id)).toEqual(before);
    const rest = stream(2, 6);
    const whole = Float32Array.from([...stream(1, 5), ...rest]);
    const wanted = [...await onePass(world.plan, whole)].slice(15);
    expect(await run(world, id, rest)).toEqual(wanted);
  });
});

describe("state in POST /v1/sessions", () => {
  const base64 = (file: Uint8Array): string => Buffer.from(file).toString("base64");
  const create = (world: World, body: object, query = "") =>
    world.send(`/v1/sessions${query}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });

  test("the session goes on from the snapshot, in a slot, with a time-line of its own", async () => {
    const world = makeWorld();
    const first = await world.open();
    const whole = stream(1, 20);
    await run(world, first, whole.slice(0, 7 * 6));
    const state = base64(await snapshot(world, first));
    const late = await run(world, first, whole.slice(7 * 6));
    const answer = await create(world, { state, ttl_s: 9 });
    expect(answer.status).toBe(201);
    const view = await answer.json() as { id: string };
    expect(view).toMatchObject({
      state: "active",
      slot: 1,
      ttl_s: 9,
      steps_done: 7,
      next_chunk_seq: 0,
      epoch: 1,
      epochs: [{ epoch: 1, from_step: 7 }],
    });
    expect(await run(world, view.id, whole.slice(7 * 6))).toEqual(late);
  });

  test("it waits for a slot as any other, and may be larger than other bodies", async () => {
    const world = makeWorld({ slots: 1, limits: { controlBytesMax: 100 } });
    const id = await world.open();
    await run(world, id, stream(1, 5));
    const state = base64(await snapshot(world, id));
    expect(state.length).toBeGreaterThan(100);
    await expectProblem(await create(world, { state }), "no_slot");
    const waiting = create(world, { state, wait_s: 5 });
    await settle();
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    expect(await (await waiting).json()).toMatchObject({ state: "active", steps_done: 5 });
  });

  test("of two at once one gets the slot that is free, the other is refused", async () => {
    const world = makeWorld({ slots: 2 });
    const id = await world.open();
    const body = { state: base64(await snapshot(world, id)) };
    const [first, second] = await Promise.all([create(world, body), create(world, body)]);
    expect(await first!.json()).toMatchObject({ state: "active", slot: 1 });
    await expectProblem(second!, "no_slot");
  });

  test("what no snapshot of this model is, is refused, and takes no slot", async () => {
    const world = makeWorld({ plans: [makeWorld().plan, leakyPlan()], slots: 1 });
    const id = await world.open({ model: "spiking" });
    const file = await snapshot(world, id);
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    const flipped = file.slice();
    flipped[flipped.length - 1]! ^= 1;
    const spiking = { model: "spiking" };
    const cases = [
      [{ ...spiking, state: base64(flipped) }, "snapshot_refused", { reason: "checksum" }],
      [{ model: "leaky", state: base64(file) }, "snapshot_refused", { reason: "model" }],
      [{ ...spiking, state: base64(file.slice(0, -1)) }, "snapshot_unreadable", {}],
      [{ ...spiking, state: "no base64!" }, "snapshot_unreadable", {}],
      [{ ...spiking, state: "" }, "snapshot_unreadable", {}],
      [{ ...spiking, state: 7 }, "invalid_body", {}],
      [{ state: base64(file) }, "model_required", {}],
      [{ ...spiking, state: "A".repeat(2_000_000) }, "body_too_large", {}],
    ] as const;
    for (const [body, code, facts] of cases) {
      await expectProblem(await create(world, body), code, facts);
    }
    expect(world.service.allSessions()).toEqual([]);
    expect((await create(world, { ...spiking, state: base64(file) })).status).toBe(201);
  });

  test("another numerics tag only with allow_inexact", async () => {
    const world = makeWorld();
    const other = encodeSnapshot(world.plan, {
      state: restState(world.plan),
      step: 3,
      numerics: "other",
    });
    const body = { state: base64(other) };
    await expectProblem(await create(world, body), "snapshot_refused", { reason: "numerics" });
    await expectProblem(await create(world, body, "?allow_inexact=1"), "invalid_query");
    const answer = await create(world, body, "?allow_inexact=true");
    expect(await answer.json()).toMatchObject({ steps_done: 3 });
  });
});

describe("POST …/fork", () => {
  test("a fork goes on from the parent's state and step, and neither touches the other", async () => {
    const world = makeWorld();
    const parent = await world.open({ ttl_s: 77, record: ["lif.v"] });
    const begin = stream(1, 6);
    await run(world, parent, begin);
    const answer = await post(world, `/v1/sessions/${parent}/fork`);
    expect(answer.status).toBe(201);
    const fork = await answer.json() as { id: string };
    expect(answer.headers.get("location")).toBe(`/v1/sessions/${fork.id}`);
    expect(fork).toMatchObject({
      steps_done: 6,
      epoch: 1,
      epochs: [{ epoch: 1, from_step: 6 }],
      next_chunk_seq: 0,
      state: "active",
      ttl_s: 77,
      record: ["lif.v"],
    });
    const [left, right] = [stream(2, 9), stream(3, 9)];
    const outputsOf = async (tail: Float32Array) =>
      [...await onePass(world.plan, Float32Array.from([...begin, ...tail]))].slice(18);
    const both = await Promise.all([run(world, parent, left), run(world, fork.id, right)]);
    expect(both).toEqual([await outputsOf(left), await outputsOf(right)]);
  });

  test("without a free slot it is parked, and its first chunk brings it in", async () => {
    const world = makeWorld({ slots: 1 });
    const parent = await world.open();
    const begin = stream(1, 6);
    await run(world, parent, begin);
    const fork = await (await post(world, `/v1/sessions/${parent}/fork`)).json() as { id: string };
    expect(fork).toMatchObject({ state: "parked", slot: null, steps_done: 6 });
    const tail = stream(2, 5);
    const wanted = [...await onePass(world.plan, Float32Array.from([...begin, ...tail]))].slice(18);
    expect(await run(world, fork.id, tail)).toEqual(wanted);
    expect(await view(world, parent)).toMatchObject({ state: "parked" });
    expect(await run(world, parent, tail)).toEqual(wanted);
  });

  test("sessions are bounded by the memory for states and rings beside the slots", async () => {
    // Three f32 of state and its ring for each.
    const limits = { ringBytesMax: 1000, parkedBytesMax: 2 * 1012 };
    const world = makeWorld({ slots: 1, limits });
    const parent = await world.open();
    for (let i = 0; i < 2; i++) {
      expect((await post(world, `/v1/sessions/${parent}/fork`)).status).toBe(201);
    }
    await expectProblem(await post(world, `/v1/sessions/${parent}/fork`), "no_slot", {
      sessions_max: 3,
    });
  });
});

describe("POST …/park", () => {
  test("frees the slot; the next chunk brings the session back, bit for bit", async () => {
    const world = makeWorld({ slots: 1 });
    const id = await world.open();
    const whole = stream(1, 20);
    const early = await run(world, id, whole.slice(0, 60));
    for (let i = 0; i < 2; i++) {
      const parked = await post(world, `/v1/sessions/${id}/park`);
      expect(await parked.json()).toMatchObject({
        id,
        state: "parked",
        slot: null,
        steps_done: 10,
      });
    }
    const other = await world.open();
    await run(world, other, stream(2, 9));
    const late = await run(world, id, whole.slice(60));
    expect([...early, ...late]).toEqual([...await onePass(world.plan, whole)]);
    expect(await view(world, id)).toMatchObject({ state: "active", slot: 0, epoch: 1 });
    expect(await view(world, other)).toMatchObject({ state: "parked" });
  });

  test("who waits for a slot gets the one that was freed; a busy session is not parked", async () => {
    const world = makeWorld({ slots: 1 });
    const id = await world.open();
    const waiting = world.open({ wait_s: 10 });
    await settle();
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    await world.post(id, stream(1, 3));
    await expectProblem(await post(world, `/v1/sessions/${id}/park`), "session_busy");
    world.executor.gate = null;
    gate.resolve();
    await settle();
    expect((await post(world, `/v1/sessions/${id}/park`)).status).toBe(200);
    expect(await view(world, await waiting)).toMatchObject({ slot: 0 });
  });

  test("a parked session idles out like any other", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 10 });
    await post(world, `/v1/sessions/${id}/park`);
    await world.clock.advance(10_000);
    await expectProblem(await world.send(`/v1/sessions/${id}`), "session_gone", { reason: "idle" });
  });
});

describe("more sessions than slots", () => {
  test("10 times more: every output is that of the session alone", async () => {
    const world = makeWorld({ slots: 3, frame: 4, limits: { sessionsMax: 30 } });
    const ids: string[] = [];
    for (let i = 0; i < 30; i++) ids.push(await world.open({ ttl_s: 0 }));
    await expectProblem(await post(world, "/v1/sessions"), "no_slot", { slots: 30 });
    const streams = ids.map((_, i) => stream(i, 24));
    const got: number[][] = ids.map(() => []);
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(
        ids.map((id, i) => run(world, id, streams[i]!.slice(round * 36, (round + 1) * 36))),
      );
      answers.forEach((values, i) => got[i]!.push(...values));
      const states = await Promise.all(ids.map(async (id) => (await view(world, id)).state));
      expect(states.filter((state) => state === "active")).toHaveLength(3);
    }
    for (const [i, values] of got.entries()) {
      expect(values).toEqual([...await onePass(world.plan, streams[i]!)]);
    }
    for (const id of ids) await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    expect(world.service.models[0]!.scheduler.slotsFree).toBe(3);
  });

  test("a session with waiting frames is never parked; the one idle longest is", async () => {
    const world = makeWorld({ slots: 2, limits: { sessionsMax: 9 } });
    const [busy, old, young] = [await world.open(), await world.open(), await world.open()];
    expect(await view(world, young)).toMatchObject({ state: "parked" });
    await run(world, old, stream(1, 2));
    let gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    await world.post(busy, stream(2, 40));
    await settle();
    const wait = run(world, young, stream(3, 2));
    await settle();
    world.executor.gate = null;
    gate.resolve();
    gate = Promise.withResolvers<void>();
    await wait;
    expect(await view(world, busy)).toMatchObject({ state: "active" });
    expect(await view(world, old)).toMatchObject({ state: "parked" });
  });
});
