/** `ganglion load` as a process: tables, files, Ctrl-C, and every way in which it cannot work. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { writeNpy } from "../../src/base/npy.ts";
import type { CapacityResult, LoadResult } from "../../src/load/mod.ts";
import type { ServerProcess } from "../support/server_process.ts";
import { startSleepingServer } from "../support/sleeping_server.ts";
import { ganglion, recording, RUNTIMES, scratchFolder, start } from "./command_line.ts";

const STEP_MS = 30;
const SLOTS = 3;
let server: ServerProcess;
beforeAll(async () => {
  server = await startSleepingServer("deno", { stepMs: STEP_MS, slots: SLOTS });
});
afterAll(() => server.kill());

/** So slow that a busy machine does not matter. */
const CALM = ["--period", "300", "--seconds", "3"];
type Printed<T> = T & { readonly problems: readonly string[] };

const sessionsOpen = async (): Promise<number> => {
  const response = await fetch(`${server.url}/v1/sessions`);
  return ((await response.json()) as { sessions: unknown[] }).sessions.length;
};

describe.each(RUNTIMES)("on %s", (runtime) => {
  test("measures, says how, and writes JSON and a page", async () => {
    using folder = scratchFolder();
    const [json, html] = [folder.path("load.json"), folder.path("load.html")];
    const args = ["load", server.url, "--sessions", "2", ...CALM, "-o", json, "--html", html];
    const { code, text, stderr } = await ganglion(runtime, args);
    const result = JSON.parse(readFileSync(json, "utf8")) as Printed<LoadResult>;
    expect(stderr).toBe("");
    expect(code).toBe(result.problems.length === 0 ? 0 : 1);
    expect(result.latencyMs.p50).toBeGreaterThan(STEP_MS - 1);
    expect(result.server!.chunkMs.mean).toBeGreaterThan(STEP_MS - 1);
    expect(result.client.cores).toBeGreaterThan(0);
    expect(text).toContain(`"digits" at ${server.url}`);
    expect(text).toMatch(/^latency +\d+ /m);
    expect(text).toMatch(/^the server's +\d+ /m);
    const page = readFileSync(html, "utf8");
    expect(page).toContain("Load on &quot;digits&quot;");
    expect(page.match(/<svg /g)).toHaveLength(2);
    expect(page).not.toMatch(/(src|href)=|<script|NaN|undefined/);
    expect(await sessionsOpen()).toBe(0);
  }, 60_000);
});

test("--find-capacity ends at the slots that there are", async () => {
  const args = ["load", server.url, "--find-capacity", ...CALM, "--target", "2000", "--json"];
  const { text, stderr } = await ganglion("deno", args);
  const { capacity } = JSON.parse(text) as Printed<CapacityResult>;
  expect(capacity).toMatchObject({ sessions: SLOTS, atLimit: true, interrupted: false });
  expect(stderr).toMatch(/^sessions +chunks\/s .*\n +3 +\d+ /);
}, 60_000);

test("Ctrl-C gives the result so far, ends the sessions, and exits as shells expect", async () => {
  const child = start("deno", [
    "load",
    server.url,
    "--sessions",
    "2",
    ...CALM,
    "--seconds",
    "60",
    "--json",
  ]);
  while (await sessionsOpen() < 2) await Bun.sleep(20);
  await Bun.sleep(3000);
  child.kill("SIGINT");
  const [text, talk, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const result = JSON.parse(text) as LoadResult;
  expect([code, result.ending]).toEqual([130, "interrupted"]);
  expect(result.latencyMs.count).toBeGreaterThan(2);
  expect(talk).toContain("stopping");
  expect(await sessionsOpen()).toBe(0);
}, 60_000);

test("a recording is sent in place of random spikes", async () => {
  const args = ["load", server.url, "--sessions", "1", ...CALM, "--input", recording(7), "--json"];
  const { text, stderr } = await ganglion("bun", args);
  expect([stderr, (JSON.parse(text) as LoadResult).unanswered]).toEqual(["", 0]);
}, 60_000);

describe("what cannot work is said, with the exit code", () => {
  const ended = async (args: readonly string[]) => {
    const { code, text, stderr } = await ganglion("deno", ["load", ...args]);
    return { code, text, stderr };
  };

  test("wrong usage", async () => {
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[], "URL must be given"],
      [["not a url"], "URL is the address of a server"],
      [["ftp://127.0.0.1/"], "URL is the address of a server"],
      [[server.url, "--period", "0"], "--period takes a number above 0"],
      [[server.url, "--sessions", "many"], "--sessions takes a whole number"],
      [[server.url, "--density", "2"], "--density takes a number above 0, at most 1"],
      [[server.url, "--find-capcity"], "did you mean --find-capacity?"],
      [[server.url, "-o", "/nowhere/x.json"], "the folder /nowhere does not exist"],
      [[server.url, "--model", "other"], 'serves no model "other"; it serves digits'],
    ];
    for (const [args, said] of cases) {
      const { code, stderr } = await ended(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
    }
  });

  test("a server that is not there, or none of ours, or too small", async () => {
    const other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      development: false,
      reusePort: false,
      fetch: () => new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } }),
    });
    const dead = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      development: false,
      reusePort: false,
      fetch: () => new Response(),
    });
    const deadUrl = `http://127.0.0.1:${dead.port}`;
    await dead.stop(true);
    const cases: readonly (readonly [readonly string[], string])[] = [
      [[deadUrl], "cannot be reached: nobody listens there"],
      [[`http://127.0.0.1:${other.port}`], "that is no Ganglion server"],
      [[`${server.url}/v1`], "no Ganglion server"],
      [[server.url, "--sessions", "9"], "9 sessions do not fit"],
    ];
    for (const [args, said] of cases) {
      const { code, stderr } = await ended(args);
      expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    }
    await other.stop(true);
    expect(await sessionsOpen()).toBe(0);
  });

  test("an input that the model does not take", async () => {
    using folder = scratchFolder();
    const [wide, none] = [folder.path("wide.npy"), folder.path("none.npy")];
    writeFileSync(wide, writeNpy(new Float32Array(65), [1, 65]));
    writeFileSync(none, writeNpy(new Float32Array(0), [0, 64]));
    for (
      const [path, said] of [[wide, "has shape [1, 65]"], [none, "holds no time step"]] as const
    ) {
      const { code, stderr } = await ended([server.url, "--input", path]);
      expect([code, stderr]).toEqual([1, expect.stringContaining(said)]);
    }
  });
});
