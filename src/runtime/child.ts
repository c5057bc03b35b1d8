/** Starting a program of ours in a child process: on the runtime that runs us, or on the other one. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./version.ts";

export interface ChildResult {
  /** null when it was killed, by us or by a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

export interface ChildStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How this process's own runtime is started with a program (a path below the root). */
export function ownRuntime(program: string): ChildStart {
  const args = "Bun" in globalThis
    ? ["--no-install", "--no-env-file", `--config=${join(ROOT, "bunfig.toml")}`]
    : ["run", "-A", "--no-prompt", "--no-remote", "--config", join(ROOT, "deno.json")];
  return {
    command: process.execPath,
    args: [...args, join(ROOT, program)],
    env: process.env,
  };
}

/** Runs to the end or for `timeoutMs`, then kills outright: a child may be caught in a loop. */
export function runChild(start: ChildStart, timeoutMs: number): Promise<ChildResult> {
  return new Promise((resolve) => {
    const child = spawn(start.command, [...start.args], {
      env: start.env as Record<string, string>,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "", stderr = "", timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.stdout.on("data", (part) => stdout += String(part));
    child.stderr.on("data", (part) => stderr += String(part));
    const end = (code: number | null) => {
      clearTimeout(timer);
      resolve({ code, stdout, stderr, timedOut });
    };
    child.on("error", (error) => {
      stderr += error.message;
      end(null);
    });
    child.on("close", end);
  });
}
