/** API §3, a step that fails: run again, isolated, given up, told. */
import { describe, expect, test } from "bun:test";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld, onePass, settle } from "./support/world.ts";

const stream = (seed: number, steps: number) => new Random(seed).floats(steps * 6);
const octets = { accept: "application/octet-stream" };

async function outputsOf(answer: Response): Promise<number[]> {
  expect(answer.status).toBe(200);
  return [...new Float32Array(await answer.arrayBuffer())];
}

describe("a step that fails", () => {
  test("goes back to the head of its session and runs again: nobody notices", async () => {
    for (const failing of [[0], [1], [0, 1], [2, 3], [1, 4]]) {
      const world = makeWorld();
      const ids = [await world.open(), await world.open()];
      world.executor.fails = (_, step) => failing.includes(step);
      const streams = [stream(1, 11), stream(2, 7)];
      const waits = ids.map((id, i) => world.post(id, streams[i]!, "?wait=true", octets));
      for (const [i, wait] of waits.entries()) {
        expect(await outputsOf(await wait)).toEqual([...await onePass(world.plan, streams[i]!)]);
      }
    }
  });

  test("the last time it runs alone, so that a bad frame takes no neighbour along", async () => {
    const world = makeWorld();
    const ids = [await world.open(), await world.open(), await world.open()];
    const bad = stream(2, 6);
    world.executor.fails = (batch) => batch.some(({ input }) => input[0] === bad[0]);
    const streams = [stream(1, 9), bad, stream(3, 9)];
    const waits = ids.map((id, i) => world.post(id, streams[i]!, "?wait=true", octets));
    expect(await outputsOf(await waits[0]!)).toEqual([...await onePass(world.plan, streams[0]!)]);
    expect(await outputsOf(await waits[2]!)).toEqual([...await onePass(world.plan, streams[2]!)]);
    await expectProblem(await waits[1]!, "step_failed", { seq: 0, at_step: 0 });
    const tries = world.executor.batches.filter((batch) =>
      batch.some(({ input }) => input[0] === bad[0])
    );
    expect(tries.map((batch) => batch.length)).toEqual([3, 3, 1]);
  });

  test("the chunk ends, what follows is dropped, the number goes back, the state stays", async () => {
    const world = makeWorld();
    const id = await world.open();
    const events = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
    const [first, second, third, fourth] = [stream(1, 3), stream(2, 9), stream(3, 2), stream(4, 2)];
    let broken = true;
    // The second frame of the second chunk.
    world.executor.fails = ([row]) => broken && row!.input[0] === second![4 * 6];
    const waits = [first, second, third, fourth].map((values) =>
      world.post(id, values!, "?wait=true")
    );
    await settle();
    const cancelled = await world.send(`/v1/sessions/${id}/chunks/3`, { method: "DELETE" });
    expect(cancelled.status).toBe(404); // it was dropped before
    expect((await waits[0]!).status).toBe(200);
    await expectProblem(await waits[1]!, "step_failed", { seq: 1, at_step: 7 });
    await expectProblem(await waits[2]!, "after_failed_chunk", { seq: 2, at_step: 7 });
    await expectProblem(await waits[3]!, "after_failed_chunk", { seq: 3, at_step: 7 });
    expect(events.events.slice(1).map(({ id, event, data }) => [id, event, data.seq])).toEqual([
      ["1-3", "output", 0],
      ["1-7", "output", 1],
      ["1-7.1", "error", 1],
      ["1-7.2", "error", 2],
      ["1-7.3", "error", 3],
    ]);
    expect(events.events[3]!.data).toEqual({ seq: 1, code: "step_failed", at_step: 7 });
    expect(events.events[4]!.data).toEqual({ seq: 2, code: "after_failed_chunk", at_step: 7 });
    expect(await (await world.send(`/v1/sessions/${id}`)).json()).toMatchObject({
      steps_done: 7,
      next_chunk_seq: 1,
      frames_waiting: 0,
      credit: 65_536,
      epoch: 1,
    });
    // The rest is sent again under the same number, with another body.
    broken = false;
    const rest = second!.slice(4 * 6);
    const again = await world.post(id, rest, "?wait=true", { ...octets, "chunk-seq": "1" });
    const whole = Float32Array.from([...first!, ...second!]);
    expect(await outputsOf(again)).toEqual([...(await onePass(world.plan, whole)).slice(7 * 3)]);
  });

  test.each([[0, 1], [1, 2], [2, 3], [5, 6]])("%d retries: %d runs", async (stepRetries, runs) => {
    const world = makeWorld({ limits: { stepRetries } });
    const id = await world.open();
    world.executor.fails = () => true;
    await expectProblem(await world.post(id, stream(1, 1), "?wait=true"), "step_failed");
    expect(world.executor.steps).toBe(runs);
  });

  test("tries are counted per frame", async () => {
    const world = makeWorld();
    const id = await world.open();
    world.executor.fails = (_, step) => step % 3 !== 2;
    const values = stream(8, 12);
    expect(await outputsOf(await world.post(id, values, "?wait=true", octets))).toEqual([
      ...await onePass(world.plan, values),
    ]);
  });

  test("a reset whose step fails is not forgotten", async () => {
    const world = makeWorld();
    const id = await world.open();
    const values = stream(4, 3);
    const first = await outputsOf(await world.post(id, values, "?wait=true", octets));
    await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    const failing = world.executor.steps;
    world.executor.fails = (_, step) => step === failing;
    expect(await outputsOf(await world.post(id, values, "?wait=true", octets))).toEqual(first);
    // Also when all its tries failed.
    await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
    world.executor.fails = () => true;
    await expectProblem(await world.post(id, values, "?wait=true"), "step_failed");
    world.executor.fails = () => false;
    expect(await outputsOf(await world.post(id, values, "?wait=true", octets))).toEqual(first);
  });

  test("closing while its step fails is no fault", async () => {
    const world = makeWorld();
    const id = await world.open();
    const gate = Promise.withResolvers<void>();
    world.executor.gate = gate.promise;
    world.executor.fails = () => true;
    const waiting = world.post(id, stream(1, 9), "?wait=true");
    await settle();
    await world.send(`/v1/sessions/${id}`, { method: "DELETE" });
    gate.resolve();
    await expectProblem(await waiting, "session_gone");
    await settle();
    expect(world.executor.steps).toBe(1);
  });
});
