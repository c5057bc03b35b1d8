/** The golden frame sees kernels that are wrong only where nothing is recorded, and in one way of running. */
import { expect, test } from "bun:test";
import type { BatchRow, Executor, RowResult } from "../../src/engine/executor.ts";
import { goldenFrame } from "../../src/golden_frame.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { mlpPlan } from "../support/plans.ts";

/** The reference, but for what `spoil` does to results. */
function spoiled(spoil: (result: RowResult, row: BatchRow) => RowResult): Executor {
  const inner = new ReferenceExecutor(mlpPlan(3, "lif", 0), { slots: 2, frame: 4 });
  return new Proxy<Executor>(inner, {
    get(target, key) {
      if (key === "step") {
        return async (batch: readonly BatchRow[]) =>
          (await target.step(batch)).map((result, i) => spoil(result, batch[i]!));
      }
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) as unknown : value;
    },
  });
}

const zeros = (result: RowResult): RowResult => ({
  ...result,
  output: new Float32Array(result.output.length),
});

test("an executor that agrees is exact", async () => {
  expect(await goldenFrame(spoiled((result) => result))).toBe("exact");
});

test("kernels that are wrong where nothing is recorded are seen", async () => {
  const executor = spoiled((result, { record }) => record === undefined ? zeros(result) : result);
  expect(await goldenFrame(executor)).toBe("wrong");
});

test("each way of running is looked at", async () => {
  let way = 0;
  const executor = spoiled((result) => way === 2 ? zeros(result) : result);
  const ways = [0, 1, 2].map((k) => () => {
    way = k;
  });
  expect(await goldenFrame(executor, ways.slice(0, 2))).toBe("exact");
  expect(await goldenFrame(executor, ways)).toBe("wrong");
});
