/** The running prediction of a run's readout: in events and waited answers, whatever the cut. */
import { expect, test } from "bun:test";
import { Readout, RunningReadout } from "../../src/run/mod.ts";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { makeWorld, onePass, settle } from "./support/world.ts";

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
