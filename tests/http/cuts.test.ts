/** DESIGN §3.3 over HTTP: however streams are cut, mixed and broken, they equal one pass, byte for byte. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { Random, recurrentPlan } from "../support/plans.ts";
import { EventClient } from "./support/events.ts";
import { leakyPlan, makeWorld, onePass, settle, spikingPlan } from "./support/world.ts";

/** What one client does next. */
const moves = fc.record({
  client: fc.nat({ max: 3 }),
  steps: fc.integer({ min: 1, max: 9 }),
  wait: fc.boolean(),
  turns: fc.nat({ max: 3 }),
});

test("random cuts over random sessions equal one pass", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        seed: fc.nat({ max: 1000 }),
        plan: fc.constantFrom(spikingPlan, leakyPlan, recurrentPlan),
        frame: fc.integer({ min: 1, max: 7 }),
        slots: fc.integer({ min: 4, max: 6 }),
        script: fc.array(moves, { minLength: 1, maxLength: 25 }),
        failing: fc.uniqueArray(fc.nat({ max: 30 }), { maxLength: 6 }),
      }),
      async ({ seed, plan: makePlan, frame, slots, script, failing }) => {
        const plan = makePlan(seed);
        const world = makeWorld({ plans: [plan], frame, slots });
        // Never the same frame three times: no two failing steps in a row.
        world.executor.fails = (_, step) => failing.includes(step) && !failing.includes(step - 1);
        const random = new Random(seed);
        const clients = await Promise.all([0, 1, 2, 3].map(async () => {
          const id = await world.open();
          const answer = await world.send(`/v1/sessions/${id}/outputs?encoding=base64`);
          return { id, sent: [] as number[], events: new EventClient(answer) };
        }));
        const waits: { client: number; from: number; answer: Promise<Response> }[] = [];
        for (const { client, steps, wait, turns } of script) {
          const { id, sent } = clients[client]!;
          const values = random.floats(steps * plan.sampleSize, -2, 2);
          const from = sent.length / plan.sampleSize;
          sent.push(...values);
          const accept = { accept: "application/octet-stream" };
          const answer = world.post(id, values, wait ? "?wait=true" : "", accept);
          if (wait) waits.push({ client, from, answer });
          await settle(turns);
        }
        const settled = () => world.service.sessions().every((session) => session.isQuiet);
        while (!settled()) await settle();
        await settle();
        const expected = await Promise.all(
          clients.map(({ sent }) => onePass(plan, Float32Array.from(sent))),
        );
        for (const { client, from, answer } of waits) {
          const got = new Float32Array(await (await answer).arrayBuffer());
          const at = from * plan.outputSize;
          expect(got).toEqual(expected[client]!.slice(at, at + got.length));
        }
        for (const [i, { events }] of clients.entries()) {
          let step = 0;
          const got: number[] = [];
          for (const { id, data } of events.named("output")) {
            expect(data.start_step).toBe(step);
            step += data.steps;
            expect(id).toBe(`1-${step}`);
            expect(data.steps).toBeLessThanOrEqual(frame);
            const bytes = Buffer.from(data.data, "base64");
            got.push(...new Float32Array(new Uint8Array(bytes).buffer as ArrayBuffer));
          }
          expect(Float32Array.from(got)).toEqual(expected[i]!);
          await events.leave();
        }
        expect(world.faults).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});
