/**
 * Question: what does the server itself cost? Its steps sleep for 5, 20 or 50 ms and compute nothing. 64
 * sessions: how much of the steps' speed is left over HTTP; processor time a chunk and an event, beside a
 * server that only reads bodies and answers a constant; and how long /healthz takes while steps of 50 ms
 * run, beside an answer of that bare server at the same time. Moves with: everything between the socket
 * and the executor. Server and client are processes of their own. Interleaved.
 */
import {
  LoadClient,
  type LoadCounts,
  type LoadRun,
  measure,
  runtime,
  ServerChild,
} from "./http_load.ts";
import { RawConnection, requestBytes } from "./raw_http.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const SESSIONS = 64;
const REPEATS = 15;
const STEPS_MS = [5, 20, 50];
/** With one chunk at a time a step begins with the first that come back, unless it may wait for the others. */
const GATHER = { stepMs: 20, limits: { stepGatherMs: 10 } };
/** What is served ÷ bare by: one chunk at a time, or a second one that waits while the first runs. */
const PATHS: readonly Partial<LoadRun>[] = [
  { readers: "wait" },
  { readers: "each", encoding: "bits", ahead: 2 },
  { readers: "one", encoding: "bits", ahead: 2 },
];
/** Half of what steps of 20 ms can take, so that nothing ever waits for a turn. */
const PACED: Partial<LoadRun> = { periodMs: 40, encoding: "bits" };

/** Both runtimes compile what runs often, for some ten thousand requests, which is no cost of a chunk. */
const WARM_SECONDS = 15;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const SLEEPING = "tests/support/sleeping_server_child.ts";

async function start(program: string, settings: object) {
  const server = await ServerChild.start(program, [JSON.stringify(settings)]);
  const client = new LoadClient();
  await client.open(server, SESSIONS);
  return { server, client };
}

const sleeping = new Map<number, Awaited<ReturnType<typeof start>>>();
for (const stepMs of STEPS_MS) {
  sleeping.set(stepMs, await start(SLEEPING, { stepMs, slots: SESSIONS, frame: 10 }));
}
const gathering = await start(SLEEPING, { ...GATHER, slots: SESSIONS, frame: 10 });
const floor = await start("bench/bare_http_child.ts", {});

/** Frames a second of steps that only sleep, on this runtime's own timers. */
async function bareSpeed(stepMs: number): Promise<number> {
  const begin = performance.now();
  let steps = 0;
  for (; performance.now() - begin < 500; steps++) await sleep(stepMs);
  return (steps * SESSIONS) / ((performance.now() - begin) / 1000);
}

/** Milliseconds that /healthz took, asked every 5 ms until told to stop. */
async function watchHealth(url: URL, isOver: () => boolean): Promise<number[]> {
  const connection = await RawConnection.open(url);
  const request = requestBytes("GET", url, "/healthz");
  const times: number[] = [];
  while (!isOver()) {
    const begin = performance.now();
    await connection.ask(request);
    times.push(performance.now() - begin);
    await sleep(5);
  }
  connection.close();
  return times;
}

for (const readers of ["wait", "each"] as const) {
  await sleeping.get(20)!.client.run({ ...PACED, readers, seconds: WARM_SECONDS });
}
await floor.client.run({ ...PACED, readers: "none", seconds: 2 * WARM_SECONDS });

const speeds = new Map<string, { bare: number[]; served: number[]; client: number[] }>();
function addSpeed(name: string, bare: number, counts: LoadCounts): void {
  const all = speeds.get(name) ?? { bare: [], served: [], client: [] };
  speeds.set(name, all);
  all.bare.push(bare);
  all.served.push(counts.events / counts.seconds);
  all.client.push((counts.cpuSeconds / counts.events) * 1e6);
}

const costs = new Map<string, number[]>();
const add = (name: string, value: number) => costs.set(name, [...costs.get(name) ?? [], value]);
const health: number[] = [];
const bareAnswers: number[] = [];
for (let repeat = 0; repeat < REPEATS; repeat++) {
  for (const [stepMs, { server, client }] of sleeping) {
    const bare = await bareSpeed(stepMs);
    for (const path of PATHS) {
      const name = `${stepMs} ms, ${path.readers === "wait" ? "wait" : `${path.readers} stream`}`;
      addSpeed(name, bare, await measure(server, client, path));
    }
    if (stepMs !== GATHER.stepMs) continue;
    const name = `${stepMs} ms, wait, stepGatherMs=${GATHER.limits.stepGatherMs}`;
    addSpeed(name, bare, await measure(gathering.server, gathering.client, { readers: "wait" }));
  }
  const { server, client } = sleeping.get(20)!;
  const perChunk = async (readers: LoadRun["readers"]) => {
    const { serverCpuSeconds, chunks } = await measure(server, client, { ...PACED, readers });
    return (serverCpuSeconds / chunks) * 1e6;
  };
  const least = await measure(floor.server, floor.client, { ...PACED, readers: "none" });
  add("floor: a body read, a constant answered", (least.serverCpuSeconds / least.chunks) * 1e6);
  const chunk = await perChunk("none");
  add("a chunk", chunk);
  add("an event, a stream a session", await perChunk("each") - chunk);
  add("an event, one stream for all", await perChunk("one") - chunk);
  add("a chunk and its answer, ?wait=true", await perChunk("wait"));
  const slow = sleeping.get(50)!;
  let isOver = false;
  const watched = watchHealth(new URL(slow.server.url), () => isOver);
  const watchedBare = watchHealth(new URL(floor.server.url), () => isOver);
  await slow.client.run({ readers: "one", encoding: "bits", ahead: 2 });
  isOver = true;
  health.push(...await watched);
  bareAnswers.push(...await watchedBare);
}
for (const { server, client } of [...sleeping.values(), gathering, floor]) {
  client.close();
  await server.stop();
}

const middle = (values: readonly number[]) => round(quantile(values, 0.5));
await keep(`server_cost.${runtime}`, {
  bench: "server_cost",
  setting: { sessions: SESSIONS, frame: 10, repeats: REPEATS, runtime: runtimeName },
  rows: [
    ...[...speeds].map(([name, { bare, served, client }]) => {
      const ratios = served.map((speed, i) => speed / bare[i]!);
      return {
        what: `steps of ${name}`,
        value: round(quantile(ratios, 0.5), 2),
        unit: "served ÷ bare",
        "p10–p90": `${round(quantile(ratios, 0.1), 2)}–${round(quantile(ratios, 0.9), 2)}`,
        "frames/s": middle(served),
        "client µs a chunk": middle(client),
      };
    }),
    ...[...costs].map(([name, values]) => ({
      what: name,
      value: middle(values),
      unit: "µs of processor time",
      "p10–p90": `${round(quantile(values, 0.1))}–${round(quantile(values, 0.9))}`,
    })),
    ...[0.5, 0.99].flatMap((q) => [
      {
        what: `/healthz during steps of 50 ms, p${q * 100}, n ${health.length}`,
        value: round(quantile(health, q)),
        unit: "ms",
      },
      {
        what: `floor: an answer of the bare server meanwhile, p${q * 100}`,
        value: round(quantile(bareAnswers, q)),
        unit: "ms",
      },
    ]),
  ],
});
