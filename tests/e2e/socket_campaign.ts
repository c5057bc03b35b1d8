/**
 * What sockets.test.ts and fuzz.test.ts do in short, at length and against real servers on both runtimes:
 * clients that leave, readers cut and resumed for 2 minutes, random requests from the OpenAPI document.
 * Prints a Markdown page; `npm run campaign:sockets` writes it to docs/campaigns/sockets.md, and
 * `npm run campaign:sockets -- overload "random requests"` does only these.
 */
import process from "node:process";
import { readCommit } from "../../src/runtime/mod.ts";
import { type ApiDocument, fuzz } from "../support/api_fuzz.ts";
import { DIGITS_NIR, PIXELS } from "../support/digits.ts";
import { Random } from "../support/plans.ts";
import { residentMib, socketsOf } from "../support/raw_client.ts";
import { startServer } from "../support/server_process.ts";
import { overload } from "./overload.ts";
import { churn, cutAndResume, settled } from "./socket_runs.ts";

/** `GANGLION_CAMPAIGN_SHARE=0.01` tries the campaign itself. */
const SHARE = Number(process.env.GANGLION_CAMPAIGN_SHARE ?? 1);
const PARTS = 10;
const CPU = [DIGITS_NIR, "--device", "cpu"];

/** Ended sessions are forgotten soon, so that memory which grows is a leak. */
const FORGETFUL = ["--limit", "goneSeconds=1"];

type Run = (runtime: "deno" | "bun") => Promise<string>;

/** Requests by clients who leave; memory after each tenth, so that a slope would show. */
const leaving: Run = async (runtime) => {
  await using server = await startServer(runtime, [...CPU, "--slots", "50", ...FORGETFUL]);
  const requests = Math.round(100_000 * SHARE / PARTS);
  const memory: number[] = [];
  const statuses: Record<string, number> = {};
  const socketsBefore = socketsOf(server.pid);
  for (let part = 0; part < PARTS; part++) {
    const done = await churn(server.url, { seed: part, requests, clients: 200 });
    for (const [status, count] of Object.entries(done.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count;
    }
    await settled(server.url, 50);
    memory.push(Math.round(residentMib(server.pid)));
  }
  const sockets = socketsOf(server.pid) - socketsBefore;
  await stopped(server);
  const half = PARTS / 2;
  const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  const slope = (mean(memory.slice(half)) - mean(memory.slice(0, half))) / (requests * half);
  return `${requests * PARTS} requests by 200 clients: ${
    counts(statuses)
  }; afterwards all slots free, ` +
    `no reader, no stream; ${sockets} sockets more than at start (kept alive); resident MiB ` +
    `${memory.join(" ")}, ${(slope * 1000).toFixed(2)} MiB a 1000 requests between the halves`;
};

const resuming: Run = async (runtime) => {
  await using server = await startServer(runtime, [...CPU, "--slots", "64"]);
  const ms = 120_000 * SHARE;
  const { events, cuts, steps } = await cutAndResume(server, { seed: 1, sessions: 64, ms });
  await settled(server.url, 64);
  await stopped(server);
  return `64 sessions for ${ms / 1000} s: ${events} events, ${cuts} cuts, ${steps} steps; each ` +
    "session's events are every step exactly once, its outputs the twin's bytes";
};

const fuzzing: Run = async (runtime) => {
  const args = ["--slots", "8", "--limit", "waitSecondsMax=1"];
  await using server = await startServer(runtime, [...CPU, ...args]);
  const { url } = server;
  const document = await (await fetch(`${url}/openapi.json`)).json() as ApiDocument;
  const report = await fuzz({
    document,
    random: new Random(runtime.length),
    requests: Math.round(30_000 * SHARE),
    stepBytes: 4 * PIXELS,
    models: ["digits"],
    atOnce: 16,
    send: (path, init) => fetch(url + path, { ...init, signal: AbortSignal.timeout(30_000) }),
  });
  if (report.faults.length > 0) throw new Error(report.faults.slice(0, 20).join("\n"));
  await stopped(server);
  return `${report.operations} routes: ${
    counts(report.statuses)
  }; nothing undocumented, no 5xx but 501 ` +
    "and 503";
};

const overloading: Run = async (runtime) => {
  const found = await overload(runtime, 120_000 * SHARE);
  const { accepted, refused, health, refusedInServerMs, boundMs, toldS, trueS, openRefusals } =
    found;
  const of = ({ count, p50, p99 }: typeof accepted) =>
    `${count}, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`;
  const text =
    `steps of 40 ms, 8 sessions at three times their capacity: accepted ${of(accepted)} ` +
    `(bound ${boundMs} ms and the way there), refused ${of(refused)}, 99 of 100 within ` +
    `${refusedInServerMs} ms in the server; /healthz at the same moments ${
      of(health)
    }; openings refused ` +
    `${openRefusals}, median Retry-After ${toldS} s, true ${trueS.toFixed(2)} s`;
  const isTrue = toldS / trueS <= 2 && toldS / trueS >= 0.5;
  // The way there and back takes what it takes a request that costs nothing.
  const acceptedMsMax = 1.5 * boundMs + health.p99;
  if (accepted.p99 > acceptedMsMax || refusedInServerMs > 5 || !isTrue) throw new Error(text);
  return text;
};

async function stopped(server: { stop(): Promise<number>; talk(): string }): Promise<void> {
  const code = await server.stop();
  if (code !== 0) throw new Error(`exit ${code}: ${server.talk()}`);
  if (/^request /m.test(server.talk())) throw new Error(server.talk());
}

function counts(statuses: Readonly<Record<string, number>>): string {
  return Object.entries(statuses).map(([status, count]) => `${status} × ${count}`).join(", ");
}

const RUNS: readonly [string, Run][] = [
  ["overload", overloading],
  ["clients that leave", leaving],
  ["cut and resumed", resuming],
  ["random requests", fuzzing],
];

/** Names of runs as arguments leave the others out. */
const wanted = process.argv.slice(2);
const lines: string[] = [];
let failures = 0;
for (const [name, run] of RUNS) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  for (const runtime of ["deno", "bun"] as const) {
    const begin = performance.now();
    let verdict: string;
    try {
      verdict = await run(runtime);
    } catch (error) {
      failures++;
      verdict = `FAILED: ${error instanceof Error ? error.message : String(error)}`;
    }
    const seconds = ((performance.now() - begin) / 1000).toFixed(0);
    lines.push(`| ${name} | ${runtime} | ${verdict.replaceAll("|", "\\|")} | ${seconds} |`);
    process.stderr.write(`${lines.at(-1)}\n`);
  }
}
console.log(`# Sockets

${
  new Date().toISOString().slice(0, 10)
}, commit ${await readCommit()}, \`npm run campaign:sockets\`:
${lines.length - failures} of ${lines.length} runs as they should be.

| run | runtime | what came | seconds |
|---|---|---|---|
${lines.join("\n")}`);
process.exit(failures === 0 ? 0 : 1);
