/**
 * What the HTTP benches share: a server as a child process, the client as another one, and their costs as
 * the system counts them (/proc: Linux).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { ROOT, runtimeCommand } from "../bin/launch.mjs";
import { runtimeName } from "./support.ts";

/** Opens so many sessions more, on a server that is told the first time. */
interface LoadOpen {
  readonly do: "open";
  readonly url: string;
  readonly sessions: number;
}

export interface LoadRun {
  readonly do: "run";
  readonly seconds: number;
  /** Frames that the server cuts a chunk into; an event each. */
  readonly frames: number;
  /** Of one chunk: time steps, values a step, and the part of them that is 1. */
  readonly steps: number;
  readonly sampleSize: number;
  readonly density: number;
  /** What a chunk is sent as. */
  readonly input: "f32" | "bits";
  /** 0: closed loop, the next chunk as soon as `ahead` allows. Else every session posts so often. */
  readonly periodMs: number;
  /** The client looks at the clock in every turn instead of each millisecond: a core of its own. */
  readonly polls: boolean;
  /** Chunks of a session that may be under way. */
  readonly ahead: number;
  /** `?wait=true`; an event stream for each session; one for all; nobody reads. */
  readonly readers: "wait" | "each" | "one" | "none";
  readonly encoding: string;
  readonly accept: string;
}

export type LoadCommand = LoadOpen | LoadRun;

export interface LoadCounts {
  readonly seconds: number;
  readonly chunks: number;
  /** Outputs that came. */
  readonly events: number;
  readonly outputBytes: number;
  /** Of the client. */
  readonly cpuSeconds: number;
  /** Milliseconds from when a chunk was due to when its outputs were here. */
  readonly p50: number;
  readonly p99: number;
}

export const runtime = runtimeName.startsWith("bun") ? "bun" : "deno";

/** A program of this repository that prints `listening URL`, as a child process. */
export class ServerChild {
  readonly url: string;
  /** From its start to the line, in milliseconds. */
  readonly readyMs: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, url: string, readyMs: number) {
    this.#child = child;
    this.url = url;
    this.readyMs = readyMs;
  }

  static async start(program: string, args: readonly string[]): Promise<ServerChild> {
    const { command, args: prefix, env } = runtimeCommand(runtime);
    const begin = performance.now();
    const child = spawn(command, [...prefix, resolve(ROOT, program), ...args], {
      env,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const line = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).once("line", resolve);
      child.once("exit", () => reject(new Error(`${program} did not start`)));
    });
    return new ServerChild(child, line.replace("listening ", ""), performance.now() - begin);
  }

  static serve(args: readonly string[]): Promise<ServerChild> {
    return ServerChild.start("src/cli/main.ts", ["serve", "--port", "0", ...args]);
  }

  /** Seconds of processor time that its threads have used, those of the executor among them. */
  async cpuSeconds(): Promise<number> {
    const tasks = `/proc/${this.#child.pid}/task`;
    const used = (await readdir(tasks)).map(async (id) => {
      const text = await readFile(`${tasks}/${id}/schedstat`, "utf8").catch(() => "0");
      return Number(text.split(" ", 1)[0]);
    });
    return (await Promise.all(used)).reduce((sum, ns) => sum + ns, 0) / 1e9;
  }

  async residentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) * 1024;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await new Promise((resolve) => this.#child.once("exit", resolve));
  }
}

const PLAIN: LoadRun = {
  do: "run",
  seconds: 1,
  frames: 1,
  steps: 10,
  sampleSize: 64,
  density: 0.2,
  input: "f32",
  periodMs: 0,
  polls: false,
  ahead: 1,
  readers: "wait",
  encoding: "json",
  accept: "application/octet-stream",
};

/** The client's process. One command at a time. */
export class LoadClient {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  #onExit: () => void = () => {};

  constructor() {
    const { command, args, env } = runtimeCommand("bun");
    this.#child = spawn(command, [...args, join(ROOT, "bench/http_load_child.ts")], {
      env,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface(this.#child.stdout!);
    this.#child.once("exit", () => this.#onExit());
  }

  async open({ url }: ServerChild, sessions: number): Promise<void> {
    await this.#ask({ do: "open", url, sessions });
  }

  /** Runs a load. `onMark` is called when what counts begins, and when it ends. */
  async run(
    options: Partial<LoadRun>,
    onMark: (mark: "begin" | "end") => void = () => {},
  ): Promise<LoadCounts> {
    return await this.#ask({ ...PLAIN, ...options }, onMark) as LoadCounts;
  }

  close(): void {
    this.#child.stdin!.end();
  }

  #ask(
    command: LoadCommand,
    onMark: (mark: "begin" | "end") => void = () => {},
  ): Promise<unknown> {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    return new Promise((resolve, reject) => {
      const onLine = (line: string): void => {
        const said = JSON.parse(line) as {
          mark?: "begin" | "end";
          error?: string;
          result?: unknown;
        };
        if (said.mark !== undefined) return onMark(said.mark);
        this.#lines.off("line", onLine);
        if (said.error === undefined) resolve(said.result);
        else reject(new Error(said.error));
      };
      this.#lines.on("line", onLine);
      this.#onExit = () => reject(new Error("the client's process has ended"));
    });
  }
}

export interface Cost extends LoadCounts {
  /** Processor time of the server during the load. */
  readonly serverCpuSeconds: number;
}

/** A load, and what it cost the server. */
export async function measure(
  server: ServerChild,
  client: LoadClient,
  options: Partial<LoadRun>,
): Promise<Cost> {
  const cpu: Promise<number>[] = [];
  const counts = await client.run(options, () => cpu.push(server.cpuSeconds()));
  const [before, after] = await Promise.all(cpu);
  return { ...counts, serverCpuSeconds: after! - before! };
}
