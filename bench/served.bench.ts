/**
 * Question: how much of the engine's speed is left when the same frames are served over HTTP? 64
 * sessions of examples/digits, frames of 10 steps: every round posts one chunk a session as f32 and
 * awaits its outputs as f32 (`?wait=true`), against one bare `step` of the same 64 frames. Interleaved.
 * Moves with: parsing, scheduling, encoding, the HTTP path. The server is a process of its own; it,
 * the driver's threads and this client share the cores.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { ROOT } from "../bin/launch.mjs";
import { StreamServer } from "../src/mod.ts";
import { Random, spikes } from "./models.ts";
import { interleave, keep, round, runtimeName } from "./support.ts";

const SESSIONS = 64;
const FRAME = 10;
const PIXELS = 64;
const REPEATS = 31;
const MODEL = new URL("../examples/digits/digits.nir", import.meta.url).pathname;

const runtime = runtimeName.startsWith("bun") ? "bun" : "deno";
const args = ["serve", MODEL, "--port", "0", "--slots", String(SESSIONS), "--frame", String(FRAME)];
const child = spawn("node", [join(ROOT, "bin/ganglion.mjs"), "--runtime", runtime, ...args], {
  stdio: ["ignore", "pipe", "ignore"],
});
const url = await new Promise<string>((resolve, reject) => {
  createInterface(child.stdout).once("line", (line) => resolve(line.replace("listening ", "")));
  child.once("exit", () => reject(new Error("the server did not start")));
});

const sessions: string[] = [];
for (let i = 0; i < SESSIONS; i++) {
  const response = await fetch(`${url}/v1/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  sessions.push((await response.json() as { id: string }).id);
}
const random = new Random(1);
const frames = sessions.map(() => spikes(random, FRAME * PIXELS, 0.2));

async function serve(index: number): Promise<void> {
  const response = await fetch(`${url}/v1/sessions/${sessions[index]}/chunks?wait=true`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream", accept: "application/octet-stream" },
    body: frames[index]!.slice(),
  });
  const bytes = await response.arrayBuffer();
  if (response.status !== 200 || bytes.byteLength !== FRAME * 10 * 4) {
    throw new Error(`status ${response.status}, ${bytes.byteLength} bytes`);
  }
}

const bare = await StreamServer.create(MODEL, {
  slots: SESSIONS,
  frame: FRAME,
  sampleShape: [PIXELS],
});
const open = frames.map(() => bare.open());
const measured = await interleave([
  {
    name: "bare",
    run: async () => {
      for (const [i, session] of open.entries()) bare.submit(session, frames[i]!);
      await bare.run();
    },
  },
  { name: "served", run: async () => void await Promise.all(sessions.map((_, i) => serve(i))) },
], REPEATS);
const [bareMs, servedMs] = measured.map(({ median }) => median) as [number, number];
await keep(`served.${runtime}`, {
  bench: "served",
  setting: {
    model: "digits",
    sessions: SESSIONS,
    frame: FRAME,
    repeats: REPEATS,
    runtime: runtimeName,
    device: bare.info.device,
  },
  rows: measured.map(({ name, median, p10, p90 }) => ({
    path: name,
    "ms a round": round(median),
    "p10–p90": `${round(p10)}–${round(p90)}`,
    "frames/s": round((SESSIONS / median) * 1000),
    "served ÷ bare": name === "served" ? round(bareMs / servedMs, 2) : 1,
  })),
});
await bare.close();
child.kill("SIGTERM");
await new Promise((resolve) => child.once("exit", resolve));
