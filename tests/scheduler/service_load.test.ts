/** Under load: fairness, fuller steps on request, and what refusals say about when to come again. */
import { describe, expect, test } from "bun:test";
import { makeLimits } from "../../src/base/limits.ts";
import { checkMemory, memoryNeeds } from "../../src/scheduler/memory.ts";
import { Turnover } from "../../src/scheduler/turnover.ts";
import { makeWorld, settle, spikingPlan } from "../http/support/world.ts";
import { Random } from "../support/plans.ts";

const frames = (count: number) => new Float32Array(count * 4 * 6);

describe("fairness", () => {
  test("a session that floods delays another by at most one of its frames a round", async () => {
    const world = makeWorld({ slots: 3 });
    const [flood, calm] = [await world.open(), await world.open()];
    await world.post(flood, frames(400));
    let seen = 0;
    for (let i = 0; i < 20; i++) {
      const before = world.executor.batches.length;
      await world.post(calm, frames(1), "?wait=true");
      const rounds = world.executor.batches.slice(before);
      // The round that ran when the frame came, and its own; each has one frame of the flood.
      expect(rounds.length).toBeLessThanOrEqual(2);
      expect(rounds.every((batch) => batch.filter(({ slot }) => slot === 0).length <= 1)).toBe(
        true,
      );
      seen += rounds.at(-1)!.length;
    }
    expect(seen).toBe(40); // its own round was always shared
    expect(world.service.session(flood).queue.framesWaiting).toBeGreaterThan(300);
  });

  test("many floods and one calm session share every round", async () => {
    const world = makeWorld({ slots: 8 });
    const ids = await Promise.all(Array.from({ length: 8 }, () => world.open()));
    for (const id of ids.slice(1)) await world.post(id, frames(100));
    await settle(5);
    await world.post(ids[0]!, frames(20), "?wait=true");
    const sizes = world.executor.batches.slice(-20).map((batch) => batch.length);
    expect(sizes).toEqual(Array.from({ length: 20 }, () => 8));
  });
});

describe("stepGatherMs", () => {
  const waits = async (gather: number) => {
    const world = makeWorld({ slots: 3, limits: { stepGatherMs: gather } });
    return { world, ids: [await world.open(), await world.open(), await world.open()] };
  };

  test("0: a frame never waits for others", async () => {
    const { world, ids } = await waits(0);
    await world.post(ids[0]!, frames(1));
    await settle();
    expect(world.executor.steps).toBe(1);
  });

  test("a frame waits for the other open sessions, and so long at most", async () => {
    const { world, ids } = await waits(20);
    await world.post(ids[0]!, frames(1));
    await world.clock.advance(19);
    expect(world.executor.steps).toBe(0);
    await world.clock.advance(1);
    expect(world.executor.steps).toBe(1);
    for (const id of ids) await world.post(id, frames(1));
    await settle();
    expect(world.executor.batches.map((batch) => batch.length)).toEqual([1, 3]);
    // One that closes is waited for no more.
    await world.post(ids[0]!, frames(1));
    await world.post(ids[1]!, frames(1));
    await settle();
    expect(world.executor.steps).toBe(2);
    await world.send(`/v1/sessions/${ids[2]}`, { method: "DELETE" });
    await settle();
    expect(world.executor.batches.at(-1)).toHaveLength(2);
    // The waiting one itself may close.
    await world.post(ids[0]!, frames(1));
    await settle();
    await world.send(`/v1/sessions/${ids[0]}`, { method: "DELETE" });
    await world.post(ids[1]!, frames(1), "?wait=true");
    expect(world.executor.batches.at(-1)).toHaveLength(1);
    await world.service.drain();
  });
});

describe("Retry-After of no_slot", () => {
  test("1 while nothing is known; grows while no slot comes free; bounded", () => {
    const turnover = new Turnover();
    expect(turnover.secondsUntilFree(7, 1e6)).toBe(1);
    turnover.freed(0);
    turnover.freed(10_000);
    expect(turnover.secondsUntilFree(0, 10_000)).toBe(7);
    expect(turnover.secondsUntilFree(2, 10_000)).toBe(27);
    expect(turnover.secondsUntilFree(0, 60_000)).toBe(42);
    expect(turnover.secondsUntilFree(1000, 60_000)).toBe(300);
  });

  /** Sessions of random length on few slots, and somebody who asks now and then: told against true. */
  test.each([["even", 0], ["uneven", 1]] as const)(
    "its median is within a factor of 2 of the truth (%s lives)",
    (_, spread) => {
      const random = new Random(5);
      for (const lifeSeconds of [4, 20, 100, 900]) {
        const turnover = new Turnover();
        const slots = Array.from({ length: 8 }, () => random.next() * lifeSeconds);
        const ends: number[] = [];
        const told: [at: number, seconds: number][] = [];
        let now = 0;
        let ask = 0;
        for (let i = 0; i < 4000; i++) {
          const next = Math.min(...slots);
          // Askers come at an even rate, so a long interval meets more of them.
          for (; ask < next; ask += lifeSeconds / 20) {
            if (i > 50) told.push([ask, turnover.secondsUntilFree(0, ask * 1000)]);
          }
          now = next;
          ends.push(now);
          turnover.freed(now * 1000);
          const life = spread === 0 ? 1 : -Math.log(1 - random.next());
          slots[slots.indexOf(next)] = now + lifeSeconds * life;
        }
        let at = 0;
        const truths = told.map(([asked]) => {
          while (ends[at]! < asked) at++;
          return ends[at]! - asked;
        });
        const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!;
        const truth = Math.max(1, median(truths));
        const ratio = median(told.map(([, seconds]) => seconds)) / truth;
        expect([lifeSeconds, ratio, ratio >= 0.5 && ratio <= 2])
          .toEqual([lifeSeconds, ratio, true]);
      }
    },
  );

  test("over HTTP it comes from the sessions that ended", async () => {
    const world = makeWorld({ slots: 2 });
    const ids = [await world.open({ ttl_s: 0 }), await world.open({ ttl_s: 0 })];
    for (let i = 0; i < 10; i++) {
      await world.clock.advance(10_000);
      await world.send(`/v1/sessions/${ids[i % 2]}`, { method: "DELETE" });
      ids[i % 2] = await world.open({ ttl_s: 0 });
    }
    const refused = await world.send("/v1/sessions", { method: "POST" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "7"]);
    world.service.close();
  });
});

test("Retry-After of queue_full is the time of a round times the frames that must run", async () => {
  const world = makeWorld({ limits: { queueStepsMax: 400 } });
  const id = await world.open();
  const gates: (() => void)[] = [];
  for (let i = 0; i < 60; i++) {
    world.executor.gate = new Promise((resolve) => gates.push(resolve));
    await world.post(id, frames(1));
    await settle(4);
    await world.clock.advance(500);
    gates[i]!();
    await settle(4);
  }
  world.executor.gate = new Promise(() => {});
  await world.post(id, frames(100));
  const refused = await world.post(id, frames(10));
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
});

describe("memory", () => {
  const plan = spikingPlan();

  test("the formula of docs/operations.md", () => {
    const limits = makeLimits({ slots: 100, frame: 10 });
    const needs = memoryNeeds([plan, plan], limits);
    expect(needs).toMatchObject({
      state: 2 * 100 * 8 * plan.stateWords,
      steps: 2 * 100 * 4 * 10 * (6 + 3),
      rings: 2 * 100 * (4 << 20),
      gone: 256 << 20,
      queues: 2 * 100 * 65_536 * 4 * 6,
      parked: 0,
    });
    const beside = Math.floor((1 << 30) / (4 * 3 + (4 << 20)));
    expect(needs.forks).toBe(2 * beside * (4 * 3 + (4 << 20) + 65_536 * 4 * 6));
    expect(needs.most).toBe(needs.sure + needs.queues + needs.forks + (64 << 20));
  });

  test("with a number of sessions, all of them are counted for sure and there are no other forks", () => {
    const limits = makeLimits({ slots: 100, sessionsMax: 1000 });
    const few = memoryNeeds([plan], makeLimits({ slots: 100 }));
    const needs = memoryNeeds([plan], limits);
    expect(needs).toMatchObject({
      parked: 900 * 4 * 3,
      rings: 1000 * (4 << 20),
      queues: 1000 * 65_536 * 4 * 6,
      forks: 0,
    });
    expect(needs.sure).toBe(few.sure + needs.parked + 900 * (4 << 20));
  });

  test("what cannot fit is refused; what fits unless all queues are full is said", () => {
    const limits = makeLimits({ slots: 100 });
    expect(() => checkMemory([plan], limits, 2 ** 29)).toThrow(/100 slots need \d+ MiB.*512 MiB/);
    const said = checkMemory([plan], limits, 2 ** 30);
    expect(said).toMatch(/every queue full and as many forks .* forks \d+ MiB/);
    // Forks are what makes it too much here, and can be bounded.
    const most = memoryNeeds([plan], limits).most;
    expect(checkMemory([plan], limits, most - 1)).not.toBe(null);
    const bounded = makeLimits({ slots: 100, parkedBytesMax: 0 });
    expect(checkMemory([plan], bounded, most - 1)).toBe(null);
    expect(checkMemory([plan], limits, 2 ** 33)).toBe(null);
    expect(checkMemory([plan], limits, null)).toBe(null);
    const own = makeLimits({ slots: 100, memoryBytesMax: 2 ** 29 });
    expect(() => checkMemory([plan], own, 2 ** 40)).toThrow(/512 MiB/);
  });
});
