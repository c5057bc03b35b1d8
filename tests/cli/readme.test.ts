/** The README's promises: its curl session works as pasted, its program runs, on both runtimes. */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../../bin/launch.mjs";
import { parseNpy } from "../../src/base/npy.ts";
import { DIGITS, RUNTIMES, scratchFolder, start } from "./command_line.ts";

const readme = readFileSync(join(ROOT, "README.md"), "utf8");
const PORT = "127.0.0.1:8787";

function block(language: string, containing: string): string {
  const blocks = [...readme.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, "g"))];
  const found = blocks.map((match) => match[1]!).filter((text) => text.includes(containing));
  expect(found).toHaveLength(1);
  return found[0]!;
}

describe.each(RUNTIMES)("on %s", (runtime) => {
  test.skipIf(Bun.which("curl") === null)("the curl session works as pasted", async () => {
    using folder = scratchFolder();
    const server = start(runtime, ["serve", DIGITS, "--port", "0"]);
    const reader = server.stdout.getReader();
    const { value } = await reader.read();
    const url = new TextDecoder().decode(value).match(/http:\/\/(\S+)/)![1]!;
    const script = block("sh", "curl").replace(PORT, url)
      .replaceAll("examples/digits", join(ROOT, "examples/digits"));
    const shell = Bun.spawn(["bash", "-eu", "-c", script], {
      cwd: folder.path("."),
      stdout: "pipe",
      stderr: "pipe",
      timeout: 30_000,
    });
    const [text, errors, code] = await Promise.all([
      new Response(shell.stdout).text(),
      new Response(shell.stderr).text(),
      shell.exited,
    ]);
    server.kill("SIGTERM");
    await server.exited;
    expect([code, errors]).toEqual([0, ""]);
    expect(text).toContain("event: open");
    expect(text.match(/event: output/g)).toHaveLength(6);
    expect(text).toContain("event: end");
    expect(text).toMatch(/"seq":0,"steps":25/);
    const outputs = parseNpy(readFileSync("/tmp/three.npy"));
    expect(outputs.shape).toEqual([25, 10]);
    const spikes = Array.from(
      { length: 10 },
      (_, digit) =>
        outputs.values.reduce((sum, value, i) => i % 10 === digit ? sum + value : sum, 0),
    );
    expect(spikes.indexOf(Math.max(...spikes))).toBe(3);
  });

  test("the program runs and prints what it says", async () => {
    const program = join(ROOT, `.readme_example_${runtime}.ts`);
    writeFileSync(program, block("ts", "StreamServer"));
    try {
      const { command, args, env } = runtimeCommand(runtime);
      const child = Bun.spawn([command, ...args, program], { env, cwd: ROOT, stdout: "pipe" });
      expect([await new Response(child.stdout).text(), await child.exited])
        .toEqual(["5 x 10 50\n", 0]);
    } finally {
      rmSync(program);
    }
  });
});

test("src/mod.ts shows the same program", () => {
  const mod = readFileSync(join(ROOT, "src", "mod.ts"), "utf8");
  const shown = mod.match(/ \* ```ts\n([^]*?) \* ```/)![1]!.replaceAll(/^ \* ?/gm, "");
  expect(shown).toBe(block("ts", "StreamServer"));
});

test("its links lead somewhere", () => {
  const links = [...readme.matchAll(/\]\((?!http)([^)#]+)/g)].map((match) => match[1]!);
  expect(links.length).toBeGreaterThan(2);
  expect(links.filter((link) => !existsSync(join(ROOT, link)))).toEqual([]);
});
