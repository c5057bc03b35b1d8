/** Whatever the network and the server do: every step once, in order, and the bytes of one pass. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Encoding, eventsOf, Ganglion, packBits } from "../../client/mod.ts";
import { Random } from "../support/plans.ts";
import { onePass } from "../http/support/world.ts";
import { type Fault, FaultyNetwork } from "./faulty_network.ts";

/** What the cases did; a network that does no harm would prove nothing. */
const seen = { kills: 0, replays: 0, rolled_back: 0, reopened: 0, reconnecting: 0 };
const RUNS = Number(process.env.GANGLION_CLIENT_RUNS ?? 40);
const LIMIT_MS = 60_000;
const SAMPLE = 6;

const fault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.oneof(
    { weight: 3, arbitrary: fc.constant("none" as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        ...["lost request", "lost answer", "twice", "late", "429", "503", "silent"] as const,
      ),
    },
    { weight: 2, arbitrary: fc.constantFrom("killed before", "killed after") },
  ),
  size: fc.integer({ min: 1, max: 900 }),
});

interface Case {
  readonly chunks: readonly number[];
  readonly faults: readonly Fault[];
  readonly encoding: Encoding;
  readonly input: "f32" | "bits" | "events";
  readonly outputs: "ring" | "hold";
  /** Whether the server has kept the session before anything happens. */
  readonly isKept: boolean;
  readonly pauses: readonly number[];
}

const cases: fc.Arbitrary<Case> = fc.record({
  chunks: fc.array(fc.integer({ min: 1, max: 13 }), { minLength: 6, maxLength: 12 }),
  faults: fc.array(fault, { maxLength: 40, size: "+1" }),
  encoding: fc.constantFrom("f32", "bits", "events", "json"),
  input: fc.constantFrom("f32", "bits", "events"),
  outputs: fc.constantFrom("ring", "hold"),
  isKept: fc.boolean(),
  pauses: fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 12 }),
});

async function streamThrough(each: Case): Promise<void> {
  const { chunks, faults, encoding, outputs, pauses, isKept } = each;
  const network = new FaultyNetwork(faults, { queueStepsMax: 20 });
  const random = new Random(7);
  const inputs = chunks.map((steps) =>
    each.input === "f32" ? random.floats(steps * SAMPLE) : random.spikes(steps * SAMPLE, 0.3)
  );
  const total = chunks.reduce((sum, steps) => sum + steps, 0);
  const client = new Ganglion("http://ganglion.test", {
    fetch: network.fetch,
    clock: network.clock,
    random: () => random.next(),
  });
  const wanted = await onePass(network.plan, Float32Array.from(inputs.flatMap((x) => [...x])));
  const got: number[] = [];
  const run = async () => {
    const session = await client.open({ outputs }, {
      encoding,
      onNotice: ({ kind }) => void (kind in seen && seen[kind as keyof typeof seen]++),
    });
    if (isKept) await network.keep();
    network.start();
    const sending = (async () => {
      for (const [i, values] of inputs.entries()) {
        const steps = values.length / SAMPLE;
        const data = each.input === "f32"
          ? values
          : each.input === "bits"
          ? { bits: packBits(values, SAMPLE) }
          : { steps, events: eventsOf({ data: values, steps }) };
        const sent = session.send(data);
        const pause = pauses[i];
        if (pause === undefined) continue; // not waited for: many are queued here
        await sent;
        await new Promise<void>((resolve) => void network.clock.after(pause, resolve));
      }
    })();
    let next = 0;
    for await (const { startStep, steps, shape, data } of session.outputs()) {
      expect(startStep).toBe(next);
      expect(shape).toEqual([steps, 3]);
      next += steps;
      got.push(...data);
      if (next >= total) break;
    }
    await sending;
  };
  await network.until(run());
  seen.kills += network.kills;
  seen.replays += network.replays;
  expect(got).toEqual([...wanted]);
}

test(
  "each step once, in order, with the bytes of one pass",
  async () => {
    await fc.assert(fc.asyncProperty(cases, streamThrough), {
      numRuns: RUNS,
      seed: Number(process.env.GANGLION_CLIENT_SEED ?? 20261130),
    });
    console.log(JSON.stringify(seen));
    expect(seen.kills).toBeGreaterThan(RUNS);
    expect(seen.reopened).toBeGreaterThan(RUNS / 10);
    expect(seen.replays).toBeGreaterThan(RUNS / 3);
  },
  Number(process.env.GANGLION_CLIENT_RUNS ?? 0) > 0 ? 500_000 : LIMIT_MS,
);
