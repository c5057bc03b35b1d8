/** Starting Ganglion's programs on a real runtime from a test, with a time limit. */
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../../bin/launch.mjs";

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const LIMIT_MS = 240_000;

/** Runs a TypeScript program (path below the root) on Deno to its end. */
export function runDeno(program: string, args: readonly string[] = []): Promise<Finished> {
  return runOn("deno", program, args);
}

export async function runOn(
  runtime: "deno" | "bun",
  program: string,
  args: readonly string[] = [],
): Promise<Finished> {
  const { command, args: prefix, env } = runtimeCommand(runtime);
  const child = Bun.spawn([command, ...prefix, join(ROOT, program), ...args], {
    env,
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, stderr };
}
