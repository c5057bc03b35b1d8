/** Event streams from bytes, pauses between tries, and the packed forms. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { decodeValues, encodeChunk, eventsOf, packBits } from "../../client/codec.ts";
import { Ganglion } from "../../client/mod.ts";
import { EventParser } from "../../client/sse.ts";
import { Backoff, type Connection } from "../../client/transport.ts";
import { packBits as packOnServer } from "../../src/base/numeric.ts";
import { encodeValues } from "../../src/http/encode_outputs.ts";
import { SimClock } from "../http/support/world.ts";
import { Random } from "../support/plans.ts";

const TEXT = ': hello\n\nid: 1-4\nevent: output\ndata: {"é":1}\n\ndata:a\ndata: b\nignored\n\n' +
  "event: end\ndata: {}\n\nid: 9\ndata: not whole";

test.each(["\n", "\r\n", "\r"])("events, however the text is cut; lines end with %j", (end) => {
  const text = TEXT.replaceAll("\n", end);
  for (let length = 1; length <= text.length; length++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < text.length; at += length) {
      events.push(...parser.push(text.slice(at, at + length)));
    }
    expect(events).toEqual([
      { event: "", data: "", id: null },
      { event: "output", data: '{"é":1}', id: "1-4" },
      { event: "message", data: "a\nb", id: null },
      { event: "end", data: "{}", id: null },
    ]);
  }
});

test("steps that come again inside an output are cut off it, also what was recorded", async () => {
  const clock = new SimClock();
  const event = (id: string, start: number, steps: number) => {
    const data = Array.from({ length: steps }, (_, t) => [start + t, -1]);
    const probes = { "lif.v": data };
    const shape = [steps, 2];
    const body = { seq: 0, start_step: start, steps, shape, encoding: "json", data, probes };
    return `id: ${id}\nevent: output\ndata: ${JSON.stringify(body)}\n\n`;
  };
  const open =
    `event: open\ndata: {"epoch":1,"resume":"start","next_start_step":0,"missing":null}\n\n`;
  const rolledBack =
    `id: 2-2.1\nevent: rolled_back\ndata: {"epoch":2,"to_step":2,"next_chunk_seq":0}\n\n`;
  const parts = [
    open + event("1-4", 0, 4),
    open + rolledBack + event("2-6", 2, 4) + 'event: end\ndata: {"reason":"closed"}\n\n',
  ];
  const view = { id: "a", sample_shape: [1], record: [], next_chunk_seq: 0, epoch: 1, credit: 9 };
  const fetch = (url: string) =>
    Promise.resolve(new Response(url.endsWith("/a") ? JSON.stringify(view) : parts.shift()!));
  const client = new Ganglion("http://x.test", { fetch, clock, random: () => 0 });
  const session = await client.attach("a");
  const got: unknown[] = [];
  const reading = (async () => {
    for await (const { startStep, shape, data, probes } of session.outputs()) {
      got.push([startStep, shape, [...data], [...probes["lif.v"]!]]);
    }
  })();
  await clock.advance(1000);
  await reading;
  expect(got).toEqual([
    [0, [4, 2], [0, -1, 1, -1, 2, -1, 3, -1], [0, -1, 1, -1, 2, -1, 3, -1]],
    [4, [2, 2], [4, -1, 5, -1], [4, -1, 5, -1]],
  ]);
});

test("pauses double up to the longest, with full jitter, and are never shorter than asked", async () => {
  const clock = new SimClock();
  let random = 1;
  const connection = {
    ...{ clock, backoffMs: 100, backoffMsMax: 1000, retryForMs: 60_000 },
    random: () => random,
  } as unknown as Connection;
  const backoff = new Backoff(connection);
  const pause = async (error: unknown = new Error()) => {
    const [before, work] = [clock.now(), backoff.pause(error)];
    let after = NaN;
    void work.then(() => after = clock.now());
    for (let ms = 0; Number.isNaN(after); ms += 5) await clock.advance(5);
    return after - before;
  };
  const pauses = [];
  for (let i = 0; i < 6; i++) pauses.push(await pause());
  expect(pauses).toEqual([100, 200, 400, 800, 1000, 1000]);
  random = 0.5;
  expect(await pause()).toBe(500);
  const { GanglionError } = await import("../../client/errors.ts");
  expect(await pause(new GanglionError("starting", "", { retryAfterMs: 3000 }))).toBe(3500);
  backoff.reset();
  expect(await pause()).toBe(50);
});

test("packed forms are those of the server", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 70 }), fc.integer({ min: 1, max: 5 }), fc.integer(), (
      size,
      steps,
      seed,
    ) => {
      const spikes = new Random(seed).spikes(size * steps, 0.4);
      expect(packBits(spikes, size)).toEqual(packOnServer(spikes, steps));
      for (const encoding of ["json", "base64", "bits", "events"] as const) {
        const shape = [steps, size];
        const told: unknown = JSON.parse(encodeValues(encoding, spikes, shape));
        expect(decodeValues(encoding, told, steps, size)).toEqual(spikes);
      }
      const real = spikes.map((x, i) => x * (i + 0.1));
      const events: unknown = JSON.parse(encodeValues("events", real, [steps, size]));
      expect(events).toEqual(eventsOf({ data: real, steps }).map((each) => [...each]));
      const { bytes, steps: counted } = encodeChunk(real.subarray(0), size);
      expect([new Float32Array(bytes.buffer), counted]).toEqual([real, steps]);
    }),
    { numRuns: 50 },
  );
});
