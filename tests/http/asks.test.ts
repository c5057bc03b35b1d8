/** What people reported of other servers (docs/asks.md), as inputs to ours: state, slots, restore. */
import { describe, expect, test } from "bun:test";
import { decodeSession } from "../../src/checkpoint/mod.ts";
import type { Plan } from "../../src/model/plan.ts";
import { stateTensors } from "../../src/model/row_state.ts";
import { dense, input, makePlan, pointwise, Random } from "../support/plans.ts";
import { leakyPlan, makeWorld, MemoryStore, onePass, settle, type World } from "./support/world.ts";

const octets = { accept: "application/octet-stream" };

async function run(world: World, id: string, values: Float32Array): Promise<number[]> {
  const answer = await world.post(id, values, "?wait=true", octets);
  expect(answer.status).toBe(200);
  return [...new Float32Array(await answer.arrayBuffer())];
}

const act = async (world: World, id: string, what: string, init: RequestInit = {}) => {
  const answer = await world.send(`/v1/sessions/${id}/${what}`, { method: "POST", ...init });
  expect([what, answer.ok]).toEqual([what, true]);
  return answer;
};

const snapshot = async (world: World, id: string): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await (await act(world, id, "state", { method: "GET" })).arrayBuffer());

const replace = (world: World, id: string, body: Uint8Array<ArrayBuffer>) =>
  act(world, id, "state", {
    method: "PUT",
    body,
    headers: { "content-type": "application/octet-stream" },
  });

const base64 = (file: Uint8Array): string => Buffer.from(file).toString("base64");

/** [6] in, then so many spiking layers of one state each, [3] out. */
function statesPlan(count: number): Plan {
  const random = new Random(40 + count);
  const nodes = [input([6]), { name: "fc", inputs: ["input"], shape: [3], ...dense(random, 6, 3) }];
  for (let i = 0; i < count; i++) {
    const from = i === 0 ? "fc" : `lif${i - 1}`;
    nodes.push({ name: `lif${i}`, inputs: [from], shape: [3], ...pointwise(random, "lif", 3) });
  }
  return makePlan(`states${count}`, nodes);
}

describe.each([0, 1, 2, 8])("a model with %i states", (count) => {
  const plan = statesPlan(count);
  const stream = new Random(count).floats(20 * 6);
  const [early, late] = [stream.slice(0, 7 * 6), stream.slice(7 * 6)];

  test("is served; its whole state goes out and into another server", async () => {
    expect(stateTensors(plan)).toHaveLength(count);
    const wanted = [...await onePass(plan, stream)];
    const here = makeWorld({ plans: [plan] });
    const id = await here.open();
    const first = await run(here, id, early);
    const file = await snapshot(here, id);
    expect([...first, ...await run(here, id, late)]).toEqual(wanted);
    const there = makeWorld({ plans: [plan], slots: 5, frame: 3 });
    const other = await there.open();
    await run(there, other, new Random(99).floats(5 * 6));
    await replace(there, other, file);
    expect([...first, ...await run(there, other, late)]).toEqual(wanted);
  });

  test("goes on alike however its session comes to the state", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ plans: [plan], slots: 8, store });
    const id = await world.open();
    await run(world, id, early);
    const file = await snapshot(world, id);
    const replaced = await world.open();
    await replace(world, replaced, file);
    const opened = await world.open({ state: base64(file) });
    const forked = (await (await act(world, id, "fork")).json()).id as string;
    const parked = (await (await act(world, id, "fork")).json()).id as string;
    await act(world, parked, "park");
    await world.service.keep();
    const next = makeWorld({ plans: [plan], slots: 8 });
    for (const bytes of store.files.values()) next.service.resume(decodeSession(bytes));
    const wanted = [...await onePass(plan, stream)].slice(7 * 3);
    for (const each of [id, replaced, opened, forked, parked]) {
      expect(await run(world, each, late)).toEqual(wanted);
      const numbered = { ...octets, "session-epoch": "9" };
      const resumed = await next.post(each, late, "?wait=true", numbered);
      expect([...new Float32Array(await resumed.arrayBuffer())]).toEqual(wanted);
    }
  });
});

test("a session that ran into NaN and idled out leaves nothing to the next in its slot", async () => {
  const plan = leakyPlan();
  const world = makeWorld({ plans: [plan], slots: 2 });
  const healthy = await world.open({ ttl_s: 0 });
  const stream = new Random(3).floats(12 * 4);
  const half = 6 * 4;
  const before = await run(world, healthy, stream.slice(0, half));
  for (let i = 0; i < 5; i++) {
    const sick = await world.open({ ttl_s: 1 });
    // Finite inputs whose sums are not.
    const huge = new Float32Array(8 * 4).map((_, at) => (at % 2 ? 3e38 : -3e38) * (i % 2 ? 1 : -1));
    const outputs = await run(world, sick, huge);
    expect(outputs.some((value) => !Number.isFinite(value))).toBe(true);
    await world.clock.advance(1_000);
    const next = await world.open();
    expect(world.service.session(next).seat.slot?.slot).toBe(1);
    expect(await run(world, next, stream)).toEqual([...await onePass(plan, stream)]);
    await world.send(`/v1/sessions/${next}`, { method: "DELETE" });
  }
  const after = await run(world, healthy, stream.slice(half));
  expect([...before, ...after]).toEqual([...await onePass(plan, stream)]);
});

test(
  "10,000 sessions closed at random moments around their steps, others waiting for the slots",
  async () => {
    const world = makeWorld({ slots: 3, limits: { goneMax: 10, stepSecondsMax: 0 } });
    const { service } = world;
    const random = new Random(5);
    let served = 0;
    const one = async () => {
      const session = await service.open({ ttlSeconds: 0, waitSeconds: 60 });
      const steps = random.int(1, 6);
      service.submit(session, { values: random.floats(steps * 6), steps });
      await settle(random.int(0, 4));
      service.end(session, "closed");
      served++;
    };
    const client = async (count: number) => {
      for (let i = 0; i < count; i++) await one();
    };
    await Promise.all(Array.from({ length: 8 }, () => client(1_250)));
    await settle();
    expect(served).toBe(10_000);
    expect(service.models[0]!.scheduler.slotsFree).toBe(3);
    expect(service.stats()).toMatchObject([{ sessions: 0, waiting: 0, framesWaiting: 0 }]);
    // The next session in each slot is not touched by any of them.
    const stream = new Random(6).floats(9 * 6);
    for (let i = 0; i < 3; i++) {
      expect(await run(world, await world.open(), stream))
        .toEqual([...await onePass(world.plan, stream)]);
    }
  },
  60_000,
);

test("opened and closed 100 times as often as there are slots, every way: the free count is constant", async () => {
  const world = makeWorld({ slots: 3 });
  const { scheduler } = world.service.models[0]!;
  const close = (id: string) => world.send(`/v1/sessions/${id}`, { method: "DELETE" });
  const values = new Float32Array(6);
  for (let i = 0; i < 300; i++) {
    const id = await world.open();
    await run(world, id, values);
    if (i % 3 === 0) await act(world, id, "park");
    const file = await snapshot(world, id);
    const ids = [id, (await (await act(world, id, "fork")).json()).id as string];
    if (i % 2 === 0) ids.push(await world.open({ state: base64(file) }));
    for (const each of ids) await close(each);
    expect(scheduler.slotsFree).toBe(3);
  }
});
