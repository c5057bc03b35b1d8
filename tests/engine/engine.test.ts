/** What only the WebGPU engine does: several submits, programs, refusals. */
import { afterEach, describe, expect, test } from "bun:test";
import type { BatchRow } from "../../src/engine/executor.ts";
import { layOut, WORKING_MEMORY } from "../../src/engine/layout.ts";
import { describeAdapter, GpuExecutor, openDevice } from "../../src/engine/mod.ts";
import { type Plan, probesOf } from "../../src/model/plan.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { findGpu } from "../../src/runtime/gpu.ts";
import { assertSameBits } from "../contract/cases.ts";
import { convPlan, mlpPlan, Random, recurrentPlan } from "../support/plans.ts";

const open: GpuExecutor[] = [];

afterEach(async () => {
  for (const executor of open.splice(0)) await executor.close();
});

async function create(
  plan: Plan,
  options: { slots: number; frame: number; memory?: Parameters<typeof layOut>[1]["memory"] },
): Promise<GpuExecutor> {
  const { gpu } = await findGpu();
  const device = await openDevice(gpu);
  const executor = await GpuExecutor.create(plan, device, {
    ...options,
    readback: "awaited",
    numerics: "test",
  });
  open.push(executor);
  return executor;
}

async function expectSame(executor: GpuExecutor, batch: readonly BatchRow[]): Promise<void> {
  const { plan, slots, frame } = executor;
  const reference = new ReferenceExecutor(plan, { slots, frame });
  const [given, wanted] = await Promise.all([executor.step(batch), reference.step(batch)]);
  given.forEach(({ output }, i) => assertSameBits(output, wanted[i]!.output, `row ${i}`));
}

describe("a batch larger than one submit", () => {
  for (const plan of [mlpPlan(2, "lif", 0), convPlan(3), recurrentPlan(4)]) {
    test(plan.name, async () => {
      const size = { slots: 5, frame: 20 };
      const rowBytes = layOut(plan, size).scratchWords * 4;
      const memory = { ...WORKING_MEMORY, scratchBytesMax: rowBytes * 2 };
      expect(layOut(plan, { ...size, memory }).rowsMax).toBe(2);
      const executor = await create(plan, { ...size, memory });
      const random = new Random(5);
      await expectSame(
        executor,
        [4, 0, 3, 1, 2].map((slot) => {
          const steps = random.int(1, 20);
          return { slot, steps, fresh: true, input: random.spikes(steps * plan.sampleSize) };
        }),
      );
    });

    test(`${plan.name}: one step a tile where memory is short`, async () => {
      const size = { slots: 2, frame: 6 };
      const { scratchWords, tile } = layOut(plan, size);
      const scratchBytesMax = Math.ceil(scratchWords / tile) * 4;
      const memory = { ...WORKING_MEMORY, scratchBytesMax };
      expect(layOut(plan, { ...size, memory }).tile).toBe(1);
      const random = new Random(6);
      await expectSame(
        await create(plan, { ...size, memory }),
        [0, 1].map((slot) => ({
          slot,
          steps: 6 - slot,
          fresh: true,
          input: random.floats((6 - slot) * plan.sampleSize),
        })),
      );
    });
  }
});

test("the parts of a step are told, together no longer than the step", async () => {
  const plan = mlpPlan(2, "lif", 0);
  const executor = await create(plan, { slots: 2, frame: 4 });
  const input = new Random(1).spikes(4 * plan.sampleSize);
  const begin = performance.now();
  await executor.step([{ slot: 0, steps: 4, fresh: true, input }]);
  const took = performance.now() - begin;
  const { uploadMs, computeMs, readbackMs } = executor.phases;
  for (const part of [uploadMs, computeMs, readbackMs]) expect(part).toBeGreaterThan(0);
  expect(uploadMs + computeMs + readbackMs).toBeLessThan(took);
});

test("recording changes no bit and any set of names works", async () => {
  const plan = recurrentPlan(7);
  const executor = await create(plan, { slots: 2, frame: 5 });
  const names = probesOf(plan).map(({ name }) => name);
  const random = new Random(8);
  const rest = random.floats(5 * plan.sampleSize);
  for (let k = 0; k < 12; k++) {
    const record = names.filter(() => random.next() < 0.4);
    const rows = [record, []].map((record, slot): BatchRow => ({
      slot,
      steps: 5,
      fresh: true,
      input: rest,
      record,
    }));
    const [recorded, plain] = await executor.step(rows);
    assertSameBits(recorded!.output, plain!.output, "output with and without record");
    expect(Object.keys(recorded!.probes).sort()).toEqual([...record].sort());
    expect(Object.keys(plain!.probes)).toEqual([]);
  }
});

test("a lost device rejects the step and says so", async () => {
  const executor = await create(mlpPlan(9, "lif", 0), { slots: 1, frame: 2 });
  const row: BatchRow = { slot: 0, steps: 2, fresh: true, input: new Float32Array(2 * 33) };
  await executor.step([row]);
  await executor.close();
  open.length = 0;
  expect(await executor.lost).toHaveProperty("reason");
  await expect(executor.step([row])).rejects.toThrow();
});

test(
  "what is read across a loss is the step's own bits or an error, never anything else",
  async () => {
    const plan = mlpPlan(9, "lif", 0);
    const input = new Random(3).spikes(2 * plan.sampleSize);
    const row: BatchRow = { slot: 0, steps: 2, fresh: true, input };
    const [wanted] = await new ReferenceExecutor(plan, { slots: 1, frame: 2 }).step([row]);
    const { gpu } = await findGpu();
    for (let turns = 0; turns < 6; turns++) {
      const device = await openDevice(gpu);
      const options = { slots: 1, frame: 2, readback: "awaited", numerics: "test" } as const;
      const executor = await GpuExecutor.create(plan, device, options);
      const stepping = executor.step([row]).then(
        ([result]) => result!.output,
        (error: unknown) => error,
      );
      // Before, while and after the map that was accepted.
      for (let i = 0; i < turns; i++) await Promise.resolve();
      device.device.destroy();
      const outcome = await stepping;
      if (outcome instanceof Float32Array) assertSameBits(outcome, wanted!.output, `turn ${turns}`);
      else expect(outcome).toBeInstanceOf(Error);
      await expect(executor.step([row])).rejects.toThrow();
    }
  },
  60_000,
);

test("a map that succeeds with zeros is no output", async () => {
  const plan = mlpPlan(9, "lif", 0);
  const executor = await create(plan, { slots: 1, frame: 2 });
  const input = new Random(3).spikes(2 * plan.sampleSize);
  const row: BatchRow = { slot: 0, steps: 2, fresh: true, input };
  const { gpu } = await findGpu();
  const sample = (await openDevice(gpu)).device;
  const staging = Object.getPrototypeOf(
    sample.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST }),
  ) as GPUBuffer;
  const was = Object.getOwnPropertyDescriptor(staging, "getMappedRange")!;
  Object.defineProperty(staging, "getMappedRange", {
    ...was,
    value: (_: number, bytes: number) => new ArrayBuffer(bytes),
  });
  try {
    await expect(executor.step([row])).rejects.toThrow("data of another step");
  } finally {
    Object.defineProperty(staging, "getMappedRange", was);
    sample.destroy();
  }
  await expectSame(executor, [row]);
});

test("slots that cannot fit are refused with the number that would", async () => {
  const { gpu } = await findGpu();
  const device = await openDevice(gpu);
  const small = { ...device, limits: { ...device.limits, storageBytesMax: 4096 } };
  const plan = mlpPlan(9, "cuba_lif", 0);
  const creating = GpuExecutor.create(plan, small, {
    slots: 1000,
    frame: 1,
    readback: "awaited",
    numerics: "test",
  });
  await expect(creating).rejects.toThrow(/at most \d+ slots do/);
  device.device.destroy();
});

test("a runtime without WebGPU, without adapter, or with a null adapter is refused by name", async () => {
  await expect(openDevice(null)).rejects.toThrow("no WebGPU");
  const none = { requestAdapter: () => Promise.resolve(null) } as unknown as GPU;
  await expect(openDevice(none)).rejects.toThrow("no adapter");
  const info = { vendor: "", architecture: "", device: "null-backend", description: "" };
  const nothing = {
    requestAdapter: () => Promise.resolve({ info, limits: {} }),
  } as unknown as GPU;
  await expect(openDevice(nothing)).rejects.toThrow("null adapter");
  expect(describeAdapter(info as GPUAdapterInfo)).toBe("null-backend");
});
