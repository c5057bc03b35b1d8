/**
 * DESIGN §3 as a user of the library meets it, over any executor: the four `server_*` reference cases
 * (small enough to be written here; values in float64) and the points that need a step in flight.
 */
import assert from "node:assert/strict";
import { GanglionError } from "../../src/base/errors.ts";
import { compilePlan, graphOf, type Plan } from "../../src/model/mod.ts";
import { restState } from "../../src/model/row_state.ts";
import { CancelledError, type Future } from "../../src/scheduler/future.ts";
import { type Outputs, type Session, SlotScheduler } from "../../src/scheduler/slot_scheduler.ts";
import { assertClose } from "../conformance/run.ts";
import type { ContractCase, Make, Subject } from "../contract/cases.ts";

/** Dense → LIF(tau 3, subtract, >=) → Dense → LI(tau 4), time constants in steps, input added whole. */
export function mlp(): Plan {
  const leaky = (steps: number, size: number) => ({
    tau: new Array<number>(size).fill(steps),
    r: new Array<number>(size).fill(1 / (1 - Math.exp(-1 / steps))),
    v_leak: new Array<number>(size).fill(0),
  });
  return compilePlan(
    graphOf({
      name: "mlp",
      nodes: {
        input: { type: "Input", shape: [4] },
        fc1: {
          type: "Affine",
          weight: transpose([
            [-0.0625, -0.8125, -0.75, 0.25, 0.0],
            [0.625, 1.125, 0.75, 0.6875, 0.875],
            [-0.625, -0.375, -0.9375, 0.25, -0.1875],
            [0.3125, 0.125, 1.1875, -0.6875, -0.0],
          ]),
          bias: [0.25, 0.25, 0.0625, 0.1875, 0.3125],
        },
        lif: { type: "LIF", ...leaky(3, 5), v_threshold: [1, 1, 1, 1, 1] },
        fc2: {
          type: "Affine",
          weight: transpose([
            [0.1875, -0.875, -0.5],
            [-0.8125, 0.6875, -0.25],
            [-0.8125, -1.0, 1.0],
            [-0.1875, 0.125, -0.1875],
            [-1.0, -0.5625, 0.25],
          ]),
          bias: [0.125, 0, -0.125],
        },
        li: { type: "LI", ...leaky(4, 3) },
        output: { type: "Output", shape: [3] },
      },
      edges: [["input", "fc1"], ["fc1", "lif"], ["lif", "fc2"], ["fc2", "li"], ["li", "output"]],
    }),
    { dt: 1, discretization: "exact", compare: "ge", reset: "subtract" },
  );
}

function transpose(rows: readonly (readonly number[])[]): number[][] {
  return rows[0]!.map((_, i) => rows.map((row) => row[i]!));
}

/** Two frames of two steps each, and what the network answers to them from rest. */
const A = [
  [0.515625, 0.953125, 0.140625, 0.953125, 0.3125, 0.421875, 0.828125, 0.40625],
  [0.546875, 0.03125, 0.75, 0.53125, 0.328125, 0.78125, 0.296875, 0.453125],
  [0.140625, 0.40625, 0.203125, 0.265625, 0.75, 0.28125, 0.484375, 0.984375],
];
const D = [0.078125, 0.234375, 0.796875, 0.578125, 0.09375, 0.4375, 0.484375, 0.15625];
const A0 = [-1.5, -2.4375, 0.625, -1.0432011746071073, -1.8983269087365493, 0.36175048941962806];
const A1_FROM_REST = [0.125, 0, -0.125, -0.7776499021160744, -0.5625, 0.02764990211607439];
const A2_AFTER_A0 = [
  -2.4999458916850243,
  -1.353418483049544,
  0.1567315644364703,
  -1.8219598180804384,
  -1.0540433744222977,
  -0.0029373348848705794,
];
const D0 = [0.125, 0, -0.125, 0.22235009788392562, 0, -0.22235009788392562];

type Body = (scheduler: SlotScheduler, subject: Subject) => Promise<void>;

function serving(name: string, slots: number, body: Body, frame = 2): ContractCase {
  return {
    name,
    run: async (make: Make) => {
      const subject = await make(mlp(), { slots, frame });
      try {
        await body(new SlotScheduler(subject.executor), subject);
      } finally {
        await subject.executor.close();
      }
    },
  };
}

async function outputOf(future: Future<Outputs>, wanted: readonly number[]): Promise<void> {
  const { data, shape } = await future.result();
  assert.deepEqual(shape, [2, 3]);
  assertClose(data, wanted, "output");
}

const assertCancelled = (future: Future<Outputs>) =>
  assert.rejects(future.result(), (error) => error instanceof CancelledError);

export const SERVER: readonly ContractCase[] = [
  serving(
    "server_cancelled_first_frame: 3.5 the next frame is then the first",
    2,
    async (server) => {
      const [a, b] = [server.open(), server.open()];
      const [a0, a1, b0] = [
        server.submit(a, A[0]!),
        server.submit(a, A[1]!),
        server.submit(b, A[0]!),
      ];
      const b1 = server.submit(b, A[1]!);
      assert.equal(a0.cancel(), true);
      assert.equal(await server.step(), 2);
      assert.deepEqual([a1.state, b0.state, b1.state], ["done", "done", "waiting"]);
      await server.run();
      await assertCancelled(a0);
      await outputOf(a1, A1_FROM_REST);
      await outputOf(b0, A0);
    },
  ),
  serving(
    "server_failed_step: 3.6 its frames fail, the state stays",
    1,
    async (server, { faults }) => {
      for (const { arm } of faults.slice(0, 1)) {
        const a = server.open();
        const a0 = server.submit(a, A[0]!);
        await server.run();
        await outputOf(a0, A0);
        const a1 = server.submit(a, A[1]!);
        const disarm = arm();
        await assert.rejects(server.step());
        disarm();
        assert.equal(a1.state, "failed");
        await assert.rejects(a1.result());
        const a2 = server.submit(a, A[2]!);
        await server.run();
        await outputOf(a2, A2_AFTER_A0);
        server.close(a);
      }
    },
  ),
  serving(
    "server_close_with_pending: 3.7 slots are reused first in, first out",
    3,
    async (server) => {
      const [a, b] = [server.open(), server.open()];
      assert.deepEqual([a.id, a.slot, b.id, b.slot], [0, 0, 1, 1]);
      const a0 = server.submit(a, A[0]!);
      await server.run();
      await outputOf(a0, A0);
      const a1 = server.submit(a, A[1]!);
      server.close(a);
      await assertCancelled(a1);
      const [c, d] = [server.open(), server.open()];
      assert.deepEqual([c.id, c.slot, d.id, d.slot], [2, 2, 3, 0]);
      const d0 = server.submit(d, D);
      await server.run();
      await outputOf(d0, D0);
    },
  ),
  serving(
    "3.6 every way a step can fail sets the error on every frame it took",
    3,
    async (server, { faults }) => {
      const sessions = [server.open(), server.open(), server.open()];
      for (const { stage, arm } of faults) {
        const futures = sessions.slice(0, 2).map((session) => server.submit(session, A[0]!));
        const waiting = server.submit(sessions[0]!, A[1]!);
        const disarm = arm();
        const error: unknown = await server.step().then(() => null, (each: unknown) => each);
        disarm();
        assert.notEqual(error, null, `a fault at ${stage} must reject`);
        for (const future of futures) {
          assert.equal(future.state, "failed", stage);
          await assert.rejects(future.result(), (each) => each === error);
        }
        assert.equal(waiting.state, "waiting", "a frame that the step did not take still waits");
        await server.run();
        assert.equal(waiting.state, "done");
      }
      assert.equal(server.framesWaiting, 0);
    },
  ),
  serving("3.5 cancel works at every moment until the frame is taken", 1, async (server) => {
    const a = server.open();
    const taken = server.submit(a, A[0]!);
    const later = server.submit(a, A[1]!);
    const step = server.step();
    await Promise.resolve();
    assert.equal(taken.state, "running");
    assert.equal(taken.cancel(), false, "a frame that runs is not cancelled");
    assert.equal(later.cancel(), true, "a frame behind it is");
    assert.equal(later.cancel(), true, "twice is once");
    await step;
    assert.equal(taken.cancel(), false, "nor one that ran");
    await outputOf(taken, A0);
    assert.equal(await server.step(), 0);
    const next = server.submit(a, A[2]!);
    await server.run();
    await outputOf(next, A2_AFTER_A0);
  }),
  serving("3.4 reset: frames submitted afterwards run from rest", 1, async (server) => {
    const a = server.open();
    const a0 = server.submit(a, A[0]!);
    a.reset();
    const dropped = server.submit(a, A[2]!);
    const a1 = server.submit(a, A[1]!);
    dropped.cancel(); // the reset outlives the frame that carried it
    await server.run();
    await outputOf(a0, A0);
    await outputOf(a1, A1_FROM_REST);
    a.reset();
    const state = await server.readState(a);
    for (const tensor of Object.values(state.tensors)) assert.ok(tensor.every((x) => x === 0));
  }),
  serving("3.2 states of several sessions are one question", 4, async (server, { executor }) => {
    const [a, b, c, d] = [server.open(), server.open(), server.open(), server.open()];
    for (const [i, session] of [a, c, d].entries()) server.submit(session, A[i]!);
    await server.run();
    const alone = [await server.readState(a), await server.readState(c)];
    d.reset(); // and b has not begun
    const asked: (readonly number[])[] = [];
    const { readStates } = executor;
    executor.readStates = (slots) => {
      asked.push(slots);
      return readStates.call(executor, slots);
    };
    const rest = restState(executor.plan);
    const states = server.readStates([c, b, a, d]);
    assert.deepEqual(await server.readStates([b, d]), [rest, rest]);
    assert.deepEqual(await states, [alone[1], rest, alone[0], rest]);
    server.close(b);
    assert.deepEqual(await server.readStates([b, a]), [null, alone[0]]);
    assert.deepEqual(asked, [[2, 0], [0]]);
  }),
  serving("3.6 a reset whose step fails is not forgotten", 1, async (server, { faults }) => {
    const a = server.open();
    server.submit(a, A[0]!);
    await server.run();
    a.reset();
    const lost = server.submit(a, A[2]!);
    const a1 = server.submit(a, A[1]!);
    const disarm = faults[0]!.arm();
    await assert.rejects(server.step());
    disarm();
    assert.equal(lost.state, "failed");
    await server.run();
    await outputOf(a1, A1_FROM_REST);
  }),
  serving("3.7 closed sessions take nothing; ids never come back", 2, async (server) => {
    const opened: Session[] = [];
    for (let i = 0; i < 5; i++) {
      const session = server.open();
      opened.push(session);
      server.close(session);
      assert.throws(() => server.submit(session, A[0]!), isCode("session_unknown"));
      assert.throws(() => server.close(session), isCode("session_unknown"));
    }
    assert.deepEqual(opened.map(({ id }) => id), [0, 1, 2, 3, 4]);
    assert.deepEqual(opened.map(({ slot }) => slot), [0, 1, 0, 1, 0]);
    const [a] = [server.open(), server.open()];
    assert.throws(() => server.open(), /all 2 slots hold sessions; close one first/);
    assert.throws(() => server.submit(a!, A[0]!.slice(1)), isCode("bad_array"));
    await server.run();
  }),
  {
    name: "3.2 a frame is exactly `frame` steps, or 1 to `frame` with partialFrames",
    run: async (make) => {
      const { executor } = await make(mlp(), { slots: 1, frame: 4 });
      const whole = new SlotScheduler(executor);
      const session = whole.open();
      for (const steps of [0, 1, 3, 5]) {
        assert.throws(
          () => whole.submit(session, new Float32Array(4 * steps)),
          isCode("bad_array"),
        );
      }
      const future = whole.submit(session, new Float32Array(16));
      await whole.run();
      assert.deepEqual((await future.result()).shape, [4, 3]);
      const partial = new SlotScheduler(executor, { partialFrames: true });
      const other = partial.open();
      for (const steps of [0, 5]) {
        assert.throws(
          () => partial.submit(other, new Float32Array(4 * steps)),
          isCode("bad_array"),
        );
      }
      const futures = [1, 4, 3].map((steps) => partial.submit(other, new Float32Array(4 * steps)));
      await partial.run();
      const shapes = await Promise.all(futures.map(async (each) => (await each.result()).shape));
      assert.deepEqual(shapes, [[1, 3], [4, 3], [3, 3]]);
      await executor.close();
    },
  },
  serving("3.2 the caller's array may change after submit", 1, async (server) => {
    const frame = Float32Array.from(A[0]!);
    const future = server.submit(server.open(), frame);
    frame.fill(NaN);
    await server.run();
    await outputOf(future, A0);
  }),
];

const isCode = (code: string) => (error: unknown) =>
  error instanceof GanglionError && error.code === code;
