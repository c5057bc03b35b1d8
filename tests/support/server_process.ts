/** A real `ganglion serve` in a child process, ready when its one line is out. */
import { join } from "node:path";
import { ROOT, runtimeCommand } from "../../bin/launch.mjs";

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  /** All that it has said to people so far. */
  readonly talk: () => string;
  /** SIGTERM, then the exit code. */
  readonly stop: () => Promise<number>;
  /** SIGKILL, then nothing more. */
  readonly kill: () => Promise<void>;
}

const READY_MS = 60_000;

export function startServer(
  runtime: "deno" | "bun",
  args: readonly string[],
): Promise<ServerProcess> {
  return startProgram(runtime, "src/cli/main.ts", ["serve", "--port", "0", ...args]);
}

/** As `startServer`, for any program (path below the root) that prints the same line. */
export async function startProgram(
  runtime: "deno" | "bun",
  program: string,
  args: readonly string[],
): Promise<ServerProcess> {
  const { command, args: prefix, env } = runtimeCommand(runtime);
  const child = Bun.spawn([command, ...prefix, join(ROOT, program), ...args], {
    cwd: ROOT,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  let talk = "";
  const decoder = new TextDecoder();
  const listening = (async () => {
    for await (const part of child.stderr) talk += decoder.decode(part);
  })();
  const timer = setTimeout(() => child.kill("SIGKILL"), READY_MS);
  let line = "";
  const reader = child.stdout.getReader();
  while (!line.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) break;
    line += decoder.decode(value);
  }
  clearTimeout(timer);
  const url = /^listening (http:\S+)\n$/.exec(line)?.[1];
  if (url === undefined) {
    child.kill("SIGKILL");
    await listening;
    throw new Error(`the server did not start: ${line}${talk}`);
  }
  const stop = async () => {
    child.kill("SIGTERM");
    const code = await child.exited;
    await listening;
    return code;
  };
  const kill = async () => {
    child.kill("SIGKILL");
    await child.exited;
    await listening;
  };
  return {
    url,
    kill,
    pid: child.pid,
    talk: () => talk,
    stop,
    [Symbol.asyncDispose]: async () => void await stop(),
  };
}
