/**
 * Question: how many frames a second does a StreamServer run beside peers in Python with the same model
 * and the same input: sparx's StreamServer (JAX) and a loop over snnTorch? 700-256-128-20, frames of 10
 * steps, 5 % of the inputs on, 1, 8 and 64 sessions. PEERS_PYTHON names a Python with the packages of
 * bench/peers/requirements.txt; without it our side runs alone. A repeat is the whole recording, every
 * round of it submitted, run and read before the next. The peers' outputs are compared with ours before
 * anything is timed. Physical limit: a dense batch multiplies everything, ours adds what is on.
 */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Plan } from "../src/model/mod.ts";
import { parseNpy, StreamServer, type StreamServerOptions } from "../src/mod.ts";
import { runtime } from "../src/runtime/mod.ts";
import { FRAME } from "./grid.ts";
import { peerFiles, peerFrames, peerPlan, ROUNDS, SESSIONS_MAX } from "./peers/export.ts";
import { PeerProcess } from "./peers/peer_process.ts";
import { interleave, keep, quantile, round, runtimeName } from "./support.ts";

const SESSIONS = [1, 8, SESSIONS_MAX];
const REPEATS = 21;
/** Between two contenders, so that threads of the last one that still spin have gone to sleep. */
const PAUSE_MS = 20;
/** Outputs of a frame agree when none is further off; membranes here are of size 1 to 10. */
const TOLERANCE = 1e-4;
/** Share of the frames of the recording that must agree. */
const AGREEING_MIN = 0.99;

const PEERS: Readonly<Record<string, string>> = {
  "sparx StreamServer": "sparx_server.py",
  "snnTorch loop": "snntorch_loop.py",
};

const OURS: Readonly<Record<string, Partial<StreamServerOptions>>> = {
  "ganglion, webgpu": { device: "webgpu" },
  "ganglion, cpu": { device: "cpu" },
  "ganglion, cpu, 2 threads": { device: "cpu", cpuThreads: 2 },
};

interface Repeat {
  readonly ms: number;
  /** Of the processor, all threads of the process. */
  readonly cpuMs: number;
}

/** Runs the recording on `sessions` new sessions; every call goes on where the last one ended. */
function player(server: StreamServer, frames: Float32Array, sessions: number) {
  const opened = Array.from({ length: sessions }, () => server.open());
  const values = FRAME * server.plan.sampleSize;
  return async (): Promise<Float32Array[]> => {
    const outputs: Float32Array[] = [];
    for (let k = 0; k < ROUNDS; k++) {
      const futures = opened.map((session, s) => {
        const at = (k * SESSIONS_MAX + s) * values;
        return server.submit(session, frames.subarray(at, at + values));
      });
      await server.run();
      for (const future of futures) outputs.push((await future.result()).data);
    }
    return outputs;
  };
}

/** How far a peer's outputs, frame by frame, are from ours; throws where they are another model's. */
function agreement(name: string, ours: readonly Float32Array[], theirs: Float32Array) {
  const worst = ours.map((frame, k) => {
    const other = theirs.subarray(k * frame.length, (k + 1) * frame.length);
    return frame.reduce((most, x, i) => Math.max(most, Math.abs(x - other[i]!)), 0);
  });
  const agreeing = worst.filter((difference) => difference <= TOLERANCE).length / worst.length;
  if (!(agreeing >= AGREEING_MIN)) {
    throw new Error(`${name}: ${agreeing * 100} % of its frames agree with ours`);
  }
  return { agreeing: round(agreeing, 5), worst: round(quantile(worst, 1)) };
}

function sameBytes(name: string, a: readonly Float32Array[], b: readonly Float32Array[]): void {
  const same = (x: Float32Array, y: Float32Array) =>
    Buffer.from(x.buffer, x.byteOffset, x.byteLength)
      .equals(Buffer.from(y.buffer, y.byteOffset, y.byteLength));
  if (!a.every((frame, k) => same(frame, b[k]!))) throw new Error(`${name}: other bytes`);
}

async function startPeers(folder: string): Promise<PeerProcess[]> {
  const python = process.env["PEERS_PYTHON"];
  if (python === undefined) {
    console.log(
      "Our side only: PEERS_PYTHON names no Python with the peers. To have one: " +
        "python3.12 -m venv /tmp/peers && /tmp/peers/bin/pip install -r bench/peers/requirements.txt, " +
        "then PEERS_PYTHON=/tmp/peers/bin/python npm run bench -- peers",
    );
    return [];
  }
  const started: PeerProcess[] = [];
  for (const [name, script] of Object.entries(PEERS)) {
    try {
      started.push(await PeerProcess.start(name, python, script, folder));
    } catch (error) {
      console.log(`Without ${name}: ${(error as Error).message}`);
    }
  }
  return started;
}

const rows: Record<string, unknown>[] = [];
const agreements: Record<string, unknown> = {};
let adapter = "none";

async function measure(
  plan: Plan,
  frames: Float32Array,
  peers: readonly PeerProcess[],
  sessions: number,
  folder: string,
): Promise<void> {
  const servers: StreamServer[] = [];
  const repeats = new Map<string, () => Promise<Repeat>>();
  let reference: Float32Array[] | null = null;
  for (const [name, options] of Object.entries(OURS)) {
    const server = await StreamServer.create(plan, {
      slots: sessions,
      frame: FRAME,
      sampleShape: plan.sampleShape,
      ...options,
    });
    servers.push(server);
    if (options.device === "webgpu") adapter = server.info.device;
    const play = player(server, frames, sessions);
    const outputs = await play();
    reference ??= outputs;
    sameBytes(name, outputs, reference);
    repeats.set(name, async () => {
      const [begin, cpu] = [performance.now(), process.cpuUsage()];
      await play();
      const ms = performance.now() - begin;
      const { user, system } = process.cpuUsage(cpu);
      return { ms, cpuMs: (user + system) / 1e3 };
    });
  }
  for (const peer of peers) {
    await peer.ask({ do: "open", sessions });
    const file = join(folder, "outputs.npy");
    await peer.ask({ do: "check", file });
    const { values } = parseNpy(await readFile(file));
    agreements[`${peer.name}, ${sessions}`] = agreement(peer.name, reference!, values);
    repeats.set(peer.name, () => peer.ask<Repeat>({ do: "repeat" }));
  }
  const kept = new Map([...repeats.keys()].map((name) => [name, [] as Repeat[]]));
  const measured = await interleave(
    [...repeats].map(([name, repeat]) => ({
      name,
      run: async () => {
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        kept.get(name)!.push(await repeat());
      },
      took: () => kept.get(name)!.at(-1)!.ms,
    })),
    REPEATS,
  );
  const count = ROUNDS * sessions;
  const sparx = measured.find(({ name }) => name === "sparx StreamServer");
  for (const { name, median, p10, p90 } of measured) {
    const cpuMs = kept.get(name)!.slice(-REPEATS).map((each) => each.cpuMs);
    rows.push({
      sessions,
      contender: name,
      "frames/s": round((count / median) * 1000),
      "p10–p90": `${round((count / p90) * 1000)}–${round((count / p10) * 1000)}`,
      "÷ sparx": sparx === undefined ? null : round(sparx.median / median),
      "processor µs a frame": round((quantile(cpuMs, 0.5) / count) * 1000),
    });
  }
  for (const server of servers) await server.close();
}

const folder = await mkdtemp(join(tmpdir(), "ganglion-peers-"));
const plan = peerPlan();
const frames = peerFrames();
for (const [name, bytes] of Object.entries(await peerFiles(frames))) {
  await writeFile(join(folder, name), bytes);
}
const peers = await startPeers(folder);
try {
  for (const sessions of SESSIONS) await measure(plan, frames, peers, sessions, folder);
} finally {
  for (const peer of peers) await peer.close();
  await rm(folder, { recursive: true });
}
console.log("agreement with our outputs:", agreements);
await keep(`peers.${runtime.name}`, {
  bench: "peers",
  setting: {
    model: plan.name,
    frame: FRAME,
    "inputs on": 0.05,
    rounds: ROUNDS,
    repeats: REPEATS,
    runtime: runtimeName,
    adapter,
    peers: Object.fromEntries(peers.map(({ name, facts }) => [name, facts])),
    tolerance: TOLERANCE,
    agreement: agreements,
  },
  rows,
}, { kept: peers.length === Object.keys(PEERS).length });
process.exit(0);
