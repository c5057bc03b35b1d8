/** `ganglion calibrate` against servers whose steps have a known length, a model, and what is no server. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import type { ServerProcess } from "../support/server_process.ts";
import { startServer } from "../support/server_process.ts";
import { startSleepingServer } from "../support/sleeping_server.ts";
import { DIGITS, ganglion, RUNTIMES, scratchFolder } from "./command_line.ts";

const STEP_MS = 20, ROW_MS = 4, SLOTS = 4;

interface Report {
  readonly model: { readonly id: string; readonly slots: number };
  readonly served: { readonly base: number; readonly row: number; readonly points: unknown[] };
  readonly bare: { readonly base: number; readonly points: unknown[] } | null;
  readonly own: { readonly p50: number; readonly count: number };
  readonly capacity: { readonly frames_per_second: number };
  readonly predictions: readonly { readonly load: number; readonly p50: number }[];
}

function serq(...args: string[]) {
  const { status, stdout } = spawnSync("node", [join(ROOT, "bin/serq.mjs"), ...args], {
    encoding: "utf8",
  });
  return { status, stdout };
}

describe("a server whose steps have a known length", () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startSleepingServer("bun", { stepMs: STEP_MS, rowMs: ROW_MS, slots: SLOTS });
  });
  afterAll(() => server.stop());

  test("its cost is found, and the program predicts its latency", async () => {
    using folder = scratchFolder();
    const file = folder.path("server.sq");
    const words = ["calibrate", server.url, "--seconds", "4", "--json", "-o", file];
    const { code, text, stderr } = await ganglion("bun", words);
    expect(stderr).toMatch(/^measuring digits on .*, 4 slots, frame 10: 4 s\n$/);
    expect(code).toBe(0);
    const report = JSON.parse(text) as Report;
    const { served, own, capacity, predictions } = report;
    expect(report.model).toMatchObject({ id: "digits", slots: SLOTS });
    expect(report.bare).toBeNull();
    // A step is never shorter than its sleep; how much longer, the machine decides.
    for (const rows of [1, SLOTS]) {
      const ms = 1000 * (served.base + served.row * rows);
      expect(ms).toBeGreaterThan(0.95 * (STEP_MS + ROW_MS * rows));
      expect(ms).toBeLessThan(2 * (STEP_MS + ROW_MS * rows));
    }
    expect(1000 * own.p50).toBeGreaterThan(STEP_MS + ROW_MS);
    expect(capacity.frames_per_second).toBeLessThan(
      1.05 * 1000 * SLOTS / (STEP_MS + SLOTS * ROW_MS),
    );
    const period = String(SLOTS / capacity.frames_per_second / 0.5);
    const run = ["run", file, "--horizon", "20", "--percentiles", "50,99", "--json", "--"];
    const { status, stdout } = serq(...run, "--period", period);
    expect(status).toBe(0);
    const { latency } = JSON.parse(stdout).observes;
    const half = predictions.find(({ load }) => load === 0.5)!;
    expect(latency.percentiles.p50 / half.p50).toBeCloseTo(1, 1);
    expect(latency.percentiles.p99).toBeGreaterThan(latency.percentiles.p50);
  }, 60_000);

  test("a report for people, or the program on stdout", async () => {
    using folder = scratchFolder();
    const file = folder.path("server.sq");
    const words = ["calibrate", server.url, "--seconds", "1"];
    const said = await ganglion("deno", [...words, "-o", file]);
    const program = await ganglion("deno", [...words, "--model", "digits"]);
    expect([said.code, program.code]).toEqual([0, 0]);
    expect(said.text).toMatch(/served, a frame a chunk: step = [\d.]+ \+ [\d.]+ x sessions ms\n/);
    expect(said.text).toMatch(/^capacity: \d+/m);
    expect(said.text).toMatch(/^90\.0 %( +[\d.]+){4} %$/m);
    expect(said.text).toContain(`serq run ${file} --horizon`);
    expect(readFileSync(file, "utf8")).toContain("fn main() {");
    expect(program.text).toMatch(/^\/\/ digits on reference [^]*\nfn main\(\) \{\n[^]*\}\n$/);
    expect(program.stderr).toContain("capacity: ");
  }, 60_000);

  test("a server that is in use is not measured", async () => {
    const open = () =>
      fetch(`${server.url}/v1/sessions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: "{}",
      });
    const ids = await Promise.all(Array.from({ length: SLOTS }, async () => {
      const session = await (await open()).json() as { id: string };
      return session.id;
    }));
    const { code, stderr } = await ganglion("bun", ["calibrate", server.url]);
    for (const id of ids) await fetch(`${server.url}/v1/sessions/${id}`, { method: "DELETE" });
    expect(code).toBe(1);
    expect(stderr).toContain("All 4 slots of digits are taken; calibrate a server that rests");
  });
});

test("a model is measured in a server of its own, and without one", async () => {
  for (const runtime of RUNTIMES) {
    const words = ["calibrate", "--model", DIGITS, "--device", "cpu", "--slots", "2"];
    const { code, text } = await ganglion(runtime, [...words, "--seconds", "2", "--json"]);
    expect([runtime, code]).toEqual([runtime, 0]);
    const { model, bare, served } = JSON.parse(text) as Report;
    expect(model).toMatchObject({
      id: "digits",
      slots: 2,
      executor: { kind: "cpu" },
    });
    expect([bare!.points.length, served.points.length]).toEqual([2, 2]);
    expect(bare!.base).toBeGreaterThanOrEqual(0);
  }
}, 120_000);

describe("what cannot be measured is said", () => {
  test("wrong usage ends with 2", async () => {
    for (
      const [words, message] of [
        [[], "Give the URL of a server, or --model FILE"],
        [["ftp://a"], "URL is the address of a server, e.g. http://127.0.0.1:8787, not ftp://a"],
        [[DIGITS], `A URL stands there; a model is given as --model ${DIGITS}`],
        [["http://127.0.0.1:1", "-o", "/no/where.sq"], "/no/where.sq cannot be written"],
        [["http://127.0.0.1:1", "http://127.0.0.1:2"], "There is one argument too many"],
        [["http://127.0.0.1:1", "--seconds", "0"], "--seconds takes"],
        [["http://127.0.0.1:1", "--density", "2"], "--density takes a number above 0"],
      ] as const
    ) {
      const { code, stderr, text } = await ganglion("bun", ["calibrate", ...words]);
      expect([code, text]).toEqual([2, ""]);
      expect(stderr).toContain(message);
    }
  });

  test("a server that is not there, is another's, or wants a key", async () => {
    using other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      development: false,
      reusePort: false,
      fetch: ({ url }) =>
        url.includes("/json/") ? Response.json({}) : new Response("<h1>hello</h1>"),
    });
    await using keyed = await startServer("bun", [
      DIGITS,
      "--device",
      "cpu",
      "--api-key",
      "k".repeat(32),
    ]);
    const at = `http://127.0.0.1:${other.port}`;
    for (
      const [url, message] of [
        ["http://127.0.0.1:1", "http://127.0.0.1:1 cannot be reached: "],
        [at, `${at} answers /v1/models with no JSON: that is no Ganglion server`],
        [`${at}/json/`, `answers /v1/models with no list of models`],
        [keyed.url, "give the server's key with --api-key"],
      ] as const
    ) {
      const { code, stderr, text } = await ganglion("bun", ["calibrate", url]);
      expect([code, text]).toEqual([1, ""]);
      expect(stderr).toContain(message);
    }
    const words = ["calibrate", keyed.url, "--api-key", "k".repeat(32), "--model", "digit"];
    const { code, stderr } = await ganglion("bun", words);
    expect(code).toBe(2);
    expect(stderr).toContain(`serves no model "digit"; it serves digits`);
  }, 60_000);

  test("a model that cannot be read", async () => {
    const { code, stderr } = await ganglion("bun", ["calibrate", "--model", "nowhere.nir"]);
    expect(code).toBe(1);
    expect(stderr).toContain("nowhere.nir does not exist");
  });
});
