/**
 * Question: how much of the engine's speed is left when the same frames are served over HTTP? 64
 * sessions, frames of 10 steps, against bare steps of the same 64 frames in this process. Interleaved.
 * Chunks of one frame and of ten, as f32 or bits; answers that wait for their outputs, and event streams in
 * each encoding. `--model digits` (a frame is a few microseconds of work) or `mlp` (700-256-128-20).
 * `--device`. Moves with: parsing, scheduling, encoding, the HTTP path. Server and client are processes of
 * their own; they and the driver's threads share the cores.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type DeviceChoice, loadModel, StreamServer, writeNirBytes } from "../src/mod.ts";
import {
  type Cost,
  LoadClient,
  type LoadCounts,
  type LoadRun,
  measure,
  runtime,
  ServerChild,
} from "./http_load.ts";
import { DT, MLP, mlpGraph, Random, spikes } from "./models.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const SESSIONS = 64;
const FRAME = 10;
const REPEATS = 15;
const SECONDS = 1;

/** Chunks of one frame, one at a time a session; or of ten, of which two may be under way. */
type Path = Partial<LoadRun> & { readonly frames: number };
const SMALL: readonly Path[] = [
  { frames: 1, readers: "wait" },
  { frames: 1, readers: "one", encoding: "bits", ahead: 2 },
];
const LARGE: readonly Path[] = [
  { frames: 10, readers: "wait" },
  { frames: 10, readers: "wait", input: "bits" },
  { frames: 10, readers: "one", encoding: "base64", ahead: 2 },
  { frames: 10, readers: "one", encoding: "base64", input: "bits", ahead: 2 },
  { frames: 10, readers: "each", encoding: "base64", input: "bits", ahead: 2 },
  { frames: 10, readers: "each", encoding: "base64", ahead: 2 },
  { frames: 10, readers: "each", encoding: "json", ahead: 2 },
];

interface Served {
  readonly path: string;
  readonly density: number;
  readonly paths: readonly Path[];
}

/** The models by name, as files that a server takes. */
const SERVED: Readonly<Record<string, (folder: string) => Promise<Served>>> = {
  digits: () => {
    const path = new URL("../examples/digits/digits.nir", import.meta.url).pathname;
    const spiking: Path[] = ["bits", "events"].flatMap((encoding) => [
      { frames: 10, readers: "one", encoding, input: "bits", ahead: 2 },
      { frames: 10, readers: "each", encoding, input: "bits", ahead: 2 },
    ]);
    return Promise.resolve({ path, density: 0.2, paths: [...SMALL, ...LARGE, ...spiking] });
  },
  mlp: async (folder) => {
    const path = join(folder, "mlp.nir");
    await writeFile(path, await writeNirBytes(mlpGraph(MLP), { dt: DT }));
    return { path, density: 0.05, paths: LARGE };
  },
};

const nameOf = ({ frames, input = "f32", readers, encoding }: Path): string =>
  `${frames} a chunk as ${input}, ${
    readers === "wait" ? "wait" : `${readers === "each" ? "64 streams" : "one stream"}, ${encoding}`
  }`;

const { values: given } = parseArgs({
  options: {
    model: { type: "string", default: "digits" },
    device: { type: "string", default: "auto" },
  },
});
const device = given.device as DeviceChoice;
const folder = await mkdtemp(join(tmpdir(), "ganglion-served-"));
const { path: model, density, paths } = await SERVED[given.model]!(folder);
const size = ["--slots", String(SESSIONS), "--frame", String(FRAME), "--device", device];
const server = await ServerChild.serve([model, ...size]);
const client = new LoadClient();
await client.open(server, SESSIONS);
const { sampleShape, sampleSize } = await loadModel(model);
const bare = await StreamServer.create(model, {
  slots: SESSIONS,
  frame: FRAME,
  sampleShape,
  device,
});
const random = new Random(1);
const rows = Array.from({ length: SESSIONS }, () => ({
  session: bare.open(),
  frame: spikes(random, FRAME * sampleSize, density),
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
const measured = paths.map(() => ({ bare: [] as number[], served: [] as Cost[] }));
for (let repeat = 0; repeat < REPEATS; repeat++) {
  for (const [i, path] of paths.entries()) {
    measured[i]!.bare.push(await bareSpeed());
    const steps = path.frames * FRAME;
    const load = { seconds: SECONDS, steps, sampleSize, density };
    measured[i]!.served.push(await measure(server, client, { ...load, ...path }));
  }
  console.log(`round ${repeat + 1} of ${REPEATS}`);
}
client.close();
await server.stop();
await bare.close();
await rm(folder, { recursive: true });

/** Frames a second. An answer that waits has all frames of its chunk, an event has one. */
const speedOf = ({ frames, readers }: Path, { events, seconds }: LoadCounts): number =>
  (events * (readers === "wait" ? frames : 1)) / seconds;

await keep(`served.${runtime}.${given.model}.${bare.info.kind}`, {
  bench: "served",
  setting: {
    ...{ model: given.model, sessions: SESSIONS, frame: FRAME, repeats: REPEATS },
    ...{ runtime: runtimeName, device: bare.info.device },
  },
  rows: paths.map((path, i) => {
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
      "server µs a frame": round(
        quantile(
          served.map((each, k) => (each.serverCpuSeconds / (speeds[k]! * each.seconds)) * 1e6),
          0.5,
        ),
      ),
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
