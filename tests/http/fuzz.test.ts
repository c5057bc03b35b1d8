/** 2,000 random requests made from the OpenAPI document: no fault, nothing undocumented, nothing left. */
import { expect, test } from "bun:test";
import { type ApiDocument, fuzz } from "../support/api_fuzz.ts";
import { Random } from "../support/plans.ts";
import { leakyPlan, makeWorld, spikingPlan } from "./support/world.ts";

const REQUESTS = 2_000;

test(`${REQUESTS} random requests`, async () => {
  const world = makeWorld({ plans: [spikingPlan(), leakyPlan()], slots: 8 });
  const document = await (await world.send("/openapi.json")).json() as ApiDocument;
  const { statuses, operations, faults } = await fuzz({
    document,
    random: new Random(7),
    requests: REQUESTS,
    stepBytes: 24,
    models: ["spiking", "leaky"],
    atOnce: 16,
    send: world.send,
    meanwhile: () => world.clock.advance(100),
  });
  expect(faults).toEqual([]);
  expect(world.faults).toEqual([]);
  expect(operations).toBeGreaterThan(15);
  // Both ways: enough gets through, enough is refused.
  for (const status of ["200", "201", "202", "204", "400", "404", "415", "422"]) {
    expect([status, (statuses[status] ?? 0) > 10]).toEqual([status, true]);
  }
  for (const each of world.service.allSessions()) world.service.end(each, "closed");
  expect(
    world.service.stats().map(({ slotsFree, readers, waiting }) => [slotsFree, readers, waiting]),
  )
    .toEqual([[8, 0, 0], [8, 0, 0]]);
});
