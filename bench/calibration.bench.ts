/**
 * Question: how well does the program that `ganglion calibrate` writes predict the latency of a server?
 * At 25, 50, 75 and 90 % of capacity the p50 and p99 that `serq run` gives, beside those that 8 paced
 * sessions measure from when a frame was due. A server whose steps sleep (its capacity is known: what
 * is tested is the model), and the digits on the CPU executor and on WebGPU, with frames of 200 steps
 * (here the noise of the machine is tested as well: client, server and executor share its cores).
 * Capacity: 8 sessions, each a frame in the time of a step of 8 rows. Calibrations and loads come in
 * turns, and each round is held against its own calibration.
 */
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";
import { endSessions, openSessions, pacedLatencies } from "./paced_client.ts";
import { keep, quantile, round, runtimeName } from "./support.ts";

const LOADS = [0.25, 0.5, 0.75, 0.9];
const PERCENTILES = [50, 90, 99];
const SESSIONS = 8;
const PIXELS = 64;
const CALIBRATE_SECONDS = 8;
const REPEATS = 3;
const MEASURE_MS = 5000;
const WARM_UP_MS = 1000;
/** As the program has it. */
const CHUNKS = 25;
const HORIZON_PERIODS = 2000;
const REAL_FRAME = 200;

const runtime = runtimeName.startsWith("bun") ? "bun" : "deno";
const digits = join(ROOT, "examples/digits/digits.nir");
const real = (device: string): Contender => ({
  name: device,
  frame: REAL_FRAME,
  program: "src/cli/main.ts",
  args: ["serve", digits, "--port", "0", "--device", device, "--slots", String(SESSIONS)]
    .concat("--frame", String(REAL_FRAME)),
});
const sleeping = { stepMs: 20, rowMs: 0.5, slots: SESSIONS, frame: 10 };

interface Contender {
  readonly name: string;
  readonly frame: number;
  readonly program: string;
  readonly args: readonly string[];
}

/** One load after one calibration. */
interface Round {
  /** Frames a second. */
  readonly capacity: number;
  /** Seconds. */
  readonly period: number;
  /** Milliseconds. */
  readonly latencies: readonly number[];
  /** Seconds: `p50`, … */
  readonly predicted: Readonly<Record<string, number>>;
}

const contenders: readonly Contender[] = [
  {
    name: "sleeping",
    frame: sleeping.frame,
    program: "tests/support/sleeping_server_child.ts",
    args: [JSON.stringify(sleeping)],
  },
  real("cpu"),
  real("webgpu"),
];

const { command, args: prefix, env } = runtimeCommand(runtime);
const folder = mkdtempSync(join(tmpdir(), "calibration-"));
const rows: Record<string, unknown>[] = [];
const only = process.argv.slice(2);
for (const contender of contenders) {
  if (only.length > 0 && !only.includes(contender.name)) continue;
  rows.push(...await bench(contender));
}
rmSync(folder, { recursive: true });
await keep(`${["calibration", ...only].join("_")}.${runtime}`, {
  bench: "calibration",
  setting: {
    model: "digits",
    sessions: SESSIONS,
    sleeping,
    frame: REAL_FRAME,
    chunks: CHUNKS,
    repeats: REPEATS,
    seconds: MEASURE_MS / 1000,
    calibrated_for: CALIBRATE_SECONDS,
    runtime: runtimeName,
    // Other work on the machine, which the prediction knows nothing of.
    load_average: loadavg().map((value) => round(value)),
  },
  rows,
});

async function bench({ name, frame, program, args }: Contender): Promise<typeof rows> {
  const child = spawn(command, [...prefix, join(ROOT, program), ...args], {
    env: env as Record<string, string>,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface(child.stdout).once("line", (line) => resolve(line.replace("listening ", "")));
    child.once("exit", () => reject(new Error("the server did not start")));
  });
  const found = LOADS.map((): Round[] => []);
  try {
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const file = join(folder, `${name}.sq`);
      const calibration = ganglion("ganglion", [
        ...["calibrate", url, "--json", "--seconds", String(CALIBRATE_SECONDS), "-o", file],
      ]) as { capacity: { frames_per_second: number } };
      const capacity = calibration.capacity.frames_per_second;
      const sessions = await openSessions(url, SESSIONS);
      for (const [i, load] of LOADS.entries()) {
        const period = SESSIONS / (load * capacity);
        const latencies = await pacedLatencies({
          url,
          sessions,
          frame: Float32Array.from({ length: frame * PIXELS }, () => Number(Math.random() < 0.1)),
          periodMs: 1000 * period,
          chunks: CHUNKS,
          warmUpMs: WARM_UP_MS,
          measureMs: MEASURE_MS,
        });
        const predicted = predict(file, load, period);
        found[i]!.push({ capacity, period, latencies, predicted });
      }
      await endSessions(url, sessions);
    }
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
  return LOADS.map((load, i) => rowOf(name, load, found[i]!));
}

/** Medians over the rounds, each of which was predicted by its own calibration. */
function rowOf(server: string, load: number, rounds: readonly Round[]): Record<string, unknown> {
  const median = (of: (each: Round) => number): number => quantile(rounds.map(of), 0.5);
  const row: Record<string, unknown> = {
    server,
    load: `${100 * load} %`,
    "frames/s": round(load * median(({ capacity }) => capacity)),
    "period ms": round(1000 * median(({ period }) => period)),
    chunks: rounds.reduce((sum, { latencies }) => sum + latencies.length, 0),
  };
  for (const percent of PERCENTILES) {
    const measured = median(({ latencies }) => quantile(latencies, percent / 100));
    const predicted = median((each) => 1000 * each.predicted[`p${percent}`]!);
    const error = 100 * (predicted / measured - 1);
    row[`p${percent} ms`] = round(measured);
    row[`p${percent} predicted`] = round(predicted);
    row[`p${percent} error`] = `${error < 0 ? "" : "+"}${error.toFixed(1)} %`;
  }
  return row;
}

/** Percentiles in seconds: `p50`, … */
function predict(file: string, load: number, period: number): Record<string, number> {
  const report = ganglion("serq", [
    ...["run", file, "--horizon", String(HORIZON_PERIODS * period)],
    ...["--warmup", String(50 * period), "--percentiles", PERCENTILES.join(","), "--json"],
    ...["--", "--load", String(load)],
  ]) as { observes: { latency: { percentiles: Record<string, number> } } };
  return report.observes.latency.percentiles;
}

/** What a command line of ours prints as JSON. */
function ganglion(name: "ganglion" | "serq", words: readonly string[]): unknown {
  const launcher = join(ROOT, "bin", `${name}.mjs`);
  const { stdout, status } = spawnSync("node", [launcher, "--runtime", runtime, ...words], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`${name} ${words.join(" ")} ended with ${status}`);
  return JSON.parse(stdout);
}
