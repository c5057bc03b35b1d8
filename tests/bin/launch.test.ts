/** The launcher: which runtime, what it sees, and that exit codes and signals pass through. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { chooseRuntime, ROOT, runtimeCommand } from "../../bin/launch.mjs";

/** Prints what it was given, then does as its first argument says. */
const PROGRAM = `
import process from "node:process";
import { existsSync } from "node:fs";
const [action, ...rest] = process.argv.slice(2);
const runtime = "Deno" in globalThis ? "deno" : "bun";
const { LEAKED, XDG_RUNTIME_DIR, VK_ICD_FILENAMES } = process.env;
const launched = process.env.GANGLION_LAUNCHER === String(process.ppid);
const folder = XDG_RUNTIME_DIR !== undefined && existsSync(XDG_RUNTIME_DIR);
const drivers = VK_ICD_FILENAMES ?? "";
const cwd = process.cwd();
if (action === "wait") process.on("SIGTERM", () => process.exit(7));
console.log(JSON.stringify({ runtime, rest, cwd, LEAKED, folder, drivers, launched }));
if (action === "exit") process.exit(Number(rest[0]));
setInterval(() => {}, 1000);
`;

const RUNTIMES = ["deno", "bun"] as const;
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ganglion-launch-"));
  writeFileSync(join(folder, "program.mts"), PROGRAM);
  // What lies in the caller's folder must change nothing.
  writeFileSync(join(folder, ".env"), "LEAKED=yes\n");
  writeFileSync(join(folder, "bunfig.toml"), 'preload = ["./absent.ts"]\n');
  writeFileSync(join(folder, "deno.json"), '{ "lock": 1 }\n');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function commandLine(runtime: string, args: readonly string[]): string[] {
  const program = relative(ROOT, join(folder, "program.mts"));
  const script = `import { launch } from ${JSON.stringify(join(ROOT, "bin", "launch.mjs"))};
    launch(${JSON.stringify(program)}, process.argv.slice(1));`;
  return ["node", "--input-type=module", "-e", script, "--", ...args, "--runtime", runtime];
}

function start(runtime: string, ...args: string[]) {
  // The launcher's own choice of drivers is what is tested, not that of whoever runs the tests.
  const { VK_ICD_FILENAMES: _icd, VK_DRIVER_FILES: _files, ...env } = process.env;
  return Bun.spawn(commandLine(runtime, args), {
    cwd: folder,
    env,
    stdout: "pipe",
    stderr: "pipe",
  });
}

describe.each(RUNTIMES.map((runtime) => [runtime] as const))("launched on %s", (runtime) => {
  test("arguments, folder, environment and exit code pass through", async () => {
    const child = start(runtime, "exit", "3", "--flag=a b");
    const seen = JSON.parse(await new Response(child.stdout).text());
    expect(await child.exited).toBe(3);
    expect(seen).toMatchObject({ runtime, cwd: folder, rest: ["3", "--flag=a b"] });
    expect(seen.LEAKED).toBeUndefined();
    expect(seen.launched).toBe(true);
    if (process.platform === "linux") expect(seen.folder).toBe(true);
    // Deno would take SwiftShader, the slower, where both are offered.
    if (runtime === "deno" && seen.drivers.includes("lvp")) {
      expect(seen.drivers).not.toContain("swiftshader");
    }
  });

  test("a signal reaches the program, and its answer comes back", async () => {
    const child = start(runtime, "wait");
    await child.stdout.getReader().read();
    child.kill("SIGTERM");
    expect(await child.exited).toBe(7);
  });

  test("under npm, whose shell keeps signals to itself, its end ends the program", async () => {
    const child = Bun.spawn(["sh", "-c", '"$@"; true', "sh", ...commandLine(runtime, ["wait"])], {
      env: { ...process.env, npm_lifecycle_event: "start" },
      cwd: folder,
      stdout: "pipe",
    });
    const reader = child.stdout.getReader();
    await reader.read();
    child.kill("SIGTERM");
    expect((await reader.read()).done).toBe(true);
  });

  test("a program that a signal ends ends the launcher the same way", async () => {
    const child = start(runtime, "hang");
    await child.stdout.getReader().read();
    child.kill("SIGHUP");
    await child.exited;
    expect(child.signalCode).toBe("SIGHUP");
  });
});

test("another runtime than the two is wrong usage", async () => {
  const child = start("node", "exit", "0");
  expect(await child.exited).toBe(2);
  expect(await new Response(child.stderr).text()).toContain("--runtime must be deno or bun");
});

test("--runtime is taken out of the arguments, wherever it stands before --", () => {
  const bun = { runtime: "bun", choice: "bun" } as const;
  expect(chooseRuntime(["serve", "--runtime", "bun", "m.nir"], {})).toEqual(
    { ...bun, rest: ["serve", "m.nir"] },
  );
  expect(chooseRuntime(["--runtime=bun", "--", "--runtime=deno"], {})).toEqual(
    { ...bun, rest: ["--", "--runtime=deno"] },
  );
  expect(chooseRuntime([], { GANGLION_RUNTIME: "bun" })).toEqual({ ...bun, rest: [] });
  expect(chooseRuntime(["serve"], {}).runtime).toBe("deno");
  expect(chooseRuntime(["serve", "--runtime"], {}).runtime).toBeUndefined();
});

test("drivers that a person chose stay, ours are chosen again for each runtime", () => {
  if (process.platform !== "linux") return;
  const theirs = { PATH: "", VK_ICD_FILENAMES: "/theirs.json" };
  expect(runtimeCommand("deno", theirs).env.VK_ICD_FILENAMES).toBe("/theirs.json");
  const first = runtimeCommand("bun", { PATH: "" }).env;
  const expected = runtimeCommand("deno", { PATH: "" }).env.VK_ICD_FILENAMES;
  expect(runtimeCommand("deno", first).env.VK_ICD_FILENAMES).toBe(expected!);
});
