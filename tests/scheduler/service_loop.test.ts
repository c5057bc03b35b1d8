/** The loop: fair rounds at its own pace, without timers; and the service's edges below HTTP. */
import { describe, expect, test } from "bun:test";
import { makeLimits } from "../../src/base/limits.ts";
import { leakyPlan, makeWorld, onePass, settle } from "../http/support/world.ts";
import { Random } from "../support/plans.ts";

const input = (steps: number, seed = 1) => ({ values: new Random(seed).floats(steps * 6), steps });

describe("rounds", () => {
  test("a session that floods delays another by at most one frame", async () => {
    const world = makeWorld({ frame: 1 });
    const [flooding, other] = [await world.service.open(), await world.service.open()];
    world.service.submit(flooding, input(50));
    await settle(5);
    const before = world.executor.steps;
    const { chunk } = world.service.submit(other, input(1));
    await chunk.wait(world.clock, 1000);
    expect(world.executor.steps - before).toBeLessThanOrEqual(2);
  });

  test("chunks that arrive in one turn run in one step", async () => {
    const world = makeWorld({ slots: 3 });
    for (let i = 0; i < 3; i++) world.service.submit(await world.service.open(), input(2, i));
    await settle();
    expect(world.executor.batches.map((batch) => batch.length)).toEqual([3]);
  });

  test("the loop sets no timers and rests when nothing waits", async () => {
    const world = makeWorld();
    const session = await world.service.open({ ttlSeconds: 0 });
    world.service.submit(session, input(9));
    await settle();
    expect(world.clock.timers).toBe(0);
    const { steps } = world.executor;
    await settle(50);
    expect([steps, world.executor.steps]).toEqual([3, 3]);
  });

  test("a chunk posted at any turn around the end of a round is never missed", async () => {
    for (let turns = 0; turns < 8; turns++) {
      for (let microtasks = 0; microtasks < 12; microtasks++) {
        const world = makeWorld();
        const session = await world.service.open();
        world.service.submit(session, input(1));
        await settle(turns);
        for (let i = 0; i < microtasks; i++) await null;
        const { chunk } = world.service.submit(session, input(1));
        await settle();
        expect([turns, microtasks, chunk.state]).toEqual([turns, microtasks, "done"]);
      }
    }
  });

  test("other work gets its turn between rounds", async () => {
    const world = makeWorld({ frame: 1 });
    const session = await world.service.open();
    world.service.submit(session, input(20));
    let turns = 0;
    while (!session.isQuiet) {
      await settle(1);
      turns++;
    }
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  describe("that run ahead", () => {
    /** A world of two sessions whose steps take `ms` each, three at once; the frames asked for, in order. */
    async function makeBusy(ms: number) {
      const world = makeWorld({ slots: 2, frame: 1 });
      const { executor, clock } = world;
      const sessions = [await world.service.open(), await world.service.open()] as const;
      // The first round says how long one takes.
      for (const session of sessions) world.service.submit(session, input(1));
      await settle();
      executor.stepsAhead = 3;
      executor.takes = () => new Promise((resolve) => void clock.after(ms, resolve));
      const asked: number[][] = [];
      const step = executor.step.bind(executor);
      executor.step = (batch) => {
        asked.push(batch.map(({ slot }) => slot));
        return step(batch);
      };
      return { ...world, sessions, asked };
    }

    test("one begins whenever one has ended, across chunks", async () => {
      const { service, clock, sessions: [session], asked } = await makeBusy(1);
      service.submit(session, input(2));
      service.submit(session, input(2));
      const { chunk } = service.submit(session, input(2));
      await settle();
      const counts = [asked.length];
      for (let k = 0; k < 5; k++) {
        await clock.advance(1);
        counts.push(asked.length);
      }
      expect(counts).toEqual([3, 4, 5, 6, 6, 6]);
      await clock.advance(1);
      expect([chunk.state, chunk.startStep]).toEqual(["done", 5]);
    });

    test("a session that comes later is in the next one that begins", async () => {
      const { service, clock, sessions: [first, second], asked } = await makeBusy(1);
      service.submit(first, input(6));
      await settle();
      service.submit(second, input(1));
      await clock.advance(1);
      expect(asked).toEqual([[0], [0], [0], [0, 1]]);
    });

    test("none begins while somebody wants to act between two", async () => {
      const { service, clock, sessions: [first, second], asked } = await makeBusy(1);
      service.submit(first, input(8));
      await settle();
      const parked = service.park(second).then(() => asked.length);
      await clock.advance(4);
      expect(await parked).toBe(3);
      await clock.advance(20);
      expect([asked.length, first.isQuiet]).toEqual([8, true]);
    });

    test("a chunk that begins an epoch waits for those before it", async () => {
      const { service, clock, sessions: [session], asked } = await makeBusy(1);
      service.submit(session, input(2));
      const { chunk } = service.submit(session, { ...input(2), reset: true });
      await settle();
      expect([asked.length, chunk.state]).toEqual([2, "waiting"]);
      await clock.advance(10);
      expect([chunk.state, session.epoch, chunk.startStep]).toEqual(["done", 2, 3]);
    });

    test("when one fails, the others run again and only its own frames count a try", async () => {
      const { service, clock, executor, sessions: [first, second] } = await makeBusy(1);
      const before = executor.steps;
      executor.fails = (_, step) => step === before;
      const sent = service.submit(first, input(4)).chunk;
      await settle();
      const later = service.submit(second, input(2)).chunk;
      await clock.advance(1);
      expect([sent.attempts, later.attempts]).toEqual([1, 0]);
      await clock.advance(20);
      expect([sent.state, later.state]).toEqual(["done", "done"]);
      expect(executor.batches.slice(before).map((rows) => rows.length)).toEqual([1, 2, 2, 1, 1]);
    });

    test("one that takes long is not followed before it has ended", async () => {
      const { service, clock, sessions: [session], asked } = await makeBusy(50);
      service.submit(session, input(40));
      await clock.advance(2000);
      expect(session.isQuiet).toBe(true);
      asked.length = 0;
      service.submit(session, input(5));
      await settle();
      expect(asked.length).toBe(1);
    });
  });

  test("what is a view of a large buffer is copied before it is kept", async () => {
    const world = makeWorld({ plans: [leakyPlan()] });
    const step = world.executor.step.bind(world.executor);
    world.executor.step = async (batch) => {
      const rows = await step(batch);
      return rows.map(({ output, probes }) => {
        const large = (values: Float32Array) => {
          const block = new Float32Array(10_000);
          block.set(values, 5000);
          return block.subarray(5000, 5000 + values.length);
        };
        const recorded = Object.entries(probes).map(([name, values]) => [name, large(values)]);
        return { output: large(output), probes: Object.fromEntries(recorded) };
      });
    };
    const [record] = [...world.service.model().probes.keys()];
    const session = await world.service.open({ record: [record!] });
    const values = new Random(1).floats(8);
    const { chunk } = world.service.submit(session, { values, steps: 2 });
    const outputs = await chunk.wait(world.clock, 1000);
    expect(outputs!.data.buffer.byteLength).toBeLessThan(10_000);
    expect(outputs!.probes[record!]!.buffer.byteLength).toBeLessThan(10_000);
    expect(outputs!.data).toEqual(await onePass(world.plan, values));
  });
});

describe("the service", () => {
  test("drain lets what was taken finish and refuses what comes", async () => {
    const world = makeWorld({ slots: 1 });
    const session = await world.service.open();
    const waiting = world.service.open({ waitSeconds: 10 });
    const refused = waiting.catch((error: unknown) => error);
    const { chunk } = world.service.submit(session, input(40));
    const drained = world.service.drain();
    expect(() => world.service.submit(session, input(1))).toThrow("draining");
    await expect(world.service.open()).rejects.toMatchObject({ code: "draining" });
    expect(await refused).toMatchObject({ code: "draining" });
    await drained;
    expect(chunk.state).toBe("done");
    world.service.close();
    expect(session.endReason).toBe("drained");
    expect(world.service.models[0]!.scheduler.slotsFree).toBe(1);
  });

  test("slots are conserved over many openings and endings", async () => {
    const world = makeWorld({ slots: 3, limits: { goneMax: 5 } });
    const random = new Random(4);
    for (let i = 0; i < 300; i++) {
      const open = world.service.sessions();
      if (open.length < 3 && random.next() < 0.6) {
        const session = await world.service.open({ ttlSeconds: random.int(0, 3) });
        if (random.next() < 0.7) world.service.submit(session, input(random.int(1, 9), i));
      } else if (open.length > 0 && random.next() < 0.7) {
        world.service.end(open[random.int(0, open.length - 1)]!, "closed");
      } else await world.clock.advance(random.int(0, 2000));
      const held = world.service.sessions().length;
      expect(held + world.service.models[0]!.scheduler.slotsFree).toBe(3);
    }
  });

  test("at most goneMax ended sessions are remembered, the oldest forgotten first", async () => {
    const world = makeWorld({ limits: { goneMax: 2 } });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      const session = await world.service.open();
      ids.push(session.id);
      world.service.end(session, "closed");
    }
    expect(() => world.service.session(ids[0]!)).toThrow("no session");
    expect(() => world.service.session(ids[1]!)).toThrow("has ended (closed)");
    expect(() => world.service.session(ids[2]!)).toThrow("has ended (closed)");
  });

  test("ending twice is no fault, and frees one slot", async () => {
    const world = makeWorld({ slots: 1 });
    const session = await world.service.open();
    world.service.end(session, "closed");
    world.service.end(session, "idle");
    expect(session.endReason).toBe("closed");
    expect(world.service.models[0]!.scheduler.slotsFree).toBe(1);
  });

  test("an id is 128 random bits", async () => {
    const { randomId } = await import("../../src/base/ids.ts");
    const ids = Array.from({ length: 1000 }, randomId);
    expect(new Set(ids).size).toBe(1000);
    for (const id of ids) expect(id).toMatch(/^[\w-]{22}$/);
  });

  test("limits have defaults within their bounds", () => {
    expect(() => makeLimits()).not.toThrow();
    expect(() => makeLimits({ seqWindow: 0 })).toThrow("seqWindow");
  });
});
