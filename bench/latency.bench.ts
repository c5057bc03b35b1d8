/**
 * Question: how much later than the bare step does an output reach its client? One session of
 * examples/digits that posts a frame of 10 steps every 30 ms and reads an event stream; milliseconds from
 * when a chunk was due to its event, against the same step in this process. The client looks at the clock in
 * every turn of its loop, or only each millisecond as a client with timers does. Interleaved; each executor,
 * in a thread of its own and without. Moves with: turns of the event loop, the way between threads, the
 * read-back.
 */
import { StreamServer } from "../src/mod.ts";
import { LoadClient, measure, runtime, ServerChild } from "./http_load.ts";
import { Random, spikes } from "./models.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const FRAME = 10;
const PIXELS = 64;
const REPEATS = 15;
const MODEL = new URL("../examples/digits/digits.nir", import.meta.url).pathname;
const DEVICES = ["auto", "cpu"] as const;

const quantiles = () => ({ p50: [] as number[], p99: [] as number[] });
const setups = [];
for (const device of DEVICES) {
  const options = { slots: 1, frame: FRAME, sampleShape: [PIXELS], device };
  const bare = await StreamServer.create(MODEL, options);
  for (const thread of ["own thread", "no worker"]) {
    const flags = thread === "no worker" ? ["--no-worker"] : [];
    const size = ["--slots", "1", "--frame", String(FRAME), "--device", device];
    const server = await ServerChild.serve([MODEL, ...size, ...flags]);
    const client = new LoadClient();
    await client.open(server, 1);
    const times = { bare: [] as number[], count: 0 };
    const name = `${bare.info.kind}, ${thread}`;
    setups.push({ name, bare, server, client, times, polled: quantiles(), timed: quantiles() });
  }
}

const frame = spikes(new Random(1), FRAME * PIXELS, 0.2);
/** Median milliseconds of a step of one session. */
async function bareStep(bare: StreamServer): Promise<number> {
  const session = bare.open();
  const times: number[] = [];
  for (let i = 0; i < 50; i++) {
    const begin = performance.now();
    bare.submit(session, frame);
    await bare.run();
    times.push(performance.now() - begin);
  }
  session.close();
  return quantile(times, 0.5);
}

for (let repeat = 0; repeat < REPEATS; repeat++) {
  for (const { bare, server, client, times, polled, timed } of setups) {
    times.bare.push(await bareStep(bare));
    for (const [found, polls] of [[polled, true], [timed, false]] as const) {
      const load = { periodMs: 30, polls, readers: "each", encoding: "bits" } as const;
      const counts = await measure(server, client, load);
      found.p50.push(counts.p50);
      found.p99.push(counts.p99);
      if (polls) times.count += counts.events;
    }
  }
}
for (const { server, client } of setups) {
  client.close();
  await server.stop();
}
for (const bare of new Set(setups.map((each) => each.bare))) await bare.close();

await keep(`latency.${runtime}`, {
  bench: "latency",
  setting: { model: "digits", sessions: 1, frame: FRAME, repeats: REPEATS, runtime: runtimeName },
  rows: setups.map(({ name, times: { bare, count }, polled, timed }) => ({
    executor: name,
    "bare step ms": round(quantile(bare, 0.5)),
    "chunk to event p50 ms": round(quantile(polled.p50, 0.5)),
    "p99 ms": round(quantile(polled.p99, 0.5)),
    "added p50 ms": round(quantile(polled.p50.map((each, i) => each - bare[i]!), 0.5)),
    n: count,
    "p50 ms, client with timers": round(quantile(timed.p50, 0.5)),
  })),
});
