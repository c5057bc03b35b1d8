/** The parts of a load that need no time: who is due when, percentiles, the search, the server's numbers. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { findCapacity } from "../../src/load/capacity.ts";
import { makeBodies } from "../../src/load/chunks.ts";
import { Pacer } from "../../src/load/pacer.ts";
import { changeBetween, parseServerState } from "../../src/load/server_state.ts";
import { curveOf, summarise } from "../../src/load/summary.ts";

describe("pacer", () => {
  const pace = { sessions: 7, periodMs: 20, chunkFrames: 2, seed: 5 };

  test("chunks come in the order in which they are due, each session's every interval", () => {
    const pacer = new Pacer(pace);
    const dues = Array.from({ length: 70 }, (_, n) => pacer.at(n));
    expect(dues.map(({ atMs }) => atMs)).toEqual(
      dues.map(({ atMs }) => atMs).sort((a, b) => a - b),
    );
    for (let session = 0; session < 7; session++) {
      const own = dues.filter((due) => due.session === session);
      expect(own.map(({ chunk }) => chunk)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
      const [first] = own;
      expect(first!.atMs).toBeGreaterThanOrEqual(0);
      expect(first!.atMs).toBeLessThan(40);
      expect(own.map(({ atMs }) => atMs)).toEqual(own.map((_, k) => first!.atMs + 40 * k));
    }
  });

  test("the seed draws the phases: the same again, others for another", () => {
    const phases = (seed: number) => {
      const pacer = new Pacer({ ...pace, seed });
      return Array.from({ length: 7 }, (_, session) => pacer.dueMs(session, 0));
    };
    expect(phases(5)).toEqual(phases(5));
    expect(phases(6)).not.toEqual(phases(5));
    expect(new Set(phases(5)).size).toBe(7);
  });
});

describe("percentiles", () => {
  test("nearest rank: the smallest value that the share does not exceed", () => {
    const values = fc.array(fc.double({ min: 0, max: 1e4, noNaN: true }), { minLength: 1 });
    fc.assert(fc.property(values, (list) => {
      const { count, p50, p99, max } = summarise(list);
      const share = (bound: number) => list.filter((value) => value <= bound).length / list.length;
      const below = (bound: number) => list.filter((value) => value < bound).length / list.length;
      expect(count).toBe(list.length);
      expect(max).toBe(Math.max(...list));
      for (const [at, value] of [[0.5, p50], [0.99, p99]] as const) {
        expect(list).toContain(value);
        expect(share(value)).toBeGreaterThanOrEqual(at - 1e-9);
        expect(below(value)).toBeLessThan(at + 1e-9);
      }
    }));
  });

  test("of 1..100 they are what they are called; nothing has none", () => {
    const { p50, p90, p95, p99, max, mean } = summarise(
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
    expect([p50, p90, p95, p99, max, mean]).toEqual([50, 90, 95, 99, 100, 50.5]);
    expect(summarise([])).toMatchObject({ count: 0, p99: NaN, max: NaN });
  });

  test("a curve rises, and ends at the largest", () => {
    const curve = curveOf(Array.from({ length: 500 }, (_, i) => i));
    expect(curve.at(-1)).toEqual([1, 499]);
    for (const [i, [share, value]] of curve.entries()) {
      if (i === 0) continue;
      expect(share).toBeGreaterThan(curve[i - 1]![0]);
      expect(value).toBeGreaterThanOrEqual(curve[i - 1]![1]);
    }
  });
});

describe("search of the capacity", () => {
  const search = async (
    capacity: number,
    { start = 8, max = 256, hiccups = [] as number[] } = {},
  ) => {
    let probes = 0;
    const found = await findCapacity<null>({
      start,
      max,
      probe: (sessions) => {
        const holds = sessions <= capacity && !hiccups.includes(probes++);
        return Promise.resolve({ holds, isSure: true, result: null });
      },
    });
    return { ...found, probes: found.trials.length };
  };

  test("finds every capacity within its resolution, from any start", async () => {
    for (const start of [1, 8, 100]) {
      for (let capacity = 0; capacity <= 256; capacity++) {
        const { sessions, atLimit, probes } = await search(capacity, { start });
        expect(sessions).toBeLessThanOrEqual(capacity);
        expect(capacity - sessions).toBeLessThan(Math.max(1, 0.025 * (capacity + 1)));
        expect(atLimit).toBe(capacity === 256);
        expect(probes).toBeLessThan(28);
      }
    }
  });

  test("one hiccup does not count, two do", async () => {
    expect((await search(100, { hiccups: [2] })).sessions).toBeGreaterThan(96);
    expect((await search(100, { hiccups: [2, 3] })).sessions).toBeLessThan(32);
  });

  test("failures of a late client are tried again, five times at most", async () => {
    const lateUntil = async (tries: number) => {
      let at16 = 0;
      return await findCapacity<null>({
        start: 8,
        max: 256,
        probe: (sessions) => {
          const isSure = sessions !== 16 || ++at16 > tries;
          return Promise.resolve({ holds: sessions <= 40 && isSure, isSure, result: null });
        },
      });
    };
    expect((await lateUntil(4)).sessions).toBe(40);
    expect((await lateUntil(5)).sessions).toBe(15);
  });

  test("never more numbers are tried than were said to be left", async () => {
    for (const start of [1, 8, 200]) {
      for (const capacity of [0, 3, 40, 100, 255, 256]) {
        const said: [sessions: number, left: number][] = [];
        await findCapacity<number>({
          start,
          max: 256,
          probe: (sessions) =>
            Promise.resolve({ holds: sessions <= capacity, isSure: true, result: sessions }),
          onTrial: (sessions, left) => said.push([sessions, left]),
        });
        expect(said.at(-1)![1]).toBe(0);
        for (const [i, [, left]] of said.entries()) {
          const later = new Set(said.slice(i + 1).map(([sessions]) => sessions));
          expect(later.size).toBeLessThanOrEqual(left);
        }
      }
    }
  });

  test("the most that the server takes bounds it; stopped, it gives what it has", async () => {
    expect(await search(100, { max: 20 })).toMatchObject({ sessions: 20, atLimit: true });
    expect(await search(100, { max: 3 })).toMatchObject({ sessions: 3, probes: 1 });
    let left = 3;
    const stopped = await findCapacity<null>({
      start: 8,
      max: 256,
      probe: () => Promise.resolve(left-- > 0 ? { holds: true, isSure: true, result: null } : null),
    });
    expect(stopped).toMatchObject({ sessions: 32, interrupted: true, atLimit: false });
  });
});

describe("what is sent", () => {
  test("random spikes are packed, of about their density, the same for a seed", () => {
    const bodies = makeBodies({ kind: "random", density: 0.1, seed: 4 }, 100, 10);
    expect(bodies.contentType).toBe("application/vnd.ganglion.bits");
    let ones = 0;
    for (let chunk = 0; chunk < 64; chunk++) {
      const body = bodies.bodyOf(0, chunk);
      expect(body.length).toBe(10 * 4 * 4);
      for (const word of new Uint32Array(body.slice().buffer)) {
        for (let bit = 0; bit < 32; bit++) ones += (word >>> bit) & 1;
      }
    }
    expect(ones / 64_000).toBeCloseTo(0.1, 2);
    const again = makeBodies({ kind: "random", density: 0.1, seed: 4 }, 100, 10);
    expect(again.bodyOf(3, 9)).toEqual(bodies.bodyOf(3, 9));
    expect(bodies.bodyOf(0, 0)).not.toEqual(bodies.bodyOf(1, 0));
  });

  test("recordings are cut into chunks, one too short is repeated; what are no bits goes as f32", () => {
    const long = Float32Array.from({ length: 50 }, (_, i) => i);
    const short = Float32Array.of(1, 2, 3, 4);
    const input = { kind: "recordings", recordings: [long, short] } as const;
    const { contentType, bodyOf } = makeBodies(input, 2, 5);
    expect(contentType).toBe("application/octet-stream");
    const values = (session: number, chunk: number) => [
      ...new Float32Array(bodyOf(session, chunk).slice().buffer),
    ];
    expect(values(0, 1)).toEqual([10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(values(0, 5)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(values(1, 0)).toEqual([1, 2, 3, 4, 1, 2, 3, 4, 1, 2]);
  });
});

describe("the server's numbers", () => {
  const page = (chunks: readonly number[], sum: number) =>
    [
      "# HELP ganglion_ready 1 while sessions and chunks are taken",
      "ganglion_ready 1",
      'ganglion_frames_total{model="a"} 12',
      'ganglion_frames_total{model="b"} 999',
      ...["0.01", "0.1", "+Inf"].map((le, i) =>
        `ganglion_chunk_seconds_bucket{model="a",le="${le}"} ${chunks[i]}`
      ),
      `ganglion_chunk_seconds_sum{model="a"} ${sum}`,
      'ganglion_chunk_seconds_bucket{model="b",le="+Inf"} 7',
      'ganglion_refusals_total{code="queue_full"} 2',
      'ganglion_refusals_total{code="no_slot"} 3',
    ].join("\n");

  test("of one model, and what they grew by", () => {
    const before = parseServerState(page([10, 20, 30], 5), "a")!;
    const after = parseServerState(page([60, 110, 130], 9), "a")!;
    expect(before).toMatchObject({ frames: 12, refusals: 5 });
    const change = changeBetween(before, after);
    expect(change.chunks).toBe(100);
    expect(change.chunkMs.mean).toBeCloseTo(40, 9);
    expect(change.chunkMs.p50).toEqual({ above: 0, upTo: 10 });
    expect(change.chunkMs.p90).toEqual({ above: 10, upTo: 100 });
    expect(change.chunkMs.p99).toEqual({ above: 100, upTo: null });
    expect(change.chunkMs.shares).toEqual([[10, 0.5], [100, 0.9]]);
  });

  test("a page that is no such page is none", () => {
    expect(parseServerState("<html>hello</html>", "a")).toBeNull();
    expect(parseServerState("go_goroutines 7\n", "a")).toBeNull();
  });
});
