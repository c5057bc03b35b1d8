/** When what steps leave behind is collected: in a pause, at the latest before a step, never in one. */
import { beforeEach, expect, test } from "bun:test";
import { Collector, LATEST, PAUSE_MS, WORTH } from "../../src/engine/collector.ts";
import { SimClock } from "../http/support/world.ts";

let clock: SimClock;
let collector: Collector;
let collections: number;

beforeEach(() => {
  clock = new SimClock();
  collections = 0;
  collector = new Collector(() => collections++, clock);
});

function step(submissions = 1): void {
  collector.begin();
  for (let i = 0; i < submissions; i++) collector.submitted();
  collector.end();
}

test("a pause is used once there is enough to free, and only once", async () => {
  step(WORTH - 1);
  await clock.advance(10 * PAUSE_MS);
  expect([collections, clock.timers]).toEqual([0, 0]);
  step();
  expect(collections).toBe(0);
  await clock.advance(10 * PAUSE_MS);
  expect([collections, clock.timers]).toEqual([1, 0]);
});

test("steps that follow closely are no pause", async () => {
  step(WORTH);
  for (let i = 0; i < 100; i++) {
    await clock.advance(PAUSE_MS - 1);
    step();
  }
  expect([collections, clock.timers]).toEqual([0, 1]);
  await clock.advance(2 * PAUSE_MS);
  expect(collections).toBe(1);
});

test("a long step is no pause", async () => {
  collector.begin();
  for (let i = 0; i < 2 * LATEST; i++) collector.submitted();
  await clock.advance(10 * PAUSE_MS);
  expect(collections).toBe(0);
  collector.end();
  await clock.advance(PAUSE_MS);
  expect(collections).toBe(1);
});

test("without a pause it happens before a step, every so many", async () => {
  for (let i = 0; i < 3 * LATEST; i++) step();
  expect(collections).toBe(2);
  step();
  expect(collections).toBe(3);
  await clock.advance(10 * PAUSE_MS);
  expect([collections, clock.timers]).toEqual([3, 0]);
});

test("states that are read count, without a step", async () => {
  for (let i = 0; i < WORTH; i++) collector.submitted();
  await clock.advance(PAUSE_MS);
  expect(collections).toBe(1);
});

test("nothing waits after the end", async () => {
  step(WORTH);
  collector.close();
  await clock.advance(10 * PAUSE_MS);
  expect([collections, clock.timers]).toEqual([0, 0]);
});
