/** The measurement in virtual time: every latency is known, so the result is too, to the last chunk. */
import { describe, expect, test } from "bun:test";
import type { Clock, Timer } from "../../src/base/clock.ts";
import { measure } from "../../src/load/measure.ts";
import type { LoadListener, LoadSessions, Pace, Rules } from "../../src/load/types.ts";
import { SimClock } from "../http/support/world.ts";

const PACE: Pace = { sessions: 8, periodMs: 20, chunkFrames: 1, seed: 3 };
const RULES: Rules = {
  targetMs: 20,
  warmUpMs: 1000,
  windowMs: 1000,
  windowsMax: 6,
  overloadMs: 2000,
  endsWhenLate: false,
};
const FRAME = 10;

interface World {
  readonly pace?: Partial<Pace>;
  readonly rules?: Partial<Rules>;
  /** Time from a chunk's sending to its outputs, at the time of sending. */
  readonly serviceMs?: (now: number, session: number) => number;
  /** Whether its queue takes a chunk. */
  readonly takes?: (chunk: number) => boolean;
  /** Delay of every timer. */
  readonly lagMs?: number;
  readonly interruptAtMs?: number;
}

/** Runs to the end in virtual time. */
async function run(world: World) {
  const { serviceMs = () => 7, takes = () => true, lagMs = 0, interruptAtMs } = world;
  const sim = new SimClock();
  const pace = { ...PACE, ...world.pace };
  const clock: Clock = {
    now: () => sim.now(),
    wallMs: () => sim.wallMs(),
    after: (ms, action): Timer => sim.after(ms + lagMs, action),
  };
  const join = (listener: LoadListener): Promise<LoadSessions> => {
    const chunkSteps = FRAME * pace.chunkFrames;
    const busyUntil = Array.from({ length: pace.sessions }, () => 0);
    return Promise.resolve({
      frameSteps: FRAME,
      chunkSteps,
      send(session, chunk) {
        if (!takes(chunk)) return Promise.resolve(false);
        const ready = Math.max(busyUntil[session]!, sim.now()) + serviceMs(sim.now(), session);
        busyUntil[session] = ready;
        sim.after(ready - sim.now(), () => {
          for (let frame = 0; frame < pace.chunkFrames; frame++) {
            listener.onOutput(session, chunk * chunkSteps + frame * FRAME, FRAME);
          }
        });
        return Promise.resolve(true);
      },
      readServer: () => Promise.resolve(null),
    });
  };
  const stop = new AbortController();
  if (interruptAtMs !== undefined) sim.after(interruptAtMs, () => stop.abort());
  const measured = measure(pace, { ...RULES, ...world.rules }, join, {
    clock,
    cpuMs: () => sim.now() / 4,
    signal: stop.signal,
  });
  let isOver = false;
  void measured.then(() => isOver = true);
  while (!isOver) await sim.advance(100);
  return { ...await measured, endedAt: sim.now() };
}

test("a steady server: three windows, every chunk, its exact latency", async () => {
  const found = await run({});
  expect(found.ending).toBe("stable");
  expect(found.holds).toBe(true);
  expect(found.latencyMs.count).toBe(3 * 8 * 50);
  for (const value of [found.latencyMs.mean, found.latencyMs.p50, found.latencyMs.max]) {
    expect(value).toBeCloseTo(7, 9);
  }
  expect([found.offeredPerSecond, found.frames, found.framesLate]).toEqual([400, 1200, 0]);
  expect(found.windows.map(({ counted }) => counted)).toEqual([true, true, true]);
  expect(found.client.cores).toBeCloseTo(0.25, 2);
  expect(found.client.late).toBe(false);
  expect(found.endedAt).toBeLessThanOrEqual(4100);
});

test("the first windows do not count when they differ from those that agree", async () => {
  const found = await run({ serviceMs: (now) => now < 2700 ? 12 : 7 });
  expect(found.windows.map(({ counted }) => counted)).toEqual([false, false, true, true, true]);
  expect(found.latencyMs.max).toBeCloseTo(7, 9);
});

test("a server that stands still is seen by every chunk that was due meanwhile", async () => {
  // All answers due in 300 ms come at the end of them: the closed loop would have sent one chunk.
  const [from, to] = [2200, 2500];
  const found = await run({
    rules: { windowsMax: 3 },
    serviceMs: (now) => now >= from && now < to ? to - now + 7 : 0.001,
  });
  expect(found.latencyMs.count).toBe(1200);
  const late = 8 * (300 / 20);
  expect(found.latencyMs.p90).toBeGreaterThan(1);
  expect(found.latencyMs.max).toBeGreaterThan(280);
  // Within the 120 late ones latencies fall from 300 to 0 evenly: the 99th percentile of 1200 is the
  // 12th largest of all.
  expect(found.latencyMs.p99).toBeGreaterThan(300 - 12 * (300 / late) - 25);
  expect(found.holds).toBe(false);
});

test("an overloaded server ends it, and unanswered chunks count with their age", async () => {
  const found = await run({ serviceMs: () => 60 });
  expect(found.ending).toBe("overloaded");
  expect(found.holds).toBe(false);
  expect(found.unanswered).toBeGreaterThan(100);
  expect(found.latencyMs.max).toBeGreaterThan(1900);
  expect(found.finishedPerSecond).toBeLessThan(found.offeredPerSecond / 2);
});

test("frames that never came are late too", async () => {
  const silent = await run({ serviceMs: () => 1e6 });
  expect(silent.frames).toBe(silent.unanswered);
  expect(silent.frames).toBeGreaterThan(100);
  expect(silent.framesLate).toBe(silent.frames);
  const world = { pace: { chunkFrames: 3 }, rules: { targetMs: 60 } };
  const threes = await run({ ...world, serviceMs: () => 1e6 });
  expect(threes.frames).toBe(3 * threes.unanswered);
  expect(threes.framesLate).toBe(threes.frames);
});

test("a full queue is an overload, also in the warm-up", async () => {
  const found = await run({ takes: (chunk) => chunk < 10 });
  expect([found.ending, found.holds]).toEqual(["overloaded", false]);
  expect(found.latencyMs.count).toBeGreaterThan(70);
});

test("a server that is late all the time ends a search's measurement early", async () => {
  const wobbly = (now: number) => now % 2000 < 1000 ? 25 : 32;
  const world = { pace: { periodMs: 50 }, serviceMs: wobbly };
  const hurried = await run({ ...world, rules: { endsWhenLate: true } });
  expect([hurried.ending, hurried.holds]).toEqual(["late", false]);
  expect(hurried.windows).toHaveLength(3);
  const patient = await run(world);
  expect(patient.ending).toBe("unstable");
  expect(patient.windows).toHaveLength(6);
});

test("stopped from outside it gives what it has", async () => {
  const found = await run({ interruptAtMs: 2600 });
  expect([found.ending, found.holds, found.unanswered]).toEqual(["interrupted", true, 0]);
  expect(found.latencyMs.count).toBeGreaterThan(600);
  const early = await run({ interruptAtMs: 0 });
  expect([early.ending, early.holds, early.latencyMs.count]).toEqual(["interrupted", false, 0]);
});

test("a late client makes latencies longer, and is found out", async () => {
  const found = await run({ lagMs: 11 });
  expect(found.client.lagMs.p50).toBeGreaterThan(1);
  expect(found.client.late).toBe(true);
  expect(found.latencyMs.max).toBeGreaterThan(7 + 10);
});

test("of a chunk of several frames the k-th has k periods", async () => {
  const world = { pace: { chunkFrames: 3 }, rules: { targetMs: 60 } };
  const found = await run({ ...world, serviceMs: () => 45 });
  // After 45 ms the first two frames (20 and 40 ms) are late, the third is not.
  expect(found.framesLate / found.frames).toBeCloseTo(2 / 3, 9);
  expect([found.holds, found.latencyMs.count * 3]).toEqual([true, found.frames]);
});

describe("a session that fails", () => {
  test("rejects with what it said", async () => {
    const sim = new SimClock();
    const failing = measure(PACE, RULES, (listener) => {
      sim.after(30, () => listener.onFailure(new Error("gone")));
      return Promise.resolve({
        frameSteps: FRAME,
        chunkSteps: FRAME,
        send: () => Promise.resolve(true),
        readServer: () => Promise.reject(new Error("no metrics")),
      });
    }, { clock: sim, cpuMs: () => 0 }).catch((error: Error) => error.message);
    await sim.advance(100);
    expect(await failing).toBe("gone");
    expect(sim.timers).toBe(0);
  });
});
