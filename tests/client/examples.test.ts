/** The client's page, the page of curl, and the examples that need a server: all run, on both runtimes. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { DIRECTIONS, scene, tell } from "../../examples/gestures/gestures.ts";
import { RUNTIMES, scratchFolder } from "../cli/command_line.ts";
import { expectPrinted, programOf } from "../support/pages.ts";
import { runOn } from "../support/processes.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

const DEFAULT_URL = "http://127.0.0.1:8787";
const servers: Record<string, ServerProcess> = {};

beforeAll(async () => {
  await Promise.all(RUNTIMES.map(async (runtime) => {
    const model = [join(ROOT, "examples/digits"), "--device", "cpu"];
    servers[runtime] = await startServer(runtime, model);
  }));
});
afterAll(async () => {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
});

describe.each(RUNTIMES)("on %s", (runtime) => {
  test("the program of docs/client.md prints what it says", async () => {
    const program = programOf("docs/client.md", "ts");
    const file = `.client_page_${runtime}.ts`;
    writeFileSync(join(ROOT, file), program.replace(DEFAULT_URL, servers[runtime]!.url));
    try {
      const { code, stdout, stderr } = await runOn(runtime, file);
      expect([code, stderr]).toEqual([0, ""]);
      expectPrinted(stdout, program);
    } finally {
      rmSync(join(ROOT, file));
    }
  });

  test.skipIf(Bun.which("curl") === null)("the commands of docs/curl.md do", async () => {
    using folder = scratchFolder();
    mkdirSync(folder.path("examples/digits"), { recursive: true });
    cpSync(join(ROOT, "examples/digits/recordings"), folder.path("examples/digits/recordings"), {
      recursive: true,
    });
    const program = programOf("docs/curl.md", "sh");
    const shell = Bun.spawn([
      "bash",
      "-eu",
      "-c",
      program.replace(DEFAULT_URL, servers[runtime]!.url),
    ], {
      cwd: folder.path("."),
      stdout: "pipe",
      stderr: "pipe",
      timeout: 30_000,
    });
    const [printed, errors, code] = await Promise.all([
      new Response(shell.stdout).text(),
      new Response(shell.stderr).text(),
      shell.exited,
    ]);
    expect([code, errors]).toEqual([0, ""]);
    expectPrinted(printed, program);
  });

  test("examples/resume: cuts are made good", async () => {
    const { code, stdout } = await runOn(runtime, "examples/resume/resume.ts", [
      servers[runtime]!.url,
    ]);
    expect(stdout).toMatch(/^\d+ cuts, 4 answers lost; 250 steps came, once each\nthe same bytes/);
    expect(Number.parseInt(stdout, 10)).toBeGreaterThan(3);
    expect(code).toBe(0);
  });

  test("examples/fork: two futures of one state", async () => {
    const { code, stdout } = await runOn(runtime, "examples/fork/fork.ts", [servers[runtime]!.url]);
    expect(stdout.split("\n")).toEqual([
      "forked at step 12",
      "the outputs part at step 13",
      "a 7 that stays a 7 is told as 7, one that turns into a 3 as 3",
      "",
    ]);
    expect(code).toBe(0);
  });

  test("examples/gestures: the accuracy that its page states", async () => {
    const { code, stdout } = await runOn(runtime, "examples/gestures/gestures.ts");
    expect(readFileSync(join(ROOT, "examples/gestures/README.md"), "utf8")).toContain(
      stdout.trim(),
    );
    expect(Number.parseInt(stdout, 10)).toBeGreaterThan(225);
    expect(code).toBe(0);
  });
});

test("examples/gestures: a scene played backwards moves the other way", async () => {
  const scenes = Array.from({ length: 100 }, (_, seed) => scene(1000 + seed));
  const backwards = scenes.map(({ events }) => {
    const [pixels, steps] = [144, events.length / 144];
    return events.map((_, i) =>
      events[(steps - 1 - Math.floor(i / pixels)) * pixels + i % pixels]!
    );
  });
  const told = await tell(backwards);
  const isOpposite = (a: number, b: number) =>
    DIRECTIONS[a]!.dx === -DIRECTIONS[b]!.dx && DIRECTIONS[a]!.dy === -DIRECTIONS[b]!.dy;
  const opposite = told.filter((each, i) => isOpposite(each, scenes[i]!.direction)).length;
  expect(opposite).toBeGreaterThan(90);
});

test("examples/python: the text that is there is the text that ran", () => {
  const folder = join(ROOT, "examples/python");
  const text = readFileSync(join(folder, "stream.py"));
  const ran = JSON.parse(readFileSync(join(folder, "stream.ran.json"), "utf8")) as {
    sha256: string;
    stdout: string[];
  };
  expect(createHash("sha256").update(text).digest("hex")).toBe(ran.sha256);
  expect(ran.stdout.at(-1)).toBe("it is a 7");
  expect(ran.stdout).toHaveLength(6);
});
