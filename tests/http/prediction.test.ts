/** The running prediction of a run's readout: in events and waited answers, whatever the cut. */
import { describe, expect, test } from "bun:test";
import { decodeSession } from "../../src/checkpoint/mod.ts";
import { Readout, RunningReadout } from "../../src/run/mod.ts";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld, MemoryStore, onePass, settle, type World } from "./support/world.ts";

const labels = ["a", "b", "c"];
const predictor = () => new RunningReadout("sum", 3, labels);
const stream = new Random(3).floats(20 * 6);

/** What a readout says after so many steps of one pass. */
async function wanted(world: ReturnType<typeof makeWorld>, steps: number, from = 0) {
  const part = stream.slice(from * 6, steps * 6);
  const readout = new Readout("sum", 3);
  readout.push(await onePass(world.plan, part));
  const best = readout.prediction()!;
  return { class: best, label: labels[best], score: readout.scores()[best] };
}

test("each output event says what all steps so far say; a failed step is not counted twice", async () => {
  const world = makeWorld({ predictor });
  const id = await world.open({ readout: true });
  world.executor.fails = (_, step) => step === 1;
  const ends: number[] = [];
  for (const [from, to] of [[0, 1], [1, 10], [10, 20]] as const) {
    await world.post(id, stream.slice(from * 6, to * 6));
    await settle();
  }
  const client = new EventClient(await world.send(`/v1/sessions/${id}/outputs`));
  await settle();
  for (const { data } of client.named("output")) {
    const end = data.start_step + data.steps;
    ends.push(end);
    expect(data.prediction).toEqual(await wanted(world, end));
  }
  expect(ends.at(-1)).toBe(20);
  await client.leave();
});

test("a waited answer says what holds after its last step; repeats say the same; reset begins again", async () => {
  const world = makeWorld({ predictor });
  const id = await world.open({ readout: true });
  const post = async (from: number, to: number, headers = {}) => {
    const body = stream.slice(from * 6, to * 6);
    return await (await world.post(id, body, "?wait=true", headers)).json();
  };
  await post(0, 9, { "chunk-seq": "0" });
  const answer = await post(9, 20, { "chunk-seq": "1" });
  expect(answer.prediction).toEqual(await wanted(world, 20));
  expect(await post(9, 20, { "chunk-seq": "1" })).toEqual(answer);
  await world.send(`/v1/sessions/${id}/reset`, { method: "POST" });
  expect((await post(4, 9)).prediction).toEqual(await wanted(world, 9, 4));
  const headers = { "content-type": "application/json" };
  const data = Array.from({ length: 2 }, (_, t) => [...stream.slice(t * 6, t * 6 + 6)]);
  const body = JSON.stringify({ data, reset: true });
  const path = `/v1/sessions/${id}/chunks?wait=true`;
  const after = await world.send(path, { method: "POST", body, headers });
  expect((await after.json()).prediction).toEqual(await wanted(world, 2));
});

describe("a running prediction goes on", () => {
  const ask = async (world: World, id: string, from: number, to: number) => {
    const answer = await world.post(id, stream.slice(from * 6, to * 6), "?wait=true");
    return (await answer.json()).prediction;
  };
  const act = (world: World, id: string, what: string) =>
    world.send(`/v1/sessions/${id}/${what}`, { method: "POST" });

  test("when the session is parked, and in a fork of its own", async () => {
    const world = makeWorld({ predictor });
    const id = await world.open({ readout: true });
    await ask(world, id, 0, 9);
    await act(world, id, "park");
    const fork = await (await act(world, id, "fork")).json();
    expect(fork).toMatchObject({ readout: true });
    expect(await ask(world, id, 9, 15)).toEqual(await wanted(world, 15));
    expect(await ask(world, fork.id, 9, 20)).toEqual(await wanted(world, 20));
    expect(await ask(world, id, 15, 20)).toEqual(await wanted(world, 20));
  });

  test("after a kill, from the checkpoint; not where the run has another readout now", async () => {
    const store = new MemoryStore();
    const world = makeWorld({ predictor, store });
    const id = await world.open({ readout: true });
    await ask(world, id, 0, 9);
    await world.clock.advance(1_000);
    await ask(world, id, 9, 14); // lost
    const image = () => decodeSession(store.files.get(id)!);
    const next = makeWorld({ predictor, store });
    next.service.resume(image());
    await next.service.keep();
    const answer = await next.post(id, stream.slice(9 * 6), "?wait=true", { "chunk-seq": "1" });
    expect((await answer.json()).prediction).toEqual(await wanted(next, 20));
    const others = [
      () => new RunningReadout("max", 3),
      () => new RunningReadout("sum", 4),
      undefined,
    ];
    for (const other of others) {
      const changed = makeWorld({ predictor: other, store });
      expect(() => changed.service.resume(image())).toThrow(/readout/);
      expect(changed.service.allSessions()).toEqual([]);
    }
  });

  test("after a lost device, and from the step to which a session is rolled back", async () => {
    let isBroken = false;
    const world = makeWorld({
      predictor,
      rebuild: (executor) => {
        executor.fails = ([row]) => isBroken && row!.input[0] === stream[9 * 6];
        return executor;
      },
    });
    const id = await world.open({ readout: true });
    await ask(world, id, 0, 9);
    world.executor.lose();
    await world.clock.advance(1_000);
    expect(await ask(world, id, 9, 14)).toEqual(await wanted(world, 14));
    isBroken = true; // the frame that begins with step 9 cannot run again
    world.executor.lose();
    await world.clock.advance(2_000);
    isBroken = false;
    const view = await (await world.send(`/v1/sessions/${id}`)).json();
    expect(view).toMatchObject({ steps_done: 9, epoch: 2, next_chunk_seq: 1 });
    const answer = await world.post(id, stream.slice(9 * 6), "?wait=true", { "chunk-seq": "1" });
    expect((await answer.json()).prediction).toEqual(await wanted(world, 20));
  });

  test("but begins again with a state that is put in: a snapshot has none", async () => {
    const world = makeWorld({ predictor });
    const id = await world.open({ readout: true });
    await ask(world, id, 0, 9);
    const state = new Uint8Array(
      await (await world.send(`/v1/sessions/${id}/state`)).arrayBuffer(),
    );
    const headers = { "content-type": "application/octet-stream" };
    await world.send(`/v1/sessions/${id}/state`, { method: "PUT", body: state, headers });
    const other = await world.open({
      readout: true,
      state: Buffer.from(state).toString("base64"),
    });
    const whole = await onePass(world.plan, stream.slice(0, 20 * 6));
    const readout = new Readout("sum", 3);
    readout.push(whole.slice(9 * 3));
    const fresh = { class: readout.prediction(), score: readout.scores()[readout.prediction()!] };
    for (const each of [id, other]) {
      expect(await ask(world, each, 9, 20)).toMatchObject(fresh as Record<string, number>);
    }
  });
});

test("nobody gets what was not asked for, and a model without a readout says so", async () => {
  const world = makeWorld({ predictor });
  const id = await world.open();
  const view = async (of: string) => await (await world.send(`/v1/sessions/${of}`)).json();
  expect(await view(id)).not.toHaveProperty("readout");
  expect(await view(await world.open({ readout: true }))).toMatchObject({ readout: true });
  const answer = await world.post(id, stream.slice(0, 6), "?wait=true");
  expect(await answer.json()).not.toHaveProperty("prediction");
  const plain = makeWorld();
  const refused = await plain.send("/v1/sessions", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"readout":true}',
  });
  await expectProblem(refused, "invalid_body", { field: "readout" });
});
