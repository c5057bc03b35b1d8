/** API §4: several sessions in one stream. */
import { describe, expect, test } from "bun:test";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { expectProblem } from "./support/problems.ts";
import { leakyPlan, makeWorld, settle, type World } from "./support/world.ts";

const stream = (seed: number, steps: number) => new Random(seed).floats(steps * 6);

async function watch(world: World, ids: readonly string[], query = "", init: RequestInit = {}) {
  const named = ids.map((id) => `session=${id}`).join("&");
  const client = new EventClient(await world.send(`/v1/outputs?${named}${query}`, init));
  expect(client.status).toBe(200);
  await settle();
  return client;
}

async function two(lengths: readonly number[] = []) {
  const world = makeWorld();
  const ids = [await world.open(), await world.open()];
  for (const [i, steps] of lengths.entries()) {
    await world.post(ids[i % 2]!, stream(i, steps));
    await settle();
  }
  return { world, ids, a: ids[0]!, b: ids[1]! };
}

describe("several sessions in one stream", () => {
  test("an open for each, the session's id first in all data, ids that name every place", async () => {
    const { world, ids, a, b } = await two([5, 3]);
    const client = await watch(world, ids);
    await world.send(`/v1/sessions/${a}`, { method: "DELETE" });
    await world.post(b, stream(9, 1));
    await settle();
    expect(client.isOver).toBe(false);
    await world.send(`/v1/sessions/${b}`, { method: "DELETE" });
    await client.ended();
    expect(client.events.map(({ id, event, data }) => [id, event, data.session])).toEqual([
      [undefined, "open", a],
      [undefined, "open", b],
      ["1-4,*", "output", a],
      ["1-4,1-3", "output", b],
      ["1-5,1-3", "output", a],
      [undefined, "end", a],
      ["1-5,1-4", "output", b],
      [undefined, "end", b],
    ]);
    expect(Object.keys(client.named("output")[0]!.data)[0]).toBe("session");
    const again = await world.send(`/v1/outputs?session=${a}&session=${b}`, {
      headers: { "last-event-id": "1-5,1-4" },
    });
    expect([again.status, await again.text()]).toEqual([204, ""]);
  });

  test("cut and resumed at every event, the union is every event exactly once", async () => {
    const { world, ids } = await two([5, 9, 3, 1, 6]);
    const whole = await watch(world, ids);
    const plain = (events: EventClient["events"]) =>
      events.filter(({ event }) => event === "output").map(({ data }) => data);
    const all = plain(whole.events);
    for (const [i, { id, event }] of whole.events.entries()) {
      if (event !== "output") continue;
      const rest = await watch(world, ids, "", { headers: { "last-event-id": id! } });
      const got = [...plain(whole.events.slice(0, i + 1)), ...plain(rest.events)];
      const key = (data: { session: string; start_step: number }) =>
        `${data.session} ${String(data.start_step).padStart(4)}`;
      expect(got.map(key).sort()).toEqual(all.map(key).sort());
      await rest.leave();
    }
    await whole.leave();
  });

  test("from=now keeps its place in sessions that have told nothing yet", async () => {
    const { world, ids, a, b } = await two([5, 3]);
    const client = await watch(world, ids, "&from=now");
    await world.post(a, stream(1, 2));
    await settle();
    const last = client.events.at(-1)!.id!;
    expect(last).toBe("1-7,1-3");
    await client.leave();
    await world.post(b, stream(2, 2));
    await settle();
    const rest = await watch(world, ids, "&from=now", { headers: { "last-event-id": last } });
    expect(rest.named("output").map(({ id }) => id)).toEqual(["1-7,1-5"]);
    await rest.leave();
  });

  test("a cursor of another stream is a reset", async () => {
    const { world, ids } = await two([5, 3]);
    for (const id of ["1-4", "1-4,1-3,1-1", "x,y", ","]) {
      const client = await watch(world, ids, "", { headers: { "last-event-id": id } });
      expect(client.named("open").map(({ data }) => data.resume)).toEqual(["reset", "reset"]);
      expect(client.named("output")).toHaveLength(3);
      await client.leave();
    }
  });

  test("one that lags ends the stream, the readers of all are freed", async () => {
    const limits = { ringBytesMax: 30_000 };
    const world = makeWorld({ plans: [leakyPlan()], frame: 256, limits });
    const ids = [await world.open(), await world.open()];
    const answer = await world.send(`/v1/outputs?session=${ids[0]}&session=${ids[1]}`);
    for (let i = 0; i < 60; i++) {
      await world.post(ids[0]!, new Random(i).floats(1024), "?wait=true");
    }
    const client = new EventClient(answer);
    await client.ended();
    expect(client.events.at(-1)).toMatchObject({ event: "lagged", data: { session: ids[0] } });
    expect(ids.map((id) => world.service.session(id).readers)).toEqual([0, 0]);
  });

  test("what is refused leaves no reader", async () => {
    const world = makeWorld({ limits: { readersMax: 1, sessionsPerStreamMax: 2 } });
    const ids = [await world.open(), await world.open()];
    const reader = await world.send(`/v1/sessions/${ids[1]}/outputs`);
    const both = `session=${ids[0]}&session=${ids[1]}`;
    await expectProblem(await world.send(`/v1/outputs?${both}`), "too_many_readers");
    await expectProblem(await world.send("/v1/outputs"), "invalid_query");
    await expectProblem(await world.send(`/v1/outputs?${both}&session=x`), "invalid_query");
    await expectProblem(
      await world.send(`/v1/outputs?session=${ids[0]}&session=x`),
      "session_unknown",
    );
    await expectProblem(
      await world.send(`/v1/outputs?session=${ids[0]}&encoding=x`),
      "invalid_query",
    );
    expect(world.service.session(ids[0]!).readers).toBe(0);
    await reader.body!.cancel();
  });
});
