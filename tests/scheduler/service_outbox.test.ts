/** The ring of outputs against a plain list that keeps everything. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Chunk } from "../../src/scheduler/chunk.ts";
import {
  comparePositions,
  EVENT_BYTES,
  eventBytes,
  Outbox,
  type OutboxEvent,
  type OutputEvent,
} from "../../src/scheduler/outbox.ts";

const chunkOf = (steps: number) =>
  new Chunk(0, { values: new Float32Array(steps), steps }, { startStep: 0, epoch: 1 });

function output(endStep: number, floats: number, epoch = 1, seq = 0): OutputEvent {
  return {
    kind: "output",
    position: { epoch, step: endStep, part: 0 },
    seq,
    startStep: endStep - 1,
    steps: 1,
    data: Float32Array.from({ length: floats }, (_, i) => endStep + i / 128),
    probes: {},
  };
}

function eventWith(what: string, step: number, floats: number): OutboxEvent {
  const event = output(step, floats, 1, step % 7);
  if (what === "error") {
    return { kind: "error", position: event.position, seq: 3, code: "step_failed" };
  }
  if (what === "prediction") return { ...event, prediction: { class: 1, label: "b", score: step } };
  return what === "probes" ? { ...event, probes: { "lif.v": Float32Array.of(step) } } : event;
}

const actions = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("push" as const),
      floats: fc.integer({ min: 0, max: 100 }),
      with: fc.constantFrom("nothing", "probes", "prediction", "error"),
    }),
    // More than a page holds.
    fc.record({
      kind: fc.constant("push" as const),
      floats: fc.integer({ min: 200, max: 600 }),
      with: fc.constant("nothing"),
    }),
    fc.record({ kind: fc.constant("receive" as const), at: fc.nat({ max: 200 }) }),
    fc.record({ kind: fc.constant("clear" as const) }),
  ),
  { maxLength: 200, size: "max" },
);

describe.each([["ring", false], ["hold", true]] as const)("%s", (_, hold) => {
  test("holds a suffix of all events, within its bytes, and knows what it dropped", () => {
    fc.assert(fc.property(actions, fc.integer({ min: 1, max: 6000 }), (script, bytesMax) => {
      const outbox = new Outbox(bytesMax, hold);
      const all: { event: OutboxEvent; bytes: number; received: boolean }[] = [];
      for (const action of script) {
        if (action.kind === "push") {
          const event = eventWith(action.with, all.length + 1, action.floats);
          all.push({ event: structuredClone(event), bytes: eventBytes(event), received: false });
          outbox.push(event);
          // The block that its values lie in is used again.
          if (event.kind === "output") event.data.fill(-1);
        } else if (action.kind === "receive") {
          outbox.received(action.at);
          if (action.at >= outbox.first && action.at < all.length) all[action.at]!.received = true;
        } else outbox.clear();

        const held = all.slice(outbox.first);
        const bytes = held.reduce((sum, each) => sum + each.bytes, 0);
        expect(outbox.end).toBe(all.length);
        expect(outbox.bytes).toBe(bytes);
        held.forEach(({ event }, i) => expect(outbox.at(outbox.first + i)).toEqual(event));
        expect(outbox.at(outbox.first - 1)).toBe(undefined);
        expect(outbox.at(outbox.end)).toBe(undefined);
        const firstUnread = held.findIndex(({ received }) => !received);
        const unread = firstUnread < 0 ? [] : held.slice(firstUnread);
        expect(outbox.bytesUnreceived).toBe(unread.reduce((sum, each) => sum + each.bytes, 0));
        expect(outbox.past.lastDropped).toEqual(
          outbox.first === 0 ? null : all[outbox.first - 1]!.event.position,
        );
        // Over its bytes only by the newest event, or by what nobody has received yet.
        if (bytes > bytesMax) expect(held.length === 1 || (hold && firstUnread === 0)).toBe(true);
        // Nothing is dropped without need.
        if (action.kind === "push" && outbox.first > 0 && held.length > 0) {
          const before = all[outbox.first - 1]!;
          if (script.every(({ kind }) => kind !== "clear")) {
            expect(bytes + before.bytes).toBeGreaterThan(Math.min(bytesMax, bytes));
          }
        }
      }
    }));
  });
});

test("find gives the first event after a position", () => {
  fc.assert(fc.property(
    fc.array(fc.nat({ max: 3 }), { maxLength: 30 }),
    fc.nat({ max: 4 }),
    fc.nat({ max: 40 }),
    (epochSteps, epoch, step) => {
      const outbox = new Outbox(1e9, false);
      let [now, at] = [1, 0];
      for (const advance of epochSteps) {
        if (advance === 0) now++;
        at++;
        outbox.push(output(at, 1, now));
      }
      const position = { epoch, step, part: 0 };
      const found = outbox.find(position);
      for (let i = outbox.first; i < outbox.end; i++) {
        expect(comparePositions(outbox.at(i)!.position, position) > 0).toBe(i >= found);
      }
    },
  ));
});

test("a chunk's outputs are let go with the ring, unless somebody waits", async () => {
  const clock = { now: () => 0, wallMs: () => 0, after: () => ({ cancel() {} }) };
  const outbox = new Outbox(EVENT_BYTES + 4, false);
  const push = (chunk: Chunk, step: number) => {
    const event = output(step, 1);
    outbox.push(event);
    chunk.ran(event, outbox);
  };
  const waited = chunkOf(2);
  const wait = waited.wait(clock, 1000);
  push(waited, 1);
  push(waited, 2);
  expect((await wait)!.data).toEqual(Float32Array.of(1, 2));
  await expect(waited.wait(clock, 1000)).rejects.toMatchObject({ code: "outputs_gone" });

  const alone = chunkOf(3);
  push(alone, 3);
  push(alone, 4);
  await expect(alone.wait(clock, 1000)).rejects.toMatchObject({ code: "outputs_gone" });
  push(alone, 5);
  await expect(alone.wait(clock, 1000)).rejects.toMatchObject({ code: "outputs_gone" });
});

test("a wait that is over gets nothing, though the chunk ends before it is told", async () => {
  const timers: (() => void)[] = [];
  const after = (_: number, run: () => void) => {
    timers.push(run);
    return { cancel() {} };
  };
  const clock = { now: () => 0, wallMs: () => 0, after };
  const outbox = new Outbox(1e6, false);
  const push = (chunk: Chunk, step: number) => {
    const event = output(step, 1);
    outbox.push(event);
    chunk.ran(event, outbox);
  };
  const chunk = chunkOf(3);
  push(chunk, 1);
  const [short, long] = [chunk.wait(clock, 10), chunk.wait(clock, 500)];
  push(chunk, 2);
  timers[0]!();
  push(chunk, 3);
  const all = Float32Array.of(1, 2, 3);
  expect(await short).toBeNull();
  expect((await long)!.data).toEqual(all);
  expect((await chunk.wait(clock, 10))!.data).toEqual(all);

  const alone = chunkOf(2);
  push(alone, 4);
  const only = alone.wait(clock, 10);
  timers.at(-1)!();
  push(alone, 5);
  expect(await only).toBeNull();
  expect((await alone.wait(clock, 10))!.data).toEqual(Float32Array.of(4, 5));
});
