/** Runs the real command line as a child process, with drivers as the launcher sets them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../../bin/launch.mjs";

export type RuntimeName = "deno" | "bun";
export const RUNTIMES: readonly RuntimeName[] = ["deno", "bun"];
export const DIGITS = join(ROOT, "examples", "digits", "digits.nir");
export const recording = (digit: number): string =>
  join(ROOT, "examples", "digits", "recordings", `${digit}.npy`);

export interface Ended {
  readonly code: number | null;
  readonly stdout: Uint8Array;
  readonly text: string;
  readonly stderr: string;
}

const LIMIT_MS = 60_000;

export type Variables = Readonly<Record<string, string | undefined>>;

export function start(runtime: RuntimeName, args: readonly string[], variables: Variables = {}) {
  const { command, args: prefix, env } = runtimeCommand(runtime);
  return Bun.spawn([command, ...prefix, join(ROOT, "src/cli/main.ts"), ...args], {
    env: { ...env, ...variables },
    cwd: tmpdir(),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: LIMIT_MS,
    killSignal: "SIGKILL",
  });
}

/** Runs to the end. */
export async function ganglion(
  runtime: RuntimeName,
  args: readonly string[],
  variables: Variables = {},
): Promise<Ended> {
  const child = start(runtime, args, variables);
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).bytes(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, stdout, text: new TextDecoder().decode(stdout), stderr };
}

/** A folder that `using` removes. */
export function scratchFolder(): Disposable & { path(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), "ganglion-cli-"));
  return {
    path: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
