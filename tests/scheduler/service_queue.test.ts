/** A session's queue against a plain model: numbers, counts and states after every action. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { GanglionError } from "../../src/base/errors.ts";
import { makeLimits } from "../../src/base/limits.ts";
import type { Chunk } from "../../src/scheduler/chunk.ts";
import { Outbox, type OutputEvent } from "../../src/scheduler/outbox.ts";
import { SessionQueue } from "../../src/scheduler/session_queue.ts";

const FRAME = 3;
const WINDOW = 4;

/** Whatever the outputs are: nobody asks for them here. */
function outputOf({ seq, startStep }: Chunk, steps: number): OutputEvent {
  const position = { epoch: 1, step: startStep + steps, part: 0 };
  const data = new Float32Array(steps);
  return { kind: "output", position, seq, startStep, steps, data, probes: {} };
}

interface Model {
  readonly chunk: Chunk;
  left: number;
  state: string;
}

const actions = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant("push" as const),
        steps: fc.integer({ min: 1, max: 8 }),
        reset: fc.boolean(),
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant("run" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("cancel" as const), back: fc.nat({ max: 8 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("fail" as const) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant("repeat" as const),
        back: fc.integer({ min: -2, max: 8 }),
      }),
    },
  ),
  { maxLength: 120, size: "max" },
);

const codeOf = (action: () => unknown): string => {
  try {
    action();
    return "ok";
  } catch (error) {
    if (error instanceof GanglionError) return error.code;
    throw error;
  }
};

test("numbers, counts and states", () => {
  fc.assert(fc.property(actions, (script) => {
    const queue = new SessionQueue(
      { frame: FRAME, sampleSize: 1 },
      makeLimits({ queueStepsMax: 20, seqWindow: WINDOW }),
    );
    const ring = new Outbox(1e6, false);
    let chunks: Model[] = [];
    const isOpen = ({ state }: Model) => state === "waiting" || state === "running";
    for (const action of script) {
      if (action.kind === "push") {
        const room = 20 - chunks.filter(isOpen).reduce((sum, { left }) => sum + left, 0);
        const refused = codeOf(() => queue.assertRoom(action.steps, () => 1));
        expect(refused).toBe(action.steps <= room ? "ok" : "queue_full");
        if (refused !== "ok") continue;
        const input = {
          values: new Float32Array(action.steps),
          steps: action.steps,
          reset: action.reset,
          digest: `${chunks.length}`,
        };
        const chunk = queue.push(input, { startStep: 0, epoch: 1 });
        expect(chunk.seq).toBe(chunks.length);
        chunks.push({ chunk, left: action.steps, state: "waiting" });
      } else if (action.kind === "run") {
        const head = chunks.find(isOpen);
        expect(queue.head).toBe(head?.chunk);
        if (head === undefined) continue;
        const steps = Math.min(FRAME, head.left);
        head.chunk.state = "running";
        expect(head.chunk.frameAt(head.chunk.stepsRun, FRAME).steps).toBe(steps);
        head.chunk.ran(outputOf(head.chunk, steps), ring);
        queue.ran(head.chunk, steps);
        head.left -= steps;
        head.state = head.left === 0 ? "done" : "running";
      } else if (action.kind === "cancel") {
        const seq = chunks.length - action.back;
        const target = chunks[seq];
        const got = codeOf(() => queue.cancel(seq));
        if (target === undefined) expect(got).toBe("chunk_unknown");
        else if (target.state === "waiting") {
          expect(got).toBe("ok");
          target.state = "cancelled";
          target.left = 0;
        } else if (target.state === "running") expect(got).toBe("chunk_running");
        else if (target.state === "done") expect(got).toBe("chunk_done");
        else expect(["ok", "chunk_done"]).toContain(got); // cancelled, perhaps long ago
      } else if (action.kind === "fail") {
        const head = chunks.find(isOpen);
        if (head === undefined) continue;
        const open = chunks.filter(isOpen).map(({ chunk }) => chunk);
        const dropped = queue.rollBackTo(head.chunk.seq);
        expect(dropped).toEqual(open);
        for (const chunk of dropped) chunk.fail(new GanglionError("step_failed", "test"));
        chunks = chunks.slice(0, head.chunk.seq);
      } else {
        const seq = chunks.length - action.back;
        if (seq < 0) continue;
        const target = chunks[seq];
        let found: Chunk | null = null;
        const got = codeOf(() =>
          found = queue.repeated({ values: new Float32Array(1), steps: 1, seq, digest: `${seq}` })
        );
        if (seq === chunks.length) expect([got, found]).toEqual(["ok", null]);
        else if (target === undefined) expect(got).toBe("chunk_gap");
        else if (seq < chunks.length - WINDOW) expect(got).toBe("chunk_too_old");
        else if (target.state === "cancelled") {
          expect(["chunk_cancelled", "chunk_too_old"]).toContain(got);
        } else if (got === "ok") expect(found as Chunk | null).toBe(target.chunk);
        else expect(got).toBe("chunk_too_old"); // forgotten before a roll-back made it young again
      }
      const open = chunks.filter(isOpen);
      expect(queue.nextSeq).toBe(chunks.length);
      expect(queue.stepsWaiting).toBe(open.reduce((sum, { left }) => sum + left, 0));
      expect(queue.credit).toBe(20 - queue.stepsWaiting);
      expect(queue.framesWaiting).toBe(
        open.reduce((sum, { left }) => sum + Math.ceil(left / FRAME), 0),
      );
      expect(queue.resetsWaiting).toBe(
        open.filter(({ chunk, left }) => chunk.reset && left === chunk.steps).length,
      );
    }
  }));
});
