/** The generator, the logarithm, the heap and the statistics: the ground every run stands on. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { Rng, word64 } from "../../src/serq/chacha12.ts";
import { EventHeap } from "../../src/serq/heap.ts";
import { Interpreter } from "../../src/serq/interpreter.ts";
import type { Program } from "../../src/serq/ir.ts";
import { fusedMultiplyAdd, ln } from "../../src/serq/ln.ts";
import { batchMeans, Histogram, signalStatistics, Welford } from "../../src/serq/statistics.ts";

/** From the original and from glibc: tests/oracles/serq_numbers.py. */
const NUMBERS = JSON.parse(
  readFileSync(new URL("../fixtures/serq/numbers.json", import.meta.url), "utf8"),
) as {
  uniforms: Record<string, number[]>;
  counts: number[];
  below: Record<string, number[]>;
  sessions: { program: Program; seen: number[] }[];
  ln: [number, number][];
};

describe("generator", () => {
  for (const [seed, wanted] of Object.entries(NUMBERS.uniforms)) {
    test(`uniforms of seed ${seed} are bit-equal`, () => {
      const rng = new Rng(word64(BigInt(seed)));
      expect(wanted.map(() => rng.uniform())).toEqual(wanted);
    });
    test(`whole numbers of seed ${seed}`, () => {
      const rng = new Rng(word64(BigInt(seed)));
      const drawn = NUMBERS.counts.flatMap((count) => [0, 1, 2].map(() => rng.below(count)));
      expect(drawn).toEqual(NUMBERS.below[seed]!);
    });
  }
  test("substreams of sessions and turns are bit-equal", () => {
    for (const { program, seen } of NUMBERS.sessions) {
      const interpreter = new Interpreter(program);
      interpreter.run();
      expect([...interpreter.machine.observations[0]!.values.values()]).toEqual(seen);
    }
  });
});

describe("logarithm", () => {
  test("equals glibc's to the last bit", () => {
    for (const [x, wanted] of NUMBERS.ln) expect([x, ln(x)]).toEqual([x, wanted]);
  });
  test("special arguments", () => {
    expect([ln(1), ln(0), ln(Infinity), ln(-1)]).toEqual([0, -Infinity, Infinity, NaN]);
    expect(ln(5e-324)).toBeCloseTo(-744.44, 1);
  });
  test("a fused multiply-add rounds once", () => {
    // 1 + 2^-60 loses the second term in a product that is rounded first.
    const a = 1 + 2 ** -30;
    expect(a * a - (1 + 2 ** -29)).toBe(0);
    expect(fusedMultiplyAdd(a, a, -(1 + 2 ** -29))).toBe(2 ** -60);
  });
});

describe("event heap", () => {
  test("leaves in the order of time, key and arrival", () => {
    const small = fc.integer({ min: 0, max: 4 });
    fc.assert(fc.property(fc.array(fc.tuple(small, small)), (entries) => {
      const heap = new EventHeap<[number, number, number]>();
      const all = entries.map(([time, key], i): [number, number, number] => [time, key, i]);
      for (const entry of all) heap.push(entry[0], entry, entry[1]);
      const wanted = all.toSorted((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
      expect(all.map(() => heap.pop())).toEqual(wanted);
      expect([heap.pop(), heap.size, heap.peekTime()]).toEqual([undefined, 0, Infinity]);
    }));
  });
});

describe("statistics", () => {
  test("moments", () => {
    const moments = new Welford();
    expect(moments.mean).toBeNaN();
    for (const value of [1, 2, 3, 4]) moments.push(value);
    expect([moments.mean, moments.variance]).toEqual([2.5, 5 / 3]);
  });
  test("batch means leave the remainder out", () => {
    const values = Array.from({ length: 45 }, (_, i) => (i < 40 ? i % 2 : 1000));
    expect(batchMeans(values)).toEqual({ mean: 0.5, halfWidth: 0 });
    expect(batchMeans([1, 2, 3]).halfWidth).toBe(Infinity);
  });
  test("a value held for no time is no extreme", () => {
    const { mean, min, max } = signalStatistics([0, 2, 2], [1, 9, 2], 0, 4);
    expect([mean, min, max]).toEqual([1.5, 1, 2]);
  });
  test("quantiles of a histogram are within half a percent", () => {
    const histogram = new Histogram();
    for (let i = 1; i <= 1000; i++) histogram.push(i / 7);
    expect(Math.abs(histogram.quantile(0.5) / (500 / 7) - 1)).toBeLessThan(0.005);
    expect(histogram.mean).toBeCloseTo(500.5 / 7, 9);
  });
});
