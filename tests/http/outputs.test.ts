/** API §4: the event stream. */
import { describe, expect, test } from "bun:test";
import { HEARTBEAT_MS } from "../../src/http/sse.ts";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { leakyPlan, makeWorld, onePass, settle, type World } from "./support/world.ts";

const stream = (seed: number, steps: number) => new Random(seed).floats(steps * 6);

async function watch(world: World, id: string, query = "", init: RequestInit = {}) {
  const answer = await world.send(`/v1/sessions/${id}/outputs${query}`, init);
  expect(answer.status).toBe(200);
  const client = new EventClient(answer);
  await settle();
  return client;
}

const resume = (id: string): RequestInit => ({ headers: { "last-event-id": id } });

/** A session after chunks of these lengths. */
async function ran(lengths: readonly number[], options: Parameters<typeof makeWorld>[0] = {}) {
  const world = makeWorld(options);
  const id = await world.open();
  for (const [i, steps] of lengths.entries()) {
    await world.post(id, stream(i + 1, steps));
    await settle();
  }
  return { world, id };
}

describe("the stream", () => {
  test("headers come at once", async () => {
    const world = makeWorld();
    const answer = await world.send(`/v1/sessions/${await world.open()}/outputs`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    expect(answer.headers.get("content-encoding")).toBe(null);
    await answer.body!.cancel();
  });

  test("word for word: one output a frame, ids <epoch>-<end_step>, error, end", async () => {
    const { world, id } = await ran([5, 3]);
    await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    await world.post(id, new Float32Array(6));
    await settle();
    world.executor.fails = () => true;
    await world.post(id, new Float32Array(6));
    await settle();
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    const client = await watch(world, id);
    await client.ended();
    const rows = async (seed: number, steps: number) => {
      const out = await onePass(world.plan, Float32Array.from([...stream(1, 5), ...stream(2, 3)]));
      const from = seed === 1 ? 0 : 15;
      return Array.from(
        { length: steps },
        (_, t) => [...out.slice(from + t * 3, from + t * 3 + 3)],
      );
    };
    const first = await rows(1, 5);
    const second = await rows(2, 3);
    const json = JSON.stringify;
    expect(client.text).toBe(
      `: ganglion

event: open
data: {"epoch":2,"resume":"start","next_start_step":0,"missing":null}

id: 1-4
event: output
data: {"seq":0,"start_step":0,"steps":4,"shape":[4,3],"encoding":"json","data":${
        json(first.slice(0, 4))
      }}

id: 1-5
event: output
data: {"seq":0,"start_step":4,"steps":1,"shape":[1,3],"encoding":"json","data":${
        json(first.slice(4))
      }}

id: 1-8
event: output
data: {"seq":1,"start_step":5,"steps":3,"shape":[3,3],"encoding":"json","data":${json(second)}}

id: 2-9
event: output
data: {"seq":2,"start_step":8,"steps":1,"shape":[1,3],"encoding":"json","data":[[0,0,0]]}

id: 2-9.1
event: error
data: {"seq":3,"code":"step_failed","at_step":9}

event: end
data: {"reason":"closed"}

`,
    );
  });

  test("heartbeats without id come under every 10 s, and stop with the reader", async () => {
    expect(HEARTBEAT_MS).toBeLessThan(10_000);
    const world = makeWorld();
    const id = await world.open({ ttl_s: 0 });
    const client = await watch(world, id);
    const before = client.text.length;
    await world.clock.advance(30_000);
    expect(client.text.slice(before)).toBe(": \n\n".repeat(3));
    await client.leave();
    expect(world.clock.timers).toBe(0);
  });

  test("encodings", async () => {
    const world = makeWorld();
    const id = await world.open({ record: ["lif.v", "lif.s"] });
    const values = new Random(8).floats(18, -4, 4);
    const { data, probes } = await (await world.post(id, values, "?wait=true")).json();
    const flat: number[] = data.flat();
    const membranes = Float32Array.from(probes["lif.v"].flat());
    const base64 = (numbers: Float32Array | Uint32Array) =>
      Buffer.from(numbers.buffer).toString("base64");
    const one = async (encoding: string) => {
      const client = await watch(world, id, `?encoding=${encoding}`);
      await client.leave();
      expect(client.events[1]!.data).toMatchObject({ encoding, shape: [3, 3] });
      return client.events[1]!.data;
    };
    const words = Uint32Array.from(
      { length: 3 },
      (_, t) => flat.slice(t * 3, t * 3 + 3).reduce((word, value, i) => word | (value << i), 0),
    );
    const events = flat.flatMap((value, at) => value === 0 ? [] : [[Math.floor(at / 3), at % 3]]);
    expect(flat).toContain(1);
    expect(await one("json")).toMatchObject({ data, probes });
    expect(await one("base64")).toMatchObject({
      data: base64(Float32Array.from(flat)),
      probes: { "lif.v": base64(membranes), "lif.s": base64(Float32Array.from(flat)) },
    });
    expect(await one("bits")).toMatchObject({
      data: base64(words),
      probes: { "lif.v": base64(membranes), "lif.s": base64(words) },
    });
    const sparse = await one("events");
    expect(sparse).toMatchObject({ data: events, probes: { "lif.s": events } });
    expect(
      sparse.probes["lif.v"].map(([t, i, value]: number[]) => membranes[t! * 3 + i!] === value),
    )
      .toEqual(sparse.probes["lif.v"].map(() => true));
  });

  test("bits are refused where outputs are no spikes; unknown parameters and types too", async () => {
    const world = makeWorld({ plans: [leakyPlan()] });
    const id = await world.open();
    const get = (query: string, headers: HeadersInit = {}) =>
      world.send(`/v1/sessions/${id}/outputs${query}`, { headers });
    await expectProblem(await get("?encoding=bits"), "invalid_query", { parameter: "encoding" });
    await expectProblem(await get("?encoding=xml"), "invalid_query", { parameter: "encoding" });
    await expectProblem(await get("?from=then"), "invalid_query", { parameter: "from" });
    await expectProblem(await get("", { accept: "application/json" }), "not_acceptable");
    expect(world.service.session(id).readers).toBe(0);
  });

  test("HEAD makes no reader", async () => {
    const world = makeWorld();
    const id = await world.open();
    const head = await world.send(`/v1/sessions/${id}/outputs`, { method: "HEAD" });
    expect([head.status, head.body]).toEqual([200, null]);
    expect(world.service.session(id).readers).toBe(0);
  });
});

describe("where a reader begins", () => {
  const open = (client: EventClient) => client.events[0]!.data;
  const ids = (client: EventClient) => client.events.slice(1).map(({ id }) => id);

  test("without an id: the oldest event in the ring; from=now: live only", async () => {
    const { world, id } = await ran([5, 3]);
    const all = await watch(world, id);
    const live = await watch(world, id, "?from=now");
    await world.post(id, stream(9, 1));
    await settle();
    expect(ids(all)).toEqual(["1-4", "1-5", "1-8", "1-9"]);
    expect(open(live)).toEqual({ epoch: 1, resume: "start", next_start_step: 8, missing: null });
    expect(ids(live)).toEqual(["1-9"]);
    await Promise.all([all.leave(), live.leave()]);
  });

  test("after an id, by header or query; an id says more than from=now", async () => {
    const { world, id } = await ran([5, 3]);
    for (
      const [query, init] of [["", resume("1-4")], ["?last_event_id=1-4", {}], [
        "?from=now",
        resume("1-4"),
      ]] as const
    ) {
      const client = await watch(world, id, query, init);
      expect(open(client)).toEqual({ epoch: 1, resume: "full", next_start_step: 4, missing: null });
      expect(ids(client)).toEqual(["1-5", "1-8"]);
      await client.leave();
    }
    const last = await watch(world, id, "", resume("1-8"));
    expect(open(last)).toEqual({ epoch: 1, resume: "full", next_start_step: 8, missing: null });
    expect(ids(last)).toEqual([]);
    await last.leave();
  });

  test("an id inside a held event gets the rest of that event", async () => {
    const { world, id } = await ran([5, 3]);
    const whole = await watch(world, id);
    for (const step of [1, 2, 3]) {
      const client = await watch(world, id, "", resume(`1-${step}`));
      expect(open(client)).toMatchObject({ resume: "full", next_start_step: step });
      expect(client.events[1]).toEqual({
        id: "1-4",
        event: "output",
        data: {
          seq: 0,
          start_step: step,
          steps: 4 - step,
          shape: [4 - step, 3],
          encoding: "json",
          data: whole.events[1]!.data.data.slice(step),
        },
      });
      expect(ids(client)).toEqual(["1-4", "1-5", "1-8"]);
      await client.leave();
    }
    await whole.leave();
  });

  test("across a reset ids go on with the next epoch", async () => {
    const { world, id } = await ran([2]);
    await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    await world.post(id, stream(2, 2));
    await settle();
    const client = await watch(world, id, "", resume("1-2"));
    expect(ids(client)).toEqual(["2-4"]);
    const same = await watch(world, id, "", resume("2-2"));
    expect([open(same).resume, ids(same)]).toEqual(["full", ["2-4"]]);
    await Promise.all([client.leave(), same.leave()]);
  });

  test("partial: the ring no longer holds what is missing", async () => {
    // An event of 4 steps takes 48 + 128 bytes: two fit.
    const { world, id } = await ran([4, 4, 4, 4], { limits: { ringBytesMax: 400 } });
    const client = await watch(world, id, "", resume("1-4"));
    expect(open(client)).toEqual({
      epoch: 1,
      resume: "partial",
      next_start_step: 8,
      missing: { from_step: 4, to_step: 8 },
    });
    expect(ids(client)).toEqual(["1-12", "1-16"]);
    const full = await watch(world, id, "", resume("1-8"));
    expect(open(full).resume).toBe("full");
    const start = await watch(world, id);
    expect(open(start)).toEqual({
      epoch: 1,
      resume: "start",
      next_start_step: 8,
      missing: { from_step: 0, to_step: 8 },
    });
    await Promise.all([client.leave(), full.leave(), start.leave()]);
  });

  test.each(["x", "1-", "-4", "1-4-5", "2-4", "0-0", "1-9", "1-4.", "1-99999999999999999", " "])(
    "reset: %p is no id of this session, everything in the ring is sent",
    async (lastId) => {
      const { world, id } = await ran([5, 3]);
      const client = await watch(world, id, `?last_event_id=${encodeURIComponent(lastId)}`);
      expect(open(client)).toMatchObject({ resume: "reset", next_start_step: 0 });
      expect(ids(client)).toEqual(["1-4", "1-5", "1-8"]);
      await client.leave();
    },
  );

  test("an error is told once: its id is after the output's", async () => {
    const { world, id } = await ran([2]);
    world.executor.fails = () => true;
    await world.post(id, stream(2, 2));
    await settle();
    const before = await watch(world, id, "", resume("1-2"));
    expect(ids(before)).toEqual(["1-2.1"]);
    const after = await watch(world, id, "", resume("1-2.1"));
    expect(ids(after)).toEqual([]);
    await Promise.all([before.leave(), after.leave()]);
  });

  test("cut and resumed at every event, the union is every step exactly once", async () => {
    const { world, id } = await ran([3, 9, 1, 6]);
    const whole = await watch(world, id);
    const expected = whole.named("output").flatMap(({ data }) => data.data);
    for (const [cut, { id: lastId }] of [...whole.named("output").entries()]) {
      const rest = await watch(world, id, "", resume(lastId!));
      const before = whole.named("output").slice(0, cut + 1).flatMap(({ data }) => data.data);
      const after = rest.named("output").flatMap(({ data }) => data.data);
      expect([...before, ...after]).toEqual(expected);
      await rest.leave();
    }
    await whole.leave();
  });
});

describe("after the end", () => {
  test("outputs still serves the rest of the ring and end; the last id gets 204", async () => {
    const { world, id } = await ran([5]);
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    const all = await watch(world, id);
    await all.ended();
    expect(all.events.map(({ event }) => event)).toEqual(["open", "output", "output", "end"]);
    const rest = await watch(world, id, "", resume("1-4"));
    await rest.ended();
    expect(rest.events.map(({ event }) => event)).toEqual(["open", "output", "end"]);
    const done = await world.send(`/v1/sessions/${id}/outputs`, resume("1-5"));
    expect([done.status, await done.text()]).toEqual([204, ""]);
    expect(world.service.anySession(id).readers).toBe(0);
  });

  test("the rings of ended sessions are bounded together", async () => {
    const { world, id } = await ran([4], { limits: { goneBytesMax: 200 } });
    const other = await world.open();
    await world.post(other, stream(1, 4));
    await settle();
    for (const each of [id, other]) await world.send(`/v1/sessions/${each}`, { method: "DELETE" });
    const first = await watch(world, id);
    const second = await watch(world, other);
    expect(first.events.map(({ event }) => event)).toEqual(["open", "end"]);
    expect(second.events.map(({ event }) => event)).toEqual(["open", "output", "end"]);
    await expectProblem(await world.send(`/v1/sessions/${id}`), "session_gone", { steps_done: 4 });
  });
});

describe("readers", () => {
  test("several, each with its own cursor; too many are refused", async () => {
    const world = makeWorld({ limits: { readersMax: 3 } });
    const id = await world.open();
    const clients = [await watch(world, id), await watch(world, id), await watch(world, id)];
    await expectProblem(await world.send(`/v1/sessions/${id}/outputs`), "too_many_readers");
    await clients[1]!.leave();
    await world.post(id, stream(1, 9));
    await settle();
    expect(clients[0]!.events).toEqual(clients[2]!.events);
    expect(clients[0]!.named("output")).toHaveLength(3);
    expect(clients[1]!.named("output")).toHaveLength(0);
    expect(world.service.session(id).readers).toBe(2);
    await Promise.all(clients.map((client) => client.leave()));
    expect(world.service.session(id).readers).toBe(0);
  });

  test("one that goes away is freed at once, by cancel or by the request's signal", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 0 });
    const client = new AbortController();
    const answers = [
      await world.send(`/v1/sessions/${id}/outputs`),
      await world.send(`/v1/sessions/${id}/outputs`, { signal: client.signal }),
    ];
    expect(world.service.session(id).readers).toBe(2);
    await answers[0]!.body!.cancel();
    expect(world.service.session(id).readers).toBe(1);
    client.abort();
    await settle(1);
    expect(world.service.session(id).readers).toBe(0);
    expect(world.clock.timers).toBe(0);
    // Whatever comes later writes to nobody.
    await world.post(id, stream(1, 9));
    await world.clock.advance(60_000);
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    expect(world.faults).toEqual([]);
  });

  test("a request whose client left before the answer makes no reader", async () => {
    const world = makeWorld();
    const id = await world.open({ ttl_s: 0 });
    await world.send(`/v1/sessions/${id}/outputs`, { signal: AbortSignal.abort() }).catch(() =>
      undefined
    );
    expect(world.service.session(id).readers).toBe(0);
    expect(world.clock.timers).toBe(0);
  });

  test("one that never reads costs a bounded queue, stalls nobody, and is told lagged", async () => {
    const limits = { ringBytesMax: 1 << 20, readerBytesMax: 100_000 };
    const world = makeWorld({ plans: [leakyPlan()], frame: 256, limits });
    const id = await world.open();
    const answer = await world.send(`/v1/sessions/${id}/outputs`);
    const other = await watch(world, id);
    const values = new Random(1).floats(256 * 4);
    let frames = 0;
    while (world.service.session(id).readers === 2 && frames < 1000) {
      await world.post(id, values, "?wait=true");
      frames++;
    }
    // 64 kB in the stream, 100 kB behind in the ring, each frame about 2 kB there.
    expect(frames).toBeGreaterThan(40);
    expect(frames).toBeLessThan(120);
    expect(other.named("output")).toHaveLength(frames);
    const late = new EventClient(answer);
    await late.ended();
    expect(late.events.at(-1)).toEqual({ id: undefined, event: "lagged", data: {} });
    const got = late.named("output");
    expect(got.length).toBeLessThan(frames);
    // The session lives, and the reader goes on by id.
    const again = await watch(world, id, "", resume(got.at(-1)!.id!));
    expect(again.events[0]!.data.resume).toBe("full");
    expect([...got, ...again.named("output")]).toEqual(other.named("output"));
    await Promise.all([again.leave(), other.leave()]);
  });

  test("a slow reader is overtaken by the ring: lagged, then partial", async () => {
    const limits = { ringBytesMax: 30_000 };
    const world = makeWorld({ plans: [leakyPlan()], frame: 256, limits });
    const id = await world.open();
    const answer = await world.send(`/v1/sessions/${id}/outputs`);
    for (let i = 0; i < 60; i++) await world.post(id, new Random(i).floats(1024), "?wait=true");
    const late = new EventClient(answer);
    await late.ended();
    expect(late.events.at(-1)!.event).toBe("lagged");
    const again = await watch(world, id, "", resume(late.named("output").at(-1)!.id!));
    expect(again.events[0]!.data.resume).toBe("partial");
    await again.leave();
  });

  test("a stalled reader of an ended session is closed when the session is forgotten", async () => {
    const world = makeWorld({
      plans: [leakyPlan()],
      frame: 256,
      limits: { readerStallSeconds: 3600 },
    });
    const id = await world.open();
    const answer = await world.send(`/v1/sessions/${id}/outputs`);
    for (let i = 0; i < 60; i++) await world.post(id, new Random(i).floats(1024), "?wait=true");
    const session = world.service.session(id);
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    await settle();
    expect(session.readers).toBe(1);
    await world.clock.advance(600_000);
    expect(session.readers).toBe(0);
    const late = new EventClient(answer);
    await late.ended();
    expect(world.clock.timers).toBe(0);
  });
});
