/** The main job end to end: open, post, wait, watch, close. */
import { expect, test } from "bun:test";
import { Random } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { makeWorld, onePass, settle } from "./support/world.ts";

test("open, post, wait, watch, close", async () => {
  const world = makeWorld();
  const stream = new Random(5).floats(5 * 6);
  const expected = await onePass(world.plan, stream);

  const created = await world.send("/v1/sessions", { method: "POST" });
  expect(created.status).toBe(201);
  expect(created.headers.get("location")).toBe("/v1/sessions/session0");
  const session = await created.json();
  expect(session).toEqual({
    id: "session0",
    model: "spiking",
    state: "active",
    slot: 0,
    frame: 4,
    sample_shape: [2, 3],
    output_shape: [3],
    dt: 1e-4,
    steps_done: 0,
    frames_waiting: 0,
    next_chunk_seq: 0,
    seq_window: 256,
    credit: 65_536,
    epoch: 1,
    epochs: [{ epoch: 1, from_step: 0 }],
    durable_seq: null,
    created_at: "2026-01-01T00:00:00.000Z",
    last_activity_at: "2026-01-01T00:00:00.000Z",
    ttl_s: 300,
    record: [],
    outputs: "ring",
    frame_period_ms: 0,
    frames_late: 0,
  });

  const events = new EventClient(await world.send("/v1/sessions/session0/outputs"));
  await settle();
  expect(events.text).toBe(
    ': ganglion\n\nevent: open\ndata: {"epoch":1,"resume":"start","next_start_step":0,"missing":null}\n\n',
  );

  const posted = await world.post("session0", stream);
  expect(posted.status).toBe(202);
  expect(await posted.json()).toEqual({
    seq: 0,
    steps: 5,
    start_step: 0,
    end_step: 5,
    epoch: 1,
    next_chunk_seq: 1,
    credit: 65_531,
    durable_seq: null,
  });
  await settle();
  const rows = Array.from({ length: 5 }, (_, t) => [...expected.subarray(t * 3, t * 3 + 3)]);
  expect(events.events.slice(1)).toEqual([
    {
      id: "1-4",
      event: "output",
      data: {
        seq: 0,
        start_step: 0,
        steps: 4,
        shape: [4, 3],
        encoding: "json",
        data: rows.slice(0, 4),
      },
    },
    {
      id: "1-5",
      event: "output",
      data: {
        seq: 0,
        start_step: 4,
        steps: 1,
        shape: [1, 3],
        encoding: "json",
        data: rows.slice(4),
      },
    },
  ]);

  const waited = await world.post("session0", stream.subarray(0, 6), "?wait=true");
  expect(waited.status).toBe(200);
  expect(await waited.json()).toMatchObject({ seq: 1, start_step: 5, end_step: 6, shape: [1, 3] });

  expect((await world.send("/v1/sessions/session0", { method: "DELETE" })).status).toBe(204);
  await events.ended();
  expect(events.events.at(-1)).toEqual({ id: undefined, event: "end", data: { reason: "closed" } });
  const gone = await world.send("/v1/sessions/session0");
  expect(gone.status).toBe(410);
  expect(gone.headers.get("content-type")).toBe("application/problem+json");
  expect(await gone.json()).toMatchObject({
    code: "session_gone",
    reason: "closed",
    steps_done: 6,
  });
  expect(world.faults).toEqual([]);
});
