/** The contract for states of many rows that are read at once, for every kind of state. */
import assert from "node:assert/strict";
import type { BatchRow } from "../../src/engine/executor.ts";
import type { Plan } from "../../src/model/plan.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { dense, input, makePlan, Random } from "../support/plans.ts";
import {
  assertSameState,
  type ContractCase,
  eachPlan,
  PLANS,
  stream,
  withSubject,
} from "./cases.ts";

const SIZE = { slots: 4, frame: 9 };

export const STATES: readonly ContractCase[] = [
  ...eachPlan("states read at once are those read one by one", PLANS, async (make, plan) => {
    await withSubject(make, plan, SIZE, async ({ executor }) => {
      const reference = new ReferenceExecutor(plan, SIZE);
      const random = new Random(41);
      // Rows run different numbers of frames, of different lengths: no two are at the same place.
      for (const slots of [[0, 1, 3], [1, 3], [3, 0], [3, 1], [3]]) {
        const batch = slots.map((slot): BatchRow => {
          const steps = random.int(1, SIZE.frame);
          return { slot, steps, fresh: false, input: stream(random, plan, steps) };
        }).map((row) => slots.length === 3 ? { ...row, fresh: true } : row);
        await Promise.all([executor.step(batch), reference.step(batch)]);
        for (const asked of [[0, 1, 3], [3, 0], [3], [1, 3, 1, 1, 0]]) {
          const given = await executor.readStates(asked);
          const wanted = await reference.readStates(asked);
          assert.equal(given.length, asked.length);
          for (const [i, slot] of asked.entries()) {
            const what = `state ${i} of [${asked}]`;
            assertSameState(given[i]!, wanted[i]!, what);
            assertSameState(given[i]!, (await executor.readStates([slot]))[0]!, what);
          }
        }
      }
      assert.deepEqual(await executor.readStates([]), []);
    });
  }),
  ...eachPlan("states have memory of their own", [PLANS[7]!, PLANS[9]!], async (make, plan) => {
    await withSubject(make, plan, SIZE, async ({ executor }) => {
      const random = new Random(42);
      await executor.step([0, 1].map((slot) => ({
        slot,
        steps: 9,
        fresh: true,
        input: stream(random, plan, 9),
      })));
      const kept = await executor.readStates([0, 1, 0]);
      const [first, second, again] = await executor.readStates([0, 1, 0]);
      for (const tensor of Object.values(again!.tensors)) tensor.fill(7);
      assertSameState(first!, kept[0]!, "the same row, asked for twice");
      assertSameState(second!, kept[1]!, "its neighbour");
      assertSameState((await executor.readStates([0]))[0]!, kept[0]!, "the row itself");
    });
  }),
  ...eachPlan("a model without state has states without tensors", [statelessPlan()], async (
    make,
    plan,
  ) => {
    await withSubject(make, plan, SIZE, async ({ executor }) => {
      const values = new Float32Array(3).fill(1);
      await executor.step([{ slot: 1, steps: 1, fresh: true, input: values }]);
      assert.deepEqual(await executor.readStates([1, 0]), [{ tensors: {} }, { tensors: {} }]);
      await executor.writeState(0, { tensors: {} });
    });
  }),
  ...eachPlan(
    "3.6 reading states that fails at any stage rejects, and the next is right",
    [PLANS[0]!, PLANS[7]!, PLANS[9]!],
    async (make, plan) => {
      await withSubject(make, plan, SIZE, async ({ executor, faults }) => {
        const random = new Random(43);
        const reference = new ReferenceExecutor(plan, SIZE);
        for (let round = 0; round < 2; round++) {
          for (const { stage, arm } of faults) {
            const batch = [0, 1, 2].map((slot) => ({
              slot,
              steps: 9,
              fresh: true,
              input: stream(random, plan, 9),
            }));
            // What a device gave of the round before is what it must not give again.
            await Promise.all([executor.step(batch), reference.step(batch)]);
            const disarm = arm();
            try {
              // The others read their own memory, where nothing can fail.
              if (executor.info.kind === "webgpu") {
                const reading = executor.readStates([2, 1]);
                await assert.rejects(reading, `a fault at ${stage} must reject`);
              }
            } finally {
              disarm();
            }
            const [given, wanted] = await Promise.all(
              [executor, reference].map((each) => each.readStates([1, 0, 2])),
            );
            given!.forEach((state, i) => assertSameState(state, wanted![i]!, `after ${stage}`));
          }
        }
      });
    },
  ),
];

/** One dense layer and nothing else. */
function statelessPlan(): Plan {
  return makePlan("stateless", [
    input([3]),
    { name: "fc", inputs: ["input"], shape: [2], ...dense(new Random(44), 3, 2) },
  ]);
}
