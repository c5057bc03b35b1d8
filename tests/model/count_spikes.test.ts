/** Spikes of one step, counted with a reciprocal and corrected: the largest multiple that fires, exactly. */
import { expect, test } from "bun:test";
import { MODE_GE } from "../../src/layers/mod.ts";
import { countSpikes, SPIKES_MAX } from "../../src/layers/fire.ts";
import { Random } from "../support/plans.ts";

const f = Math.fround;

test("n thresholds fire and n + 1 do not, for membranes on and around every multiple", () => {
  const random = new Random(1);
  let counted = 0;
  for (let round = 0; round < 20_000; round++) {
    const threshold = f(10 ** (random.next() * 8 - 5));
    const per = f(1 / threshold);
    const n = Math.floor(2 ** (random.next() * 22));
    const at = f(n * threshold);
    const unit = 2 ** (Math.floor(Math.log2(at)) - 23);
    for (const v of [at - unit, at, at + unit, f(at + random.next() * threshold)]) {
      for (const mode of [0, MODE_GE]) {
        const fires = (k: number) =>
          mode === MODE_GE ? v >= f(k * threshold) : v > f(k * threshold);
        const count = countSpikes(v, threshold, per, mode);
        if (count > 0 ? fires(count) && !fires(count + 1) : !fires(1)) counted++;
        else expect({ v, threshold, mode, count }).toBeNull();
      }
    }
  }
  expect(counted).toBe(160_000);
});

test("the count ends at 2^24, and NaN does not fire", () => {
  expect(countSpikes(f(3e38), 1, 1, MODE_GE)).toBe(SPIKES_MAX);
  expect(countSpikes(Infinity, 0.5, 2, 0)).toBe(SPIKES_MAX);
  expect(countSpikes(NaN, 1, 1, MODE_GE)).toBe(0);
  expect(countSpikes(-5, 1, 1, MODE_GE)).toBe(0);
});
