import { expect, test } from "bun:test";
import { realClock } from "../../src/base/clock.ts";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("time-outs of one length: each runs once it is due, in order; a cancelled one does not", async () => {
  const ran: string[] = [];
  const begin = performance.now();
  const after: number[] = [];
  const start = (name: string) =>
    realClock.after(1000, () => {
      ran.push(name);
      after.push(performance.now() - begin);
    });
  const first = start("first");
  start("second");
  await sleep(150);
  const third = realClock.after(1000, () => {
    ran.push("third");
    fourth.cancel();
  });
  const fourth = start("fourth");
  first.cancel();
  await sleep(1200);
  expect(ran).toEqual(["second", "third"]);
  expect(after[0]).toBeGreaterThanOrEqual(1000);
  third.cancel(); // one that ran
});

test("a time-out that is started when none is left runs too", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  realClock.after(1000, () => realClock.after(1000, resolve));
  const alive = setTimeout(() => {}, 5000); // time-outs alone keep no process alive
  await promise;
  clearTimeout(alive);
});
