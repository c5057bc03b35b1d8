/** The executor in a thread of its own: the same contract, errors with their codes, and a thread that dies. */
import { describe, expect, test } from "bun:test";
import { chooseInThread, softwareLine } from "../../src/choose_executor.ts";
import type { BatchRow } from "../../src/engine/executor.ts";
import { startThread } from "../../src/runtime/mod.ts";
import { type FromThread, RemoteExecutor, type ToThread } from "../../src/thread/mod.ts";
import { CONTRACT } from "../contract/cases.ts";
import { STATES } from "../contract/state_cases.ts";
import { mlpPlan } from "../support/plans.ts";

const CASE_MS = 60_000;
const PLAN = mlpPlan(1, "lif", 0);

describe("executor contract: cpu in a thread", () => {
  // Faults are armed inside an executor, which is out of reach here; see the tests below.
  const cases = [...CONTRACT, ...STATES].filter(({ name }) => !name.startsWith("3.6"));
  for (const { name, run } of cases) {
    test(name, () =>
      run(async (plan, size) => ({
        executor: await chooseInThread(plan, { ...size, device: "cpu" }),
        faults: [],
      })), CASE_MS);
  }
});

const row = (steps: number): BatchRow => ({
  slot: 0,
  steps,
  fresh: true,
  input: new Float32Array(steps * PLAN.sampleSize).fill(1),
});

function openFailing(program: string): Promise<RemoteExecutor> {
  const url = new URL(`./${program}`, import.meta.url);
  const thread = startThread<ToThread, FromThread>(url);
  return RemoteExecutor.open(PLAN, thread, { slots: 1, frame: 4, settings: null });
}

test("the caller's input stays its own", async () => {
  const executor = await chooseInThread(PLAN, { slots: 1, frame: 4, device: "cpu" });
  const batch = [row(4)];
  await executor.step(batch);
  expect(batch[0]!.input.length).toBe(4 * PLAN.sampleSize);
  await executor.close();
});

test("an error in the thread arrives with its code and facts, the thread lives on, and tells its phases", async () => {
  const executor = await openFailing("failing_thread.ts");
  const error: unknown = await executor.step([row(3)]).then(() => null, (each: unknown) => each);
  expect(error).toMatchObject({ code: "step_failed", facts: { slot: 0 }, message: "no luck" });
  const [result] = await executor.step([row(2)]);
  expect(result!.output.length).toBe(2 * PLAN.outputSize);
  expect(executor.phases).toEqual({ uploadMs: 1, computeMs: 2, readbackMs: 3 });
  await executor.step([row(1)]);
  expect(executor.phases).toBe(undefined);
  await executor.close();
});

test(
  "a thread that dies is a lost device: what waits is rejected, and what comes later",
  async () => {
    const executor = await openFailing("failing_thread.ts");
    const [first, second] = [executor.step([row(4)]), executor.step([row(4)])];
    const outcomes = await Promise.allSettled([first, second]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "device_lost" } });
    }
    expect((await executor.lost).reason).not.toBe("");
    const later: unknown = await executor.step([row(1)]).then(() => null, (each: unknown) => each);
    expect(later).toMatchObject({ code: "device_lost" });
    await executor.close();
  },
  CASE_MS,
);

test("steps asked for ahead run in order, and fail with the one that fails, until it is known", async () => {
  const [executor, other] = await Promise.all(
    [openFailing("failing_thread.ts"), openFailing("failing_thread.ts")],
  );
  const outcomes = await Promise.allSettled([
    executor.step([row(2)]),
    executor.step([row(3)]),
    executor.step([{ ...row(1), fresh: false }]),
    executor.readStates([0]),
  ]);
  expect(outcomes.map(({ status }) => status))
    .toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
  for (const outcome of outcomes.slice(1, 3)) {
    expect(outcome).toMatchObject({ reason: { code: "step_failed", message: "no luck" } });
  }
  await other.step([row(2)]);
  expect(await executor.readStates([0])).toEqual(await other.readStates([0]));
  const [again, wanted] = await Promise.all(
    [executor, other].map((each) => each.step([{ ...row(1), fresh: false }])),
  );
  expect(again).toEqual(wanted!);
  await Promise.all([executor.close(), other.close()]);
});

test("states arrive in memory of their own, and their error with its code", async () => {
  const executor = await openFailing("failing_thread.ts");
  await executor.step([row(2)]);
  const states = await executor.readStates([0, 0]);
  expect(states.length).toBe(2);
  for (const tensor of states.flatMap(({ tensors }) => Object.values(tensors))) {
    expect(tensor.buffer.byteLength).toBe(tensor.byteLength);
  }
  const error: unknown = await executor.readStates([0, 0, 0]).then(() => null, (each) => each);
  expect(error).toMatchObject({ code: "device_lost", message: "no states" });
  expect(await executor.readStates([0, 0])).toEqual(states);
  await executor.close();
});

test("a step that is asked for after states waits for them", async () => {
  const executor = await openFailing("failing_thread.ts");
  await executor.step([row(2)]);
  const states = await executor.readStates([0]);
  // Four are read late.
  const slow = executor.readStates([0, 0, 0, 0]);
  const step = executor.step([{ ...row(2), fresh: false }]);
  expect((await slow)[3]).toEqual(states[0]!);
  await step;
  expect((await executor.readStates([0]))[0]).not.toEqual(states[0]!);
  await executor.close();
});

test("close rejects a step that will not end, and the executor counts as lost", async () => {
  const executor = await openFailing("failing_thread.ts");
  const never = executor.step([row(5)]).then(() => null, (each: unknown) => each);
  await executor.close();
  expect(await never).toMatchObject({ code: "device_lost" });
  expect((await executor.lost).reason).toBe("it was closed");
}, CASE_MS);

test("an executor that cannot be had rejects with its reason", async () => {
  const opening: unknown = await openFailing("refusing_thread.ts").then(
    () => null,
    (each: unknown) => each,
  );
  expect(opening).toMatchObject({ code: "device_unavailable", message: "nothing here" });
});

test("a software adapter is WebGPU all the same; advice comes only where the CPU is faster", () => {
  expect(softwareLine("digits", "llvmpipe", 0.31, 0.52)).toBe(
    "digits runs on WebGPU, a software adapter (llvmpipe): 0.3 ms a step; " +
      "the CPU executor takes 0.5 ms",
  );
  expect(softwareLine("digits", "llvmpipe", 0.52, 0.31)).toBe(
    "digits runs on WebGPU, a software adapter (llvmpipe): 0.5 ms a step; " +
      "the CPU executor takes 0.3 ms; --device cpu is faster for this model",
  );
});
