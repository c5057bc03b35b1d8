/** Starting a program of ours in a child process: on the runtime that runs us, or on the other one. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./version.ts";

/** As the launcher has them. */
const DENO_FLAGS = ["-A", "--no-prompt", "--no-remote", "--v8-flags=--expose-gc"];

/** Characters that are kept of what a server says to people. */
const TALK_MAX = 10_000;

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
    : ["run", ...DENO_FLAGS, "--config", join(ROOT, "deno.json")];
  return {
    command: process.execPath,
    args: [...args, join(ROOT, program)],
    env: process.env,
  };
}

/** A server in a child process. It also ends when this process does. */
export interface ServingChild {
  /** The one line that it printed when it was ready. */
  readonly line: string;
  stop(): Promise<void>;
}

/** Starts a program that prints a line once it is ready. Rejects with its last words when it ends before. */
export function startServing(start: ChildStart, timeoutMs: number): Promise<ServingChild> {
  return new Promise((resolve, reject) => {
    const child = spawn(start.command, [...start.args], {
      env: { ...start.env, GANGLION_LAUNCHER: String(process.pid) } as Record<string, string>,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "", stderr = "";
    const ended = new Promise<void>((gone) => child.on("close", () => gone()));
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    const stop = async (): Promise<void> => {
      child.kill("SIGTERM");
      await ended;
    };
    child.stdout.on("data", (part) => {
      stdout += String(part);
      if (!stdout.includes("\n")) return;
      clearTimeout(timer);
      resolve({ line: stdout.split("\n", 1)[0]!, stop });
    });
    child.stderr.on("data", (part) => stderr = (stderr + String(part)).slice(-TALK_MAX));
    child.on("error", reject);
    void ended.then(() => {
      clearTimeout(timer);
      reject(new Error(stderr.trim() || `it was not ready in ${timeoutMs / 1000} s`));
    });
  });
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
