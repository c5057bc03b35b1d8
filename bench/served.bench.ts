/**
 * Question: how much of the engine's speed is left when the same frames are served over HTTP? 64
 * sessions of examples/digits, frames of 10 steps, against bare steps of the same 64 frames in this
 * process. Interleaved. Chunks of one frame and of ten; answers that wait for their outputs, and event
 * streams in each encoding. Moves with: parsing, scheduling, encoding, the HTTP path. Server and client
 * are processes of their own; they and the driver's threads share the cores.
 */
import process from "node:process";
import { StreamServer } from "../src/mod.ts";
import {
  type Cost,
  LoadClient,
  type LoadCounts,
  type LoadRun,
  measure,
  runtime,
  ServerChild,
} from "./http_load.ts";
import { Random, spikes } from "./models.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const SESSIONS = 64;
const FRAME = 10;
const PIXELS = 64;
const DENSITY = 0.2;
const REPEATS = 5;
const SECONDS = 1;
const MODEL = new URL("../examples/digits/digits.nir", import.meta.url).pathname;

/** Chunks of one frame, one at a time a session; or of ten, of which two may be under way. */
type Path = Partial<LoadRun> & { readonly frames: number };
const PATHS: readonly Path[] = [
  { frames: 1, readers: "wait" },
  { frames: 1, readers: "one", encoding: "bits", ahead: 2 },
  { frames: 10, readers: "wait" },
  { frames: 10, readers: "wait", accept: "application/json" },
  { frames: 10, readers: "each", encoding: "json", ahead: 2 },
  { frames: 10, readers: "each", encoding: "base64", ahead: 2 },
  { frames: 10, readers: "each", encoding: "bits", ahead: 2 },
  { frames: 10, readers: "each", encoding: "events", ahead: 2 },
  { frames: 10, readers: "one", encoding: "bits", ahead: 2 },
];

const nameOf = ({ frames, readers, encoding, accept }: Path): string =>
  `${frames} a chunk, ${
    readers === "wait"
      ? `wait, ${accept === undefined ? "f32" : "json"}`
      : `${readers === "each" ? "64 streams" : "one stream"}, ${encoding}`
  }`;

const size = ["--slots", String(SESSIONS), "--frame", String(FRAME)];
const server = await ServerChild.serve([MODEL, ...size, ...process.argv.slice(2)]);
const client = new LoadClient();
await client.open(server, SESSIONS);
const device = process.argv.includes("cpu") ? "cpu" : "auto";
const bare = await StreamServer.create(MODEL, {
  slots: SESSIONS,
  frame: FRAME,
  sampleShape: [PIXELS],
  device,
});
const random = new Random(1);
const rows = Array.from({ length: SESSIONS }, () => ({
  session: bare.open(),
  frame: spikes(random, FRAME * PIXELS, DENSITY),
}));

/** Frames a second of steps with all rows. */
async function bareSpeed(): Promise<number> {
  const begin = performance.now();
  let steps = 0;
  for (; performance.now() - begin < SECONDS * 500; steps++) {
    for (const { session, frame } of rows) bare.submit(session, frame);
    await bare.run();
  }
  return (steps * SESSIONS) / ((performance.now() - begin) / 1000);
}

await bareSpeed();
const measured = PATHS.map(() => ({ bare: [] as number[], served: [] as Cost[] }));
for (let repeat = 0; repeat < REPEATS; repeat++) {
  for (const [i, path] of PATHS.entries()) {
    measured[i]!.bare.push(await bareSpeed());
    const steps = path.frames * FRAME;
    const load = { seconds: SECONDS, steps, sampleSize: PIXELS, density: DENSITY };
    measured[i]!.served.push(await measure(server, client, { ...load, ...path }));
  }
}
client.close();
await server.stop();
await bare.close();

/** Frames a second. An answer that waits has all frames of its chunk, an event has one. */
const speedOf = ({ frames, readers }: Path, { events, seconds }: LoadCounts): number =>
  (events * (readers === "wait" ? frames : 1)) / seconds;

await keep(`served.${runtime}`, {
  bench: "served",
  setting: {
    ...{ model: "digits", sessions: SESSIONS, frame: FRAME, repeats: REPEATS },
    ...{ runtime: runtimeName, device: bare.info.device },
  },
  rows: PATHS.map((path, i) => {
    const { bare, served } = measured[i]!;
    const speeds = served.map((each) => speedOf(path, each));
    const ratios = speeds.map((speed, k) => speed / bare[k]!);
    const ms = (of: "p50" | "p99") => round(quantile(served.map((each) => each[of]), 0.5));
    return {
      path: nameOf(path),
      "frames/s": round(quantile(speeds, 0.5)),
      "bare frames/s": round(quantile(bare, 0.5)),
      "served ÷ bare": round(quantile(ratios, 0.5), 2),
      "p10–p90": `${round(quantile(ratios, 0.1), 2)}–${round(quantile(ratios, 0.9), 2)}`,
      "client µs a frame": round(
        quantile(
          served.map((each, k) => (each.cpuSeconds / (speeds[k]! * each.seconds)) * 1e6),
          0.5,
        ),
      ),
      "bytes an output": Math.round(
        quantile(served.map((each) => each.outputBytes / each.events), 0.5),
      ),
      "p50 ms": ms("p50"),
      "p99 ms": ms("p99"),
    };
  }),
});
