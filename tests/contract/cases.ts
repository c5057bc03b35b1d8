/**
 * The contract of DESIGN §3 for executors, as plain functions: bun:test runs them on every executor,
 * and a Deno process runs them on its own WebGPU. Each case is named after the point it proves.
 */
import assert from "node:assert/strict";
import type { BatchRow, Executor, RowState } from "../../src/engine/executor.ts";
import {
  FAST_RULES,
  MODE_CLAMP,
  MODE_CUBA_OLD,
  MODE_GE,
  MODE_JOIN_FIRST,
  MODE_RESET_NEXT,
  MODE_RESET_SUBTRACT,
} from "../../src/layers/mod.ts";
import { type Plan, probesOf } from "../../src/model/plan.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { packBits } from "../../src/base/numeric.ts";
import { SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import {
  plasticPlan,
  ratesPlan,
  residualPlan,
  spikingOutputPlans,
  tapsPlan,
} from "../support/layer_plans.ts";
import {
  convPlan,
  countPlan,
  dense,
  input,
  lateReaderPlan,
  makePlan,
  mlpPlan,
  Random,
  recurrentPlan,
  wirePlan,
} from "../support/plans.ts";

export interface Subject {
  readonly executor: Executor;
  /** Ways to make a step fail inside this executor: arms one, returns how to disarm it. */
  readonly faults: readonly { readonly stage: string; readonly arm: () => () => void }[];
}

export interface Size {
  readonly slots: number;
  readonly frame: number;
}

export type Make = (plan: Plan, size: Size) => Promise<Subject>;

export interface ContractCase {
  readonly name: string;
  readonly run: (make: Make) => Promise<void>;
}

/** Every operation, edge kind, mode and state form. */
export const PLANS: readonly Plan[] = [
  mlpPlan(1, "lif", 0),
  mlpPlan(2, "lif", MODE_GE | MODE_RESET_SUBTRACT),
  mlpPlan(3, "lif", 4),
  mlpPlan(4, "if", MODE_RESET_SUBTRACT),
  mlpPlan(5, "cuba_lif", 0),
  mlpPlan(6, "cuba_lif", MODE_CUBA_OLD),
  convPlan(7),
  recurrentPlan(8),
  wirePlan(9),
  lateReaderPlan(10),
  mlpPlan(11, "alif", MODE_GE | MODE_RESET_SUBTRACT),
  mlpPlan(12, "alif", 0),
  mlpPlan(13, "rate_tanh", 0),
  mlpPlan(14, "rate_sigmoid", 0),
  tapsPlan(15),
  ...FAST_RULES.map((rule, k) => plasticPlan(16 + k, rule)),
  residualPlan(20, "and"),
  residualPlan(21, "iand"),
  ratesPlan(22),
  countPlan(11),
  mlpPlan(12, "lif", MODE_RESET_NEXT),
  mlpPlan(13, "if", MODE_GE | MODE_RESET_SUBTRACT | MODE_CLAMP),
  mlpPlan(14, "cuba_lif", MODE_JOIN_FIRST | MODE_RESET_NEXT),
  mlpPlan(15, "lif_box", MODE_GE),
  mlpPlan(16, "cuba_lif_box", MODE_CUBA_OLD),
  ...spikingOutputPlans(23),
];

export function bits(values: Float32Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length);
}

export function assertSameBits(given: Float32Array, wanted: Float32Array, what: string): void {
  assert.equal(given.length, wanted.length, `${what}: length`);
  const [a, b] = [bits(given), bits(wanted)];
  for (let i = 0; i < a.length; i++) {
    if (a[i] !== b[i]) assert.fail(`${what}: value ${i} is ${given[i]}, wanted ${wanted[i]}`);
  }
}

export function assertSameState(given: RowState, wanted: RowState, what: string): void {
  assert.deepEqual(Object.keys(given.tensors).sort(), Object.keys(wanted.tensors).sort(), what);
  for (const [name, tensor] of Object.entries(wanted.tensors)) {
    assertSameBits(given.tensors[name]!, tensor, `${what}: ${name}`);
  }
}

export async function withSubject(
  make: Make,
  plan: Plan,
  size: Size,
  body: (subject: Subject) => Promise<void>,
): Promise<void> {
  const subject = await make(plan, size);
  try {
    await body(subject);
  } finally {
    await subject.executor.close();
  }
}

/** A stream that mixes spikes, real values, silence and everything on. */
export function stream(random: Random, plan: Plan, steps: number): Float32Array {
  const parts: number[] = [];
  while (parts.length < steps * plan.sampleSize) {
    const length = plan.sampleSize * random.int(1, 4);
    const make = [
      () => random.spikes(length),
      () => random.floats(length, -2, 2),
      () => new Float32Array(length),
      () => new Float32Array(length).fill(1),
    ][random.int(0, 3)]!;
    parts.push(...make());
  }
  return Float32Array.from(parts.slice(0, steps * plan.sampleSize));
}

/** The whole stream in the reference's single pass. */
async function onePass(plan: Plan, input: Float32Array): Promise<Float32Array> {
  const steps = input.length / plan.sampleSize;
  const reference = new ReferenceExecutor(plan, { slots: 1, frame: steps });
  const [result] = await reference.step([{ slot: 0, steps, fresh: true, input }]);
  return result!.output;
}

function concatenate(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

/** Runs `streams` in random cuts, in random company, and returns each one's outputs. */
async function runCut(
  executor: Executor,
  random: Random,
  streams: readonly Float32Array[],
): Promise<Float32Array[]> {
  const scheduler = new SlotScheduler(executor, { partialFrames: true });
  const { sampleSize } = executor.plan;
  const sessions = streams.map((input) => ({
    session: scheduler.open(),
    input,
    at: 0,
    futures: [] as ReturnType<SlotScheduler["submit"]>[],
  }));
  while (sessions.some(({ at, input }) => at < input.length)) {
    for (const each of sessions) {
      const left = (each.input.length - each.at) / sampleSize;
      if (left === 0 || random.next() < 0.3) continue;
      const steps = Math.min(left, random.int(1, executor.frame));
      const chunk = each.input.subarray(each.at, each.at + steps * sampleSize);
      each.futures.push(scheduler.submit(each.session, chunk));
      each.at += chunk.length;
    }
    if (random.next() < 0.7) await scheduler.step();
  }
  await scheduler.run();
  return await Promise.all(sessions.map(async ({ futures }) => {
    const parts = await Promise.all(futures.map((future) => future.result()));
    return concatenate(parts.map(({ data }) => data));
  }));
}

export function eachPlan(
  name: string,
  plans: readonly Plan[],
  run: (make: Make, plan: Plan) => Promise<void>,
): ContractCase[] {
  return plans.map((plan) => ({
    name: `${name} [${plan.name}]`,
    run: (make) => run(make, plan),
  }));
}

export const CONTRACT: readonly ContractCase[] = [
  ...eachPlan("3.3 outputs equal one pass bit for bit, however cut", PLANS, async (make, plan) => {
    for (const size of [{ slots: 1, frame: 5 }, { slots: 3, frame: 1 }, { slots: 6, frame: 37 }]) {
      await withSubject(make, plan, size, async ({ executor }) => {
        const random = new Random(size.slots * 100 + size.frame);
        const streams = Array.from(
          { length: size.slots },
          () => stream(random, plan, random.int(20, 60)),
        );
        const outputs = await runCut(executor, random, streams);
        for (const [i, input] of streams.entries()) {
          assertSameBits(outputs[i]!, await onePass(plan, input), `session ${i}`);
        }
      });
    }
  }),
  ...eachPlan("3.3 state and recorded values equal the reference", PLANS, async (make, plan) => {
    await withSubject(make, plan, { slots: 2, frame: 21 }, async ({ executor }) => {
      const reference = new ReferenceExecutor(plan, { slots: 2, frame: 21 });
      const random = new Random(11);
      const record = probesOf(plan).map(({ name }) => name);
      for (let round = 0; round < 4; round++) {
        const rows: BatchRow[] = [0, 1].map((slot) => {
          const steps = random.int(1, 21);
          const input = stream(random, plan, steps);
          // One row records, the other rides along.
          return { slot, steps, fresh: round === 0, input, record: slot === 0 ? record : [] };
        });
        const [given, wanted] = await Promise.all([executor.step(rows), reference.step(rows)]);
        const [states, wantedStates] = await Promise.all(
          [executor, reference].map((each) => each.readStates([0, 1])),
        );
        for (const slot of [0, 1]) {
          assertSameBits(given[slot]!.output, wanted[slot]!.output, `output of ${slot}`);
          const names = Object.keys(wanted[slot]!.probes);
          assert.deepEqual(Object.keys(given[slot]!.probes).sort(), names.sort());
          for (const name of names) {
            assertSameBits(given[slot]!.probes[name]!, wanted[slot]!.probes[name]!, name);
          }
          const what = `state of ${slot} after round ${round}`;
          assertSameState(states![slot]!, wantedStates![slot]!, what);
        }
      }
    });
  }),
  ...eachPlan(
    "3.3 input as bits equals input as values",
    [PLANS[0]!, PLANS[6]!],
    async (make, plan) => {
      await withSubject(make, plan, { slots: 2, frame: 8 }, async ({ executor }) => {
        const random = new Random(12);
        const spikes = random.spikes(8 * plan.sampleSize);
        // A value that is not 0 or 1 in the last step makes the whole frame travel as values.
        const values = spikes.slice();
        values[values.length - 1] = 0.5;
        const [a, b] = await executor.step([
          { slot: 0, steps: 8, fresh: true, input: spikes },
          { slot: 1, steps: 8, fresh: true, input: values },
        ]);
        const seven = 7 * plan.outputSize;
        assertSameBits(a!.output.slice(0, seven), b!.output.slice(0, seven), "first seven steps");
      });
    },
  ),
  ...eachPlan(
    "3.2 a row without a frame keeps its state as bytes",
    [PLANS[4]!, PLANS[7]!],
    async (make, plan) => {
      await withSubject(make, plan, { slots: 3, frame: 25 }, async ({ executor }) => {
        const random = new Random(13);
        const row = (slot: number, fresh: boolean): BatchRow => ({
          slot,
          steps: 25,
          fresh,
          input: stream(random, plan, 25),
        });
        await executor.step([row(0, true), row(1, true), row(2, true)]);
        const before = (await executor.readStates([1]))[0]!;
        for (let round = 0; round < 40; round++) {
          await executor.step([row(2, false), row(0, false)]);
        }
        assertSameState(
          (await executor.readStates([1]))[0]!,
          before,
          "after 1,000 steps of its neighbours",
        );
      });
    },
  ),
  ...eachPlan("3.4 a first frame runs from rest in the same step", PLANS, async (make, plan) => {
    await withSubject(make, plan, { slots: 2, frame: 18 }, async ({ executor }) => {
      const random = new Random(14);
      const [old, fresh] = [stream(random, plan, 36), stream(random, plan, 18)];
      const half = 18 * plan.sampleSize;
      const steps = 18;
      await executor.step([
        { slot: 0, steps, fresh: true, input: old.slice(0, half) },
        { slot: 1, steps, fresh: true, input: old.slice(0, half) },
      ]);
      const [carried, started] = await executor.step([
        { slot: 0, steps, fresh: false, input: old.slice(half) },
        { slot: 1, steps, fresh: true, input: fresh },
      ]);
      const whole = await onePass(plan, old);
      assertSameBits(carried!.output, whole.slice(steps * plan.outputSize), "carried row");
      assertSameBits(started!.output, await onePass(plan, fresh), "fresh row");
    });
  }),
  ...eachPlan(
    "3.6 a step that fails at any stage changes nothing",
    [PLANS[0]!, PLANS[7]!],
    async (make, plan) => {
      await withSubject(make, plan, { slots: 2, frame: 20 }, async ({ executor, faults }) => {
        assert.ok(faults.length > 0, "this executor can be made to fail");
        const random = new Random(15);
        const reference = new ReferenceExecutor(plan, { slots: 2, frame: 20 });
        const row = (slot: number, fresh: boolean): BatchRow => ({
          slot,
          steps: 20,
          fresh,
          input: stream(random, plan, 20),
        });
        const first = [row(0, true), row(1, true)];
        await Promise.all([executor.step(first), reference.step(first)]);
        for (const { stage, arm } of faults) {
          const before = (await executor.readStates([0]))[0]!;
          const lost = [row(0, false), row(1, false)];
          const disarm = arm();
          try {
            await assert.rejects(executor.step(lost), `a fault at ${stage} must reject`);
          } finally {
            disarm();
          }
          assertSameState(
            (await executor.readStates([0]))[0]!,
            before,
            `state after a fault at ${stage}`,
          );
          const next = [row(1, false), row(0, false)];
          const [given, wanted] = await Promise.all([executor.step(next), reference.step(next)]);
          for (const i of [0, 1]) {
            assertSameBits(given[i]!.output, wanted[i]!.output, `row ${i} after ${stage}`);
          }
        }
      });
    },
  ),
  ...eachPlan("3.7 NaN and overflow stay in their row and end with its owner", [
    PLANS[0]!,
    PLANS[6]!,
    PLANS[7]!,
    PLANS[10]!,
  ], async (make, plan) => {
    await withSubject(make, plan, { slots: 2, frame: 6 }, async ({ executor }) => {
      const scheduler = new SlotScheduler(executor);
      const random = new Random(16);
      const size = 6 * plan.sampleSize;
      const clean = stream(random, plan, 12);
      const [good, bad] = [scheduler.open(), scheduler.open()];
      const poison = new Float32Array(size).map((_, i) => [NaN, Infinity, -Infinity, 3e38][i % 4]!);
      const results = [0, 1].map((half) => {
        scheduler.submit(bad, poison);
        return scheduler.submit(good, clean.slice(half * size, (half + 1) * size));
      });
      await scheduler.run();
      const parts = await Promise.all(results.map((future) => future.result()));
      const whole = await onePass(plan, clean);
      assertSameBits(concatenate(parts.map(({ data }) => data)), whole, "the neighbour");
      scheduler.close(bad);
      const next = scheduler.open();
      assert.equal(next.slot, bad.slot);
      const future = scheduler.submit(next, clean.slice(0, size));
      await scheduler.run();
      const half = 6 * plan.outputSize;
      assertSameBits((await future.result()).data, whole.slice(0, half), "the next owner");
    });
  }),
  ...eachPlan(
    "3.7 a slot reused at once during a step starts at rest",
    [PLANS[0]!, PLANS[7]!],
    async (make, plan) => {
      await withSubject(make, plan, { slots: 1, frame: 9 }, async ({ executor }) => {
        const scheduler = new SlotScheduler(executor);
        const random = new Random(17);
        const [mine, theirs] = [stream(random, plan, 9), stream(random, plan, 9)];
        const session = scheduler.open();
        const late = scheduler.submit(session, mine);
        const step = scheduler.step();
        await Promise.resolve(); // the step has claimed the frame
        scheduler.close(session);
        const next = scheduler.open();
        const future = scheduler.submit(next, theirs);
        await step;
        await scheduler.run();
        assertSameBits((await future.result()).data, await onePass(plan, theirs), "next owner");
        if (late.state === "done") {
          assertSameBits((await late.result()).data, await onePass(plan, mine), "late result");
        }
      });
    },
  ),
  ...eachPlan(
    "3.9 a layer that rests elsewhere than at zero",
    [restingPlan()],
    async (make, plan) => {
      await withSubject(make, plan, { slots: 2, frame: 7 }, async ({ executor }) => {
        const silent = new Float32Array(7 * plan.sampleSize);
        for (const fresh of [true, true]) {
          const [result] = await executor.step([{ slot: 1, steps: 7, fresh, input: silent }]);
          assertSameBits(result!.output, await onePass(plan, silent), "from rest");
        }
      });
    },
  ),
  ...eachPlan("long sums are not cut short by the driver", [widePlan()], async (make, plan) => {
    await withSubject(make, plan, { slots: 2, frame: 1 }, async ({ executor }) => {
      const inputs = [
        new Float32Array(plan.sampleSize).fill(1),
        new Random(21).floats(plan.sampleSize),
      ];
      const results = await executor.step(
        inputs.map((input, slot) => ({ slot, steps: 1, fresh: true, input })),
      );
      for (const [i, input] of inputs.entries()) {
        assertSameBits(results[i]!.output, await onePass(plan, input), `row ${i}`);
      }
    });
  }),
  ...eachPlan("a frame as bits is the same frame", PLANS, async (make, plan) => {
    await withSubject(make, plan, { slots: 3, frame: 12 }, async ({ executor }) => {
      const reference = new ReferenceExecutor(plan, { slots: 3, frame: 12 });
      const random = new Random(31);
      for (const fresh of [true, false]) {
        const values = [7, 12, 3].map((steps) => random.spikes(steps * plan.sampleSize));
        const rows = values.map((input, slot): BatchRow => ({
          slot,
          steps: input.length / plan.sampleSize,
          fresh,
          input,
        }));
        // The row in the middle stays as it is: both forms in one batch.
        const packed = rows.map((row, i) =>
          i === 1 ? row : { ...row, input: packBits(values[i]!, row.steps) }
        );
        const [given, wanted] = await Promise.all([executor.step(packed), reference.step(rows)]);
        for (const i of [0, 1, 2]) assertSameBits(given[i]!.output, wanted[i]!.output, `row ${i}`);
      }
    });
  }),
  {
    name: "state can be written and goes on from there",
    run: async (make) => {
      for (const plan of [PLANS[4]!, PLANS[7]!]) {
        await withSubject(make, plan, { slots: 3, frame: 10 }, async ({ executor }) => {
          const random = new Random(18);
          const input = stream(random, plan, 20);
          const half = 10 * plan.sampleSize;
          const [begin, rest] = [input.slice(0, half), input.slice(half)];
          await executor.step([{ slot: 0, steps: 10, fresh: true, input: begin }]);
          const state = (await executor.readStates([0]))[0]!;
          await executor.writeState(2, state);
          assertSameState((await executor.readStates([2]))[0]!, state, "written state");
          const [a, b] = await executor.step([
            { slot: 0, steps: 10, fresh: false, input: rest },
            { slot: 2, steps: 10, fresh: false, input: rest },
          ]);
          assertSameBits(b!.output, a!.output, "continued elsewhere");
          const wrong = { tensors: { ...state.tensors, extra: new Float32Array(1) } };
          await assert.rejects(executor.writeState(0, wrong), /extra/);
        });
      }
    },
  },
];

/** One neuron with more inputs than lavapipe gives an invocation loop turns (65,535, then it stops). */
function widePlan(): Plan {
  return makePlan("wide", [
    input([70_001]),
    { name: "fc", inputs: ["input"], shape: [3], ...dense(new Random(20), 70_001, 3) },
  ]);
}

/** The plan with a leaky readout whose membrane rests at −0.5. */
function restingPlan(): Plan {
  const plan = mlpPlan(19, "lif", 0);
  const nodes = plan.nodes.map((node) =>
    node.name === "out"
      ? { ...node, state: node.state.map((field) => ({ ...field, rest: -0.5 })) }
      : node
  );
  return { ...plan, name: "resting", nodes };
}
