/** What the CPU executor cannot hold is refused with the number that fits; far addresses are addresses. */
import { expect, test } from "bun:test";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import { GanglionError } from "../../src/base/errors.ts";
import { COPIES, mapMemory } from "../../src/cpu/memory_map.ts";
import { PLANS } from "../contract/cases.ts";

test("too many slots are refused with the number that fits", () => {
  const plan = PLANS.find(({ name }) => name === "conv")!;
  const size = { slots: 1, frame: 10, threads: 1 };
  const slots = Math.ceil(2 ** 32 / (COPIES * mapMemory(plan, size).rowBytes));
  let refusal: unknown;
  try {
    new CpuExecutor(plan, { slots, frame: 10 });
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(GanglionError);
  const { code, facts } = refusal as GanglionError;
  expect(code).toBe("device_unavailable");
  const fitting = facts["slots_max"] as number;
  expect(fitting).toBeLessThan(slots);
  expect(mapMemory(plan, { ...size, slots: fitting }).bytes).toBeLessThanOrEqual(2 ** 32);
  expect(() => mapMemory(plan, { ...size, slots: fitting + 1 })).toThrow("slots");
});

test("a slot beyond the first two GiB is like any other", async () => {
  const plan = PLANS.find(({ name }) => name === "conv")!;
  const { rowBytes } = mapMemory(plan, { slots: 1, frame: 10, threads: 1 });
  const slots = Math.ceil(1.2 * 2 ** 31 / (COPIES * rowBytes));
  const executor = new CpuExecutor(plan, { slots, frame: 10 });
  const input = Float32Array.from({ length: 10 * plan.sampleSize }, (_, i) => i % 3 === 0 ? 1 : 0);
  for (const fresh of [true, false]) {
    const row = { slot: 0, steps: 10, fresh, input };
    const [near, far] = await executor.step([row, { ...row, slot: slots - 1 }]);
    expect(far!.output).toEqual(near!.output);
  }
  const [near, far] = await executor.readStates([0, slots - 1]);
  expect(far).toEqual(near!);
});
