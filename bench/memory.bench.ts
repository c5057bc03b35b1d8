/**
 * Question: does memory grow with the frames served? `path=bare` steps a StreamServer of 8 sessions;
 * `path=served` posts the same frames as bits to the whole server in this process and awaits their
 * outputs. Reported are the slopes of the heap after a forced collection a frame (on Deno from the first
 * fortieth of the run to its end) and of the resident memory a minute, over the last half of the run. The
 * latter is the median of the slopes between all pairs of samples: V8 gives back a part of its young
 * generation now and then and takes it again, 20 MB at a time, which least squares would make a slope of.
 * Goals: below 1 KB a frame over 100,000 on Bun, below 1 MB a minute over 1,000,000 on Deno. With WebGPU
 * on Deno the executor forces collections itself; what they take is reported where it shares this thread,
 * which is when the path is bare. `frames=N`, `device=cpu|webgpu|auto`.
 */
import process from "node:process";
import { makeLimits } from "../src/base/limits.ts";
import { type DeviceChoice, StreamServer } from "../src/mod.ts";
import { createServer } from "../src/serve.ts";
import { Random, spikes } from "./models.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const SESSIONS = 8;
const FRAME = 10;
const PIXELS = 64;
const SAMPLES = 40;
const MODEL = new URL("../examples/digits/digits.nir", import.meta.url).pathname;

const given = Object.fromEntries(process.argv.slice(2).map((word) => word.split("=", 2)));
const frames = Number(given["frames"] ?? 100_000);
const path = given["path"] ?? "bare";
const device = (given["device"] ?? "cpu") as DeviceChoice;

interface Sample {
  readonly frames: number;
  readonly minutes: number;
  readonly heap: number;
  readonly resident: number;
}

/** Runs one frame of every session. */
type Round = () => Promise<void>;

async function bare(): Promise<{ round: Round; close: () => Promise<void> }> {
  const server = await StreamServer.create(MODEL, {
    slots: SESSIONS,
    frame: FRAME,
    sampleShape: [PIXELS],
    device,
  });
  const sessions = Array.from({ length: SESSIONS }, () => server.open());
  const random = new Random(1);
  const inputs = sessions.map(() => spikes(random, FRAME * PIXELS, 0.2));
  return {
    round: async () => {
      const futures = sessions.map((session, i) => server.submit(session, inputs[i]!));
      await server.run();
      await Promise.all(futures.map((future) => future.result()));
    },
    close: () => server.close(),
  };
}

async function served(): Promise<{ round: Round; close: () => Promise<void> }> {
  // Nobody reads the rings of outputs; small ones are full at once.
  const limits = makeLimits({ slots: SESSIONS, frame: FRAME, ringBytesMax: 64 << 10 });
  const server = await createServer({ models: [MODEL], device, limits, version: "bench" });
  const ask = (to: string, type: string, body: BodyInit) =>
    server.fetch(
      new Request(`http://localhost/v1/sessions${to}`, {
        method: "POST",
        headers: { "content-type": type, accept: "application/octet-stream" },
        body,
      }),
      {},
    );
  const ids = await Promise.all(Array.from({ length: SESSIONS }, async () => {
    const opened = await ask("", "application/json", "{}");
    return (await opened.json() as { id: string }).id;
  }));
  const random = new Random(1);
  const bodies = ids.map(() => {
    const words = FRAME * PIXELS / 32;
    return Uint32Array.from({ length: words }, () => (random.next() * 2 ** 32) >>> 0);
  });
  return {
    round: async () => {
      await Promise.all(ids.map(async (id, i) => {
        const answer = await ask(
          `/${id}/chunks?wait=true`,
          "application/vnd.ganglion.bits",
          bodies[i]!,
        );
        if (answer.status !== 200) throw new Error(await answer.text());
        await answer.arrayBuffer();
      }));
    },
    close: () => server.close(),
  };
}

const { Bun } = globalThis as { Bun?: { gc(force: boolean): void } };
const scope = globalThis as { gc?: (options: { type: "major" }) => void };
const { gc } = scope;

function collect(): void {
  if (Bun) Bun.gc(true);
  else gc?.({ type: "major" });
}

/** Milliseconds of each collection that the executor forces in this thread, and what was resident after the last. */
const collections: number[] = [];
let residentAfter: number | null = null;
if (gc) {
  scope.gc = (options) => {
    const begin = performance.now();
    gc(options);
    collections.push(performance.now() - begin);
    residentAfter = process.memoryUsage().rss;
  };
}

/** Slope of y over x by least squares. */
function slope(points: readonly (readonly [number, number])[]): number {
  const mean = (k: 0 | 1) => points.reduce((sum, point) => sum + point[k], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const over = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0);
  return over / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
}

/** Median of the slopes between all pairs of points: a few that lie elsewhere do not move it. */
function medianSlope(points: readonly (readonly [number, number])[]): number {
  const slopes = points.flatMap(([x, y], i) =>
    points.slice(i + 1).map(([toX, toY]) => (toY - y) / (toX - x))
  );
  return quantile(slopes, 0.5);
}

/** What the collections took, where there were some. */
function collectionCost(): Record<string, number> {
  if (collections.length === 0) return {};
  const sum = collections.reduce((a, b) => a + b, 0);
  return {
    collections: collections.length,
    "ms a collection": round(quantile(collections, 0.5)),
    "ms the longest": round(Math.max(...collections)),
    "µs a step": round(1000 * sum * SESSIONS / frames),
  };
}

const { round: run, close } = await (path === "served" ? served() : bare());
const samples: Sample[] = [];
collections.length = 0;
const begin = performance.now();
for (let done = 0; done < frames;) {
  const until = Math.min(frames, done + Math.ceil(frames / SAMPLES));
  for (; done < until; done += SESSIONS) await run();
  const minutes = (performance.now() - begin) / 60_000;
  // Between two forced collections it grows by what they free: the lower end of that saw is what counts.
  const resident = residentAfter ?? process.memoryUsage().rss;
  // On Deno only at both ends: in between, a collection would free what is to be seen growing.
  if (Bun || samples.length === 0 || done >= frames) collect();
  samples.push({ frames: done, minutes, heap: process.memoryUsage().heapUsed, resident });
}
await close();
const half = samples.slice(samples.length / 2);
const last = half.at(-1)!;
await keep(`memory.${path}.${device}.${runtimeName.split(" ")[0]}`, {
  bench: "memory",
  setting: {
    model: "digits",
    sessions: SESSIONS,
    frame: FRAME,
    path,
    device,
    runtime: runtimeName,
  },
  rows: [{
    frames: last.frames,
    minutes: round(last.minutes),
    "heap bytes a frame": round(
      slope((Bun ? half : [samples[0]!, last]).map(({ frames, heap }) => [frames, heap])),
    ),
    "resident MB a minute": round(
      medianSlope(half.map(({ minutes, resident }) => [minutes, resident / 2 ** 20])),
    ),
    "heap MB at the end": round(last.heap / 2 ** 20),
    "resident MB half-way": round(half[0]!.resident / 2 ** 20),
    "resident MB at the end": round(last.resident / 2 ** 20),
    ...collectionCost(),
  }],
});
