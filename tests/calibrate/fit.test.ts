/** Lines through step costs, and the rest that a chunk costs, from numbers whose answer is known. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { costOf, fitCost, fitOwn, sizesUpTo } from "../../src/calibrate/fit.ts";

const cost = (rows: number, seconds: number) => costOf(rows, [seconds]);

test("a line is found again, whatever its slope", () => {
  const positive = fc.double({ min: 1e-6, max: 1, noNaN: true });
  const sizes = fc.uniqueArray(fc.integer({ min: 1, max: 512 }), { minLength: 2, maxLength: 9 });
  fc.assert(fc.property(positive, positive, sizes, (base, row, rows) => {
    const fit = fitCost(rows.map((size) => cost(size, base + row * size)));
    expect(fit.worst).toBeLessThan(1e-6);
    for (const { seconds, fitted } of fit.points) expect(fitted).toBeCloseTo(seconds, 8);
  }));
});

test("errors count relative to the step: a line between two clouds misses both alike", () => {
  const fit = fitCost([cost(1, 0.9), cost(1, 1.1), cost(100, 90), cost(100, 110)]);
  const [low, high, lowOfMany, highOfMany] = fit.points.map(({ error }) => error);
  expect(lowOfMany).toBeCloseTo(low!, 9);
  expect(highOfMany).toBeCloseTo(high!, 9);
  expect([low! > 0.08, high! < -0.08, fit.worst < 0.12]).toEqual([true, true, true]);
});

test("no part of a cost is negative, and one size is all base", () => {
  expect(fitCost([cost(1, 3), cost(2, 2), cost(4, 1)])).toMatchObject({ row: 0 });
  const steep = fitCost([cost(1, 1), cost(2, 4), cost(4, 16)]);
  expect(steep.base).toBe(0);
  expect(steep.row).toBeGreaterThan(1);
  expect(fitCost([cost(1, 0.25)])).toMatchObject({ base: 0.25, row: 0, worst: 0 });
});

test("what is beside a step keeps the median and the 90th percentile", () => {
  const fit = fitCost([cost(1, 0.02), cost(2, 0.03)]);
  const idle = Array.from({ length: 10_001 }, (_, i) => 0.025 - 0.002 * Math.log(1 - i / 10_001));
  const own = fitOwn(idle, fit);
  expect(own.least).toBeCloseTo(0.005, 5);
  expect(own.more).toBeCloseTo(0.002, 5);
  expect(own.count).toBe(10_001);
  // A chunk is never faster than its step.
  expect(fitOwn([0.01, 0.015], fit)).toMatchObject({ least: 0, more: 0 });
});

test("sizes double up to the last", () => {
  expect(sizesUpTo(1)).toEqual([1]);
  expect(sizesUpTo(8)).toEqual([1, 2, 4, 8]);
  expect(sizesUpTo(9)).toEqual([1, 2, 4, 8, 9]);
});
