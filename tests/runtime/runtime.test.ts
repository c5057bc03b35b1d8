/** The adapters of the runtimes: sockets, files, children, where a GPU comes from. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { GanglionError } from "../../src/base/errors.ts";
import {
  findGpu,
  listen,
  readCommit,
  readFileLimited,
  runChild,
  runtime,
  VERSION,
  writeFileWhole,
} from "../../src/runtime/mod.ts";
import { scratchFolder } from "../cli/command_line.ts";
import { runOn } from "../support/processes.ts";

async function refusal(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(() => null, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(GanglionError);
  return `${(error as GanglionError).code}: ${(error as GanglionError).message}`;
}

describe("listening", () => {
  test("a free port is picked; a taken one is refused with a remedy", async () => {
    const app = { fetch: () => new Response("here") };
    const first = await listen(app, { host: "127.0.0.1", port: 0 });
    expect(await (await fetch(`http://127.0.0.1:${first.port}`)).text()).toBe("here");
    const { port } = first;
    expect(await refusal(listen(app, { host: "127.0.0.1", port })))
      .toBe(
        `usage: 127.0.0.1:${port} is already taken; choose another with --port N ` +
          "or GANGLION_PORT=N, where 0 is any free one",
      );
    await first.stop();
    const again = await listen(app, { host: "127.0.0.1", port });
    await again.stop();
  });

  test("an address that is not ours is refused", async () => {
    const app = { fetch: () => new Response("here") };
    expect(await refusal(listen(app, { host: "203.0.113.1", port: 0 }))).toStartWith("usage: ");
  });

  test("an answer that asked to be kept open outlives the runtime's patience", async () => {
    const { code, stdout } = await runOn("bun", "tests/runtime/slow_answer.ts");
    expect([code, stdout]).toEqual([0, "late cut\n"]);
  });
});

describe("files", () => {
  test("sizes are looked at before reading", async () => {
    using folder = scratchFolder();
    const path = folder.path("a.bin");
    await writeFileWhole(path, Uint8Array.of(1, 2, 3));
    expect(await readFileLimited(path, 3)).toEqual(Uint8Array.of(1, 2, 3));
    expect(await refusal(readFileLimited(path, 2))).toBe(
      `input_unreadable: ${path} has 3 bytes, the limit is 2`,
    );
  });

  test("what cannot be opened is said in words", async () => {
    using folder = scratchFolder();
    expect(await refusal(readFileLimited(folder.path("none"), 9))).toEndWith("none does not exist");
    expect(await refusal(readFileLimited(folder.path("."), 9))).toEndWith("is a folder");
    writeFileSync(folder.path("file"), "");
    expect(await refusal(writeFileWhole(join(folder.path("file"), "x"), new Uint8Array(1))))
      .toContain("is not a folder");
  });
});

describe("children", () => {
  const shell = (script: string) => ({ command: "sh", args: ["-c", script], env: process.env });

  test("give their code and what they wrote", async () => {
    const { code, stdout, stderr, timedOut } = await runChild(
      shell("echo out; echo err >&2; exit 3"),
      5000,
    );
    expect([code, stdout, stderr, timedOut]).toEqual([3, "out\n", "err\n", false]);
  });

  test("are killed when their time is up", async () => {
    const begin = performance.now();
    const { code, timedOut } = await runChild(shell("trap '' TERM; exec sleep 20"), 200);
    expect([code, timedOut]).toEqual([null, true]);
    expect(performance.now() - begin).toBeLessThan(3000);
  });

  test("that cannot be started are no exception", async () => {
    const start = { command: "/nowhere/program", args: [], env: {} };
    expect(await runChild(start, 1000)).toMatchObject({ code: null, timedOut: false });
  });
});

test("this runtime, this version, this commit", async () => {
  expect([runtime.name, runtime.version]).toEqual(["bun", Bun.version]);
  expect(VERSION).toMatch(/^\d+\.\d+\.\d+$/);
  expect(await readCommit() ?? "0".repeat(40)).toMatch(/^[0-9a-f]{40}$/);
});

test("Bun's GPU comes from its package", async () => {
  expect(await findGpu()).toMatchObject({ name: "bun-webgpu" });
});
