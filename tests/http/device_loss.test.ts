/** A lost device: the engine is rebuilt, sessions go on, nothing is told twice (API §3–4, DESIGN §3). */
import { describe, expect, test } from "bun:test";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import {
  type FaultyExecutor,
  makeWorld,
  MemoryStore,
  onePass,
  settle,
  type World,
  type WorldOptions,
} from "./support/world.ts";

const octets = { accept: "application/octet-stream" };
const stream = (seed: number, steps: number) => new Random(seed).floats(steps * 6);

const lossy = (options: WorldOptions = {}) => makeWorld({ rebuild: (next) => next, ...options });

const run = async (world: World, id: string, values: Float32Array): Promise<number[]> => {
  const answer = await world.post(id, values, "?wait=true", octets);
  expect(answer.status).toBe(200);
  return [...new Float32Array(await answer.arrayBuffer())];
};

const dataOf = (events: EventClient) =>
  events.named("output").flatMap(({ data }) => (data.data as number[][]).flat());

describe("a device that is lost", () => {
  test.each(["between steps", "during a step", "without saying so"])(
    "%s: outputs go on bit for bit, each once",
    async (when) => {
      const world = lossy({ limits: { checkpointSteps: 7 } });
      const ids = [await world.open(), await world.open()];
      const readers: EventClient[] = [];
      for (const id of ids) {
        readers.push(new EventClient(await world.send(`/v1/sessions/${id}/outputs`)));
      }
      const whole = ids.map((_, i) => stream(i, 60));
      for (let at = 0; at < 60; at += 6) {
        for (const [i, id] of ids.entries()) {
          await world.post(id, whole[i]!.slice(at * 6, (at + 6) * 6));
        }
        if (when === "during a step") {
          const { executor } = world;
          executor.gate = settle(1).then(() => executor.lose());
        } else if (when === "between steps") {
          await settle();
          world.executor.lose();
        } else {
          await settle(3);
          world.executor.lose({ says: false });
        }
        await world.clock.advance(2_000);
      }
      for (const [i, values] of whole.entries()) {
        expect(dataOf(readers[i]!)).toEqual([...await onePass(world.plan, values)]);
        expect(readers[i]!.named("rolled_back")).toEqual([]);
        expect(readers[i]!.named("error")).toEqual([]);
      }
      expect(world.executor.steps).toBeGreaterThan(0);
    },
  );

  test("readiness is 503 until another one serves, chunks are taken meanwhile, ids stay", async () => {
    const tries: number[] = [];
    const world: World = lossy({
      rebuild: (next) => {
        tries.push(world.clock.now());
        return tries.length < 4 ? null : next;
      },
    });
    const id = await world.open();
    const early = await run(world, id, stream(1, 5));
    world.executor.lose();
    await settle();
    const answer = await world.send("/readyz");
    expect(answer.headers.get("retry-after")).toBe("1");
    await expectProblem(answer, "device_lost");
    await expectProblem(await world.send("/v1/sessions", { method: "POST" }), "device_lost");
    const late = run(world, id, stream(2, 5));
    await world.clock.advance(5_000);
    const whole = Float32Array.from([...stream(1, 5), ...stream(2, 5)]);
    expect([...early, ...await late]).toEqual([...await onePass(world.plan, whole)]);
    expect((await world.send("/readyz")).status).toBe(200);
    // Each try comes later than the one before.
    expect(tries).toEqual([0, 250, 750, 1750]);
  });

  test("parked sessions, snapshots and forks survive it", async () => {
    const world = lossy({ slots: 1, limits: { sessionsMax: 4 } });
    const ids = [await world.open(), await world.open(), await world.open()];
    const got = await Promise.all(ids.map((id, i) => run(world, id, stream(i, 7))));
    world.executor.lose();
    const reading = world.send(`/v1/sessions/${ids[2]}/state`);
    await world.clock.advance(1_000);
    expect((await reading).status).toBe(200);
    const forked = await world.send(`/v1/sessions/${ids[2]}/fork`, { method: "POST" });
    const fork = (await forked.json() as { id: string }).id;
    world.executor.lose();
    await world.clock.advance(2_000);
    for (const [i, id] of ids.entries()) {
      const tail = stream(9, 7);
      const late = await run(world, id, tail);
      const whole = Float32Array.from([...stream(i, 7), ...tail]);
      expect([...got[i]!, ...late]).toEqual([...await onePass(world.plan, whole)]);
      if (i === 2) expect(await run(world, fork, tail)).toEqual(late);
    }
  });

  test("a frame that cannot run again: rolled_back is told, and the first unnumbered chunk refused once", async () => {
    let isBroken = false;
    const breakable = (executor: FaultyExecutor) => {
      executor.fails = ([row]) => isBroken && row!.input[0] === stream(2, 5)[0];
      return executor;
    };
    const world = lossy({ rebuild: breakable });
    const id = await world.open();
    const events = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
    for (const seed of [1, 2, 3]) await run(world, id, stream(seed, 4 + (seed === 2 ? 1 : 0)));
    isBroken = true;
    world.executor.lose();
    await world.clock.advance(1_000);
    const rolled = { epoch: 2, to_step: 4, next_chunk_seq: 1 };
    expect(events.events.at(-1)).toMatchObject({
      event: "rolled_back",
      id: "2-4.1",
      data: rolled,
    });
    await expectProblem(await world.post(id, stream(4, 2)), "rolled_back", rolled);
    isBroken = false;
    const late = await run(world, id, stream(4, 2));
    const whole = Float32Array.from([...stream(1, 4), ...stream(4, 2)]);
    expect(late).toEqual([...await onePass(world.plan, whole)].slice(12));
    expect(await (await world.send(`/v1/sessions/${id}`)).json()).toMatchObject({
      epochs: [{ epoch: 1, from_step: 0 }, { epoch: 2, from_step: 4 }],
      steps_done: 6,
      next_chunk_seq: 2,
    });
  });

  test("a roll-back that nobody was told of yet is not told after another state was put in", async () => {
    let isBroken = false;
    const store = new MemoryStore();
    const breakable = (executor: FaultyExecutor) => {
      executor.fails = ([row]) => isBroken && row!.input[0] === stream(2, 5)[0];
      return executor;
    };
    const world = lossy({ rebuild: breakable, store });
    const id = await world.open();
    const path = `/v1/sessions/${id}`;
    await run(world, id, stream(1, 4));
    const state = await (await world.send(`${path}/state`)).arrayBuffer();
    await run(world, id, stream(2, 5));
    const disk = Promise.withResolvers<void>();
    store.gate = disk.promise; // the new epoch cannot be kept, and so not be told
    isBroken = true;
    world.executor.lose();
    await world.clock.advance(1_000);
    expect(world.service.session(id).epoch).toBe(2);
    const headers = { "content-type": "application/octet-stream" };
    const putting = world.send(`${path}/state`, { method: "PUT", body: state, headers });
    await settle();
    disk.resolve();
    expect((await putting).status).toBe(200);
    const late = { "session-epoch": "3", accept: "application/octet-stream" };
    await world.post(id, stream(3, 2), "?wait=true", late);
    const events = new EventClient(await world.send(`${path}/outputs`));
    await settle();
    expect(events.events.map((each) => [each.event, each.id])).toEqual([
      ["open", undefined],
      ["output", "3-6"],
    ]);
    await events.leave();
  });

  test("a device that kills every step: the chunk is given up and told, the session lives", async () => {
    const world: World = lossy({
      rebuild: (next) => {
        next.fails = ([row]) => {
          if (row!.input[0] !== stream(2, 1)[0]) return false;
          next.lose();
          return true;
        };
        return next;
      },
    });
    const id = await world.open();
    const first = await run(world, id, stream(1, 3));
    world.executor.lose();
    await world.clock.advance(1_000);
    const failing = world.post(id, stream(2, 1), "?wait=true");
    await world.clock.advance(10_000);
    await expectProblem(await failing, "step_failed", { seq: 1, at_step: 3 });
    const late = await run(world, id, stream(3, 3));
    const whole = Float32Array.from([...stream(1, 3), ...stream(3, 3)]);
    expect([...first, ...late]).toEqual([...await onePass(world.plan, whole)]);
  });

  test("a session that ends while there is no device frees its place", async () => {
    const world: World = lossy({
      slots: 1,
      rebuild: (next) => world.clock.now() < 500 ? null : next,
    });
    const id = await world.open();
    await run(world, id, stream(1, 3));
    world.executor.lose();
    await settle();
    expect((await world.send(`/v1/sessions/${id}`, { method: "DELETE" })).status).toBe(204);
    await world.clock.advance(2_000);
    await world.open();
  });
});
