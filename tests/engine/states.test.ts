/** How the WebGPU engine reads many states: in parts, with one staging buffer, behind a stamp. */
import { afterEach, describe, expect, test } from "bun:test";
import type { RowState } from "../../src/engine/executor.ts";
import { layOut, WORKING_MEMORY } from "../../src/engine/layout.ts";
import { GpuExecutor, openDevice } from "../../src/engine/mod.ts";
import type { Plan } from "../../src/model/plan.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { findGpu } from "../../src/runtime/gpu.ts";
import { lateReaderPlan, mlpPlan, Random, recurrentPlan } from "../support/plans.ts";

const SIZE = { slots: 6, frame: 4 };
const ALL = [5, 1, 0, 4, 2, 3];
const open: GpuExecutor[] = [];

afterEach(async () => {
  for (const executor of open.splice(0)) await executor.close();
});

interface Opened {
  readonly executor: GpuExecutor;
  readonly device: GPUDevice;
  readonly wanted: (slots: readonly number[]) => Promise<RowState[]>;
  /** Runs another frame in every slot. */
  readonly step: () => Promise<void>;
  /** Bytes of the staging buffers for states that were made since the last call. */
  readonly made: () => number[];
  readonly submits: () => number;
  /** Reports an error as the device would. */
  readonly report: (message: string) => void;
}

async function create(plan: Plan, rowsAtOnce?: number): Promise<Opened> {
  const { gpu } = await findGpu();
  const opened = await openDevice(gpu);
  const { device } = opened;
  const { stateWords, ringWords } = layOut(plan, SIZE);
  const stateBytesMax = 4 * (stateWords + ringWords) * (rowsAtOnce ?? 100);
  const handlers: ((event: unknown) => void)[] = [];
  device.addEventListener = (_: string, handler: unknown) => {
    handlers.push(handler as (event: unknown) => void);
  };
  const executor = await GpuExecutor.create(plan, opened, {
    ...SIZE,
    memory: { ...WORKING_MEMORY, stateBytesMax },
    readback: "awaited",
    numerics: "test",
  });
  open.push(executor);
  let made: number[] = [];
  let submits = 0;
  const { createBuffer } = device;
  device.createBuffer = (descriptor) => {
    if (descriptor.label === "readback") made.push(descriptor.size);
    return createBuffer.call(device, descriptor);
  };
  const { queue } = device;
  const { submit } = queue;
  queue.submit = (buffers) => {
    submits++;
    return submit.call(queue, buffers);
  };
  const reference = new ReferenceExecutor(plan, SIZE);
  const random = new Random(4);
  const step = async () => {
    const batch = ALL.map((slot) => {
      const input = random.spikes(4 * plan.sampleSize);
      return { slot, steps: 4, fresh: true, input };
    });
    await Promise.all([executor.step(batch), reference.step(batch)]);
  };
  await step();
  made = [];
  submits = 0;
  return {
    executor,
    device,
    wanted: (slots) => reference.readStates(slots),
    step,
    made: () => made.splice(0),
    submits: () => submits,
    report: (message) => handlers.forEach((handle) => handle({ error: { message } })),
  };
}

describe("one submit for all rows that fit into a part", () => {
  for (const plan of [mlpPlan(1, "cuba_lif", 0), recurrentPlan(2), lateReaderPlan(3)]) {
    for (const [rowsAtOnce, wantedSubmits] of [[100, 1], [6, 1], [5, 2], [2, 3], [1, 6]] as const) {
      test(`${plan.name}, ${rowsAtOnce} a part`, async () => {
        const { executor, wanted, submits, made } = await create(plan, rowsAtOnce);
        expect(await executor.readStates(ALL)).toEqual(await wanted(ALL));
        expect(submits()).toBe(wantedSubmits);
        expect(made().length).toBe(1);
      });
    }
  }
});

test("a row larger than a part is read all the same", async () => {
  const { executor, wanted, submits } = await create(recurrentPlan(2), 0.5);
  expect(await executor.readStates([3, 4])).toEqual(await wanted([3, 4]));
  expect(submits()).toBe(2);
});

test("there is one staging buffer, which grows with what is asked, up to a part", async () => {
  const plan = mlpPlan(1, "lif", 0);
  const { executor, wanted, made } = await create(plan, 5);
  const stateBytes = 4 * plan.stateWords;
  const sizes: number[][] = [];
  for (const slots of [[], [0], [1], [1, 2], [3, 2, 1], ALL, [0, ...ALL], [5]]) {
    expect(await executor.readStates(slots)).toEqual(await wanted(slots));
    sizes.push(made());
  }
  const [one, two] = [4 + stateBytes, 2 * (4 + stateBytes)];
  const part = 4 + 5 * stateBytes;
  expect(sizes).toEqual([[], [one], [], [two], [2 * two < part ? 2 * two : part], [part], [], []]);
});

test("reads that are asked for together come one after another, each with its own rows", async () => {
  const { executor, wanted, made } = await create(mlpPlan(1, "lif", 0), 2);
  const asked = [[0, 1, 2], [3], ALL, [], [2, 2]];
  const given = await Promise.all(asked.map((slots) => executor.readStates(slots)));
  for (const [i, slots] of asked.entries()) expect(given[i]).toEqual(await wanted(slots));
  expect(made().length).toBeLessThanOrEqual(2);
});

test("staging that still holds the read before is no state", async () => {
  const { executor, device, step, wanted } = await create(mlpPlan(1, "lif", 0));
  await executor.readStates(ALL);
  await step();
  const { queue } = device;
  const { submit } = queue;
  for (const slots of [ALL, [2], [0, 1, 2]]) {
    queue.submit = () => undefined;
    const error: unknown = await executor.readStates(slots).then(() => null, (each) => each);
    queue.submit = submit;
    expect(error).toMatchObject({
      code: "device_lost",
      message: "The device returned states of another read",
    });
    expect(await executor.readStates(slots)).toEqual(await wanted(slots));
  }
});

test("a read that fails does not take along the one behind it", async () => {
  const { executor, device, wanted } = await create(mlpPlan(1, "lif", 0));
  const { queue } = device;
  const { submit } = queue;
  queue.submit = () => {
    queue.submit = submit;
    throw new Error("no submit");
  };
  const [first, second] = await Promise.allSettled(
    [executor.readStates([0, 1]), executor.readStates([1])],
  );
  expect(first).toMatchObject({ status: "rejected", reason: { message: "no submit" } });
  expect(second).toEqual({ status: "fulfilled", value: await wanted([1]) });
});

test("an error that the device reports rejects the read, once", async () => {
  const { executor, report, wanted } = await create(mlpPlan(1, "lif", 0));
  report("out of memory");
  const error: unknown = await executor.readStates([0]).then(() => null, (each) => each);
  expect(error).toMatchObject({
    code: "device_lost",
    message: "The device reported an error: out of memory",
  });
  expect(await executor.readStates([0])).toEqual(await wanted([0]));
});

test("what is read across a close is right or an error; afterwards it is an error", async () => {
  for (let turns = 0; turns < 8; turns++) {
    const { executor, wanted } = await create(mlpPlan(1, "lif", 0));
    const reading = executor.readStates(ALL).then((states) => states, (error: unknown) => error);
    for (let i = 0; i < turns; i++) await Promise.resolve();
    await executor.close();
    open.length = 0;
    const outcome = await reading;
    if (outcome instanceof Error) expect(outcome.message).not.toBe("");
    else expect(outcome).toEqual(await wanted(ALL));
    await expect(executor.readStates([0])).rejects.toThrow();
  }
});
