/** examples/serq/README.md: every command of it runs and prints what the page says. */
import { expect, test } from "bun:test";
import { ROOT, runtimeCommand } from "../../bin/launch.mjs";
import { expectPrinted, programOf } from "../support/pages.ts";

test("the plans run as their page says", async () => {
  const program = programOf("examples/serq/README.md", "sh");
  const shell = Bun.spawn([
    "bash",
    "-eu",
    "-c",
    program.replaceAll("npx serq", "node bin/serq.mjs"),
  ], {
    cwd: ROOT,
    env: runtimeCommand("deno").env,
    stdout: "pipe",
    stderr: "pipe",
    timeout: 50_000,
  });
  const [printed, errors, code] = await Promise.all([
    new Response(shell.stdout).text(),
    new Response(shell.stderr).text(),
    shell.exited,
  ]);
  expect([code, errors]).toEqual([0, ""]);
  expectPrinted(printed, program);
}, 60_000);
