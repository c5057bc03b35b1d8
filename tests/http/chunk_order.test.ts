/** API §2–3: numbers, repeats, cancelling. */
import { describe, expect, test } from "bun:test";
import { Random } from "../support/plans.ts";
import { expectProblem } from "./support/problems.ts";
import { bytesOf, makeWorld, onePass, settle, type World } from "./support/world.ts";

const random = new Random(11);
const a = random.floats(5 * 6);
const b = random.floats(2 * 6);

const numbered = (world: World, id: string, values: Float32Array, seq: number, query = "") =>
  world.post(id, values, query, { "chunk-seq": String(seq) });
const cancel = (world: World, id: string, seq: number | string) =>
  world.send(`/v1/sessions/${id}/chunks/${seq}`, { method: "DELETE" });

async function held(options: Parameters<typeof makeWorld>[0] = {}) {
  const world = makeWorld(options);
  const id = await world.open();
  const gate = Promise.withResolvers<void>();
  world.executor.gate = gate.promise;
  const release = async () => {
    gate.resolve();
    await settle();
  };
  return { world, id, release };
}

describe("Chunk-Seq", () => {
  test("numbered and unnumbered may be mixed; a gap is refused and says what is expected", async () => {
    const world = makeWorld();
    const id = await world.open();
    expect((await numbered(world, id, a, 0)).status).toBe(202);
    expect(await (await world.post(id, a)).json()).toMatchObject({ seq: 1 });
    await expectProblem(await numbered(world, id, a, 3), "chunk_gap", { expected: 2 });
    expect(await (await numbered(world, id, b, 2)).json()).toMatchObject({
      seq: 2,
      next_chunk_seq: 3,
    });
    for (const seq of ["-1", "1.5", "x", "1e3", " ", "99999999999999999999"]) {
      const answer = await world.post(id, a, "", { "chunk-seq": seq });
      await expectProblem(answer, "bad_header", { header: "Chunk-Seq" });
    }
  });

  test("a repeat has no second effect and answers what it asks for", async () => {
    const world = makeWorld();
    const id = await world.open();
    const expected = await onePass(world.plan, a);
    const first = await (await numbered(world, id, a, 0)).json();
    await settle();
    expect(await (await numbered(world, id, a, 0)).json()).toEqual({ ...first, credit: 65_536 });
    for (let i = 0; i < 2; i++) {
      const answer = await world.post(id, a, "?wait=true", {
        "chunk-seq": "0",
        accept: "application/octet-stream",
      });
      expect(new Float32Array(await answer.arrayBuffer())).toEqual(expected);
    }
    expect(await (await world.send(`/v1/sessions/${id}`)).json()).toMatchObject({
      steps_done: 5,
      next_chunk_seq: 1,
    });
  });

  test("two identical requests at once: one effect, both answered", async () => {
    const { world, id, release } = await held();
    const both = [1, 2].map(() => numbered(world, id, a, 0, "?wait=true"));
    await settle();
    await release();
    const answers = await Promise.all(both.map(async (each) => await (await each).json()));
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]).toMatchObject({ start_step: 0, end_step: 5, next_chunk_seq: 1 });
    expect(world.executor.steps).toBe(2);
  });

  test("a repeat waits for a chunk that is still queued or half run", async () => {
    const { world, id, release } = await held();
    await world.post(id, b);
    await numbered(world, id, a, 1);
    await settle();
    const waiting = numbered(world, id, a, 1, "?wait=true");
    await release();
    expect(await (await waiting).json()).toMatchObject({ seq: 1, start_step: 2, end_step: 7 });
  });

  test("the same number with another body or another media type is refused", async () => {
    const world = makeWorld();
    const id = await world.open();
    await world.post(id, a);
    await expectProblem(await numbered(world, id, b, 0), "chunk_differs", { seq: 0 });
    const words = new Uint8Array(20);
    const post = (type: string) =>
      world.send(`/v1/sessions/${id}/chunks`, {
        method: "POST",
        body: words,
        headers: { "content-type": type, "chunk-seq": "1" },
      });
    expect((await post("application/vnd.ganglion.bits")).status).toBe(202);
    expect((await post("application/vnd.ganglion.bits")).status).toBe(202);
    await expectProblem(await post("application/octet-stream"), "bad_length");
    await expectProblem(
      await world.post(id, new Float32Array(bytesOf(new Float32Array(30)).buffer), "", {
        "chunk-seq": "1",
      }),
      "chunk_differs",
    );
  });

  test("older than the window: applied, but too old to repeat", async () => {
    const world = makeWorld({ limits: { seqWindow: 2 } });
    const id = await world.open();
    for (let i = 0; i < 4; i++) {
      await world.post(id, a);
      await settle();
    }
    await expectProblem(await numbered(world, id, a, 1), "chunk_too_old", { applied: true });
    expect((await numbered(world, id, a, 2)).status).toBe(202);
  });

  test("a number is checked before the queue limit", async () => {
    const { world, id } = await held({ limits: { queueStepsMax: 5 } });
    await numbered(world, id, a, 0);
    await expectProblem(await numbered(world, id, b, 2), "chunk_gap", { expected: 1 });
    expect((await numbered(world, id, a, 0)).status).toBe(202);
    await expectProblem(await numbered(world, id, b, 1), "queue_full", { credit: 0 });
  });

  test("outputs that the ring dropped are gone", async () => {
    const world = makeWorld({ limits: { ringBytesMax: 400 } });
    const id = await world.open();
    await numbered(world, id, a, 0);
    await settle();
    expect((await numbered(world, id, a, 0, "?wait=true")).status).toBe(200);
    await world.post(id, a);
    await settle();
    await expectProblem(await numbered(world, id, a, 0, "?wait=true"), "outputs_gone", { seq: 0 });
    expect((await numbered(world, id, a, 0)).status).toBe(202);
  });
});

describe("DELETE of a chunk", () => {
  test("before its first frame was taken: 204, a second time too", async () => {
    const { world, id, release } = await held();
    await world.post(id, a);
    await settle();
    const waiting = world.post(id, b, "?wait=true");
    await settle();
    expect(await (await world.post(id, a)).json()).toMatchObject({ seq: 2, start_step: 7 });
    expect((await cancel(world, id, 1)).status).toBe(204);
    await expectProblem(await waiting, "chunk_cancelled", { seq: 1 });
    expect((await cancel(world, id, 1)).status).toBe(204);
    // Its number is used up; later chunks move down.
    await expectProblem(await numbered(world, id, b, 1), "chunk_cancelled", { seq: 1 });
    await release();
    expect((await cancel(world, id, 1)).status).toBe(204);
    const third = await numbered(world, id, a, 2, "?wait=true");
    expect(await third.json()).toMatchObject({ start_step: 5, end_step: 10, next_chunk_seq: 3 });
  });

  test("once its first frame was taken: chunk_running, then chunk_done", async () => {
    const { world, id, release } = await held();
    await world.post(id, a);
    await settle();
    await expectProblem(await cancel(world, id, 0), "chunk_running", { seq: 0 });
    await release();
    await expectProblem(await cancel(world, id, 0), "chunk_done", { seq: 0 });
    for (const seq of [1, "x", "-1", "1.5", "00000000000000000"]) {
      await expectProblem(await cancel(world, id, seq), "chunk_unknown");
    }
  });

  test("a chunk is never half cancelled: also not between its frames or after a failed try", async () => {
    const world = makeWorld();
    const id = await world.open();
    await world.post(id, a);
    world.executor.fails = (_, step) => step === 0;
    const seen: number[] = [];
    for (let turn = 0; turn < 20; turn++) {
      seen.push((await cancel(world, id, 0)).status);
      await settle(1);
    }
    // Either it was cancelled whole at first, or it ran whole.
    expect([204, 409]).toContain(seen[0]!);
    const done = await (await world.send(`/v1/sessions/${id}`)).json() as { steps_done: number };
    expect(done.steps_done).toBe(seen[0] === 204 ? 0 : 5);
  });

  test("cancelling at every moment leaves exactly the outputs of the rest", async () => {
    const chunks = Array.from({ length: 4 }, (_, i) => new Random(20 + i).floats((i + 3) * 6));
    for (let target = 0; target < 4; target++) {
      for (let turn = 0; turn < 12; turn++) {
        const world = makeWorld({ frame: 2 });
        const id = await world.open();
        const waits = chunks.map((values) =>
          world.post(id, values, "?wait=true", { accept: "application/octet-stream" })
        );
        await settle(turn);
        const { status } = await cancel(world, id, target);
        const kept = chunks.filter((_, i) => status !== 204 || i !== target);
        const stream = Float32Array.from(kept.flatMap((values) => [...values]));
        const outputs: number[] = [];
        for (const [i, wait] of waits.entries()) {
          const answer = await wait;
          if (status === 204 && i === target) await expectProblem(answer, "chunk_cancelled");
          else outputs.push(...new Float32Array(await answer.arrayBuffer()));
        }
        expect([target, turn, outputs]).toEqual([target, turn, [
          ...await onePass(world.plan, stream),
        ]]);
        expect(await (await world.send(`/v1/sessions/${id}`)).json()).toMatchObject({
          frames_waiting: 0,
          credit: 65_536,
          next_chunk_seq: 4,
        });
      }
    }
  });

  test("cancelled chunks take no room, however many", async () => {
    const { world, id, release } = await held({ limits: { queueStepsMax: 7, seqWindow: 4 } });
    await world.post(id, a);
    await settle();
    for (let i = 1; i <= 50; i++) {
      expect((await world.post(id, b)).status).toBe(202);
      expect((await cancel(world, id, i)).status).toBe(204);
    }
    await release();
    expect(await (await world.send(`/v1/sessions/${id}`)).json()).toMatchObject({
      steps_done: 5,
      next_chunk_seq: 51,
      credit: 7,
    });
  });
});
