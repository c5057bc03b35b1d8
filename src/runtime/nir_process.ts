/**
 * Reads a NIR file that nobody vouches for in a child process: a damaged HDF5 file can hang the library
 * or make it grow, and no thread of ours could be stopped inside it. This file is both ends: imported,
 * it is the parent; run as the main module, the child. What must hold: the child is gone when the
 * promise settles, whatever the file did; its time, its memory and its answer are bounded; its
 * environment holds no secrets of ours.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type ErrorCode, ERRORS, type Facts, GanglionError } from "../base/errors.ts";
import { LIMITS, type Limits } from "../base/limits.ts";
import { decodeGraph, encodeGraph, type NirGraph, readNirBytes } from "../model/mod.ts";
import { ROOT } from "./version.ts";

type ProcessLimits = Pick<
  Limits,
  "modelBytesMax" | "modelNodesMax" | "modelDepthMax" | "modelSecondsMax"
>;

export interface IsolatedOptions {
  readonly name?: string;
  readonly limits?: Partial<ProcessLimits>;
  /** What to start instead of this program's own reader; for tests. */
  readonly command?: readonly string[];
}

/** Memory of the child besides what the file itself asks for: the runtime and the library. */
const RESIDENT_BASE = 512 << 20;
/** How much a file may unfold: its bytes, the library's copy, the values, the answer, and gzip. */
const RESIDENT_PER_BYTE = 16;
/** The answer's header: names and edges. */
const HEADER_BYTES_MAX = 64 << 20;
const WATCH_EVERY_MS = 50;
const STDERR_MAX = 4096;
/** Variables that the runtimes want; all others stay here. */
const ENVIRONMENT = ["PATH", "HOME", "TMPDIR", "DENO_DIR", "XDG_CACHE_HOME", "SYSTEMROOT"];

/** Why the child was stopped, or null while it runs by itself. */
type Stop = "time" | "memory" | "answer" | null;

/**
 * Reads `bytes` in a child process of the same runtime.
 *
 * Throws what `readNirBytes` throws, `model_timeout` when the time is up, and `model_unreadable` when
 * the child grew too large or died. About 0.3 s more than reading in-process.
 */
export async function readNirIsolated(
  bytes: Uint8Array,
  options: IsolatedOptions = {},
): Promise<NirGraph> {
  const limits: ProcessLimits = {
    modelBytesMax: LIMITS.modelBytesMax.default,
    modelNodesMax: LIMITS.modelNodesMax.default,
    modelDepthMax: LIMITS.modelDepthMax.default,
    modelSecondsMax: LIMITS.modelSecondsMax.default,
    ...options.limits,
  };
  if (bytes.length > limits.modelBytesMax) {
    throw new GanglionError(
      "model_unreadable",
      `The file has ${bytes.length} bytes, the limit is ${limits.modelBytesMax}`,
    );
  }
  const [program, ...args] = options.command ?? ownCommand();
  const request = JSON.stringify({ name: options.name, limits });
  const { answer, stop, code, stderr } = await converse(
    program!,
    [...args, request],
    bytes,
    limits,
  );
  if (stop === "time") {
    throw new GanglionError(
      "model_timeout",
      `Reading the model took longer than ${limits.modelSecondsMax} s and was stopped`,
      { limit: "modelSecondsMax" },
    );
  }
  if (stop !== null) {
    throw new GanglionError(
      "model_unreadable",
      `Reading the model needed more ${stop === "memory" ? "memory" : "room"} than its size allows`,
    );
  }
  if (code !== 0) {
    throw new GanglionError("model_unreadable", "The file stopped the HDF5 reader; it is damaged", {
      exit: code,
    }, { cause: stderr });
  }
  return open(answer);
}

interface Conversation {
  readonly answer: Uint8Array;
  readonly stop: Stop;
  readonly code: number | null;
  readonly stderr: string;
}

function converse(
  program: string,
  args: readonly string[],
  bytes: Uint8Array,
  limits: ProcessLimits,
): Promise<Conversation> {
  const environment = ENVIRONMENT.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...Object.fromEntries(environment), NO_COLOR: "1" },
  });
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let size = 0;
    let stop: Stop = null;
    let stderr = "";
    const end = (why: Stop): void => {
      stop ??= why;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => end("time"), limits.modelSecondsMax * 1000);
    const watch = setInterval(() => {
      const most = RESIDENT_BASE + RESIDENT_PER_BYTE * Math.max(bytes.length, 16 << 20);
      if (residentBytes(child) > most) end("memory");
    }, WATCH_EVERY_MS);
    const settle = (): void => {
      clearTimeout(timer);
      clearInterval(watch);
    };
    child.stdout.on("data", (part: Uint8Array) => {
      size += part.length;
      if (size > limits.modelBytesMax + HEADER_BYTES_MAX) end("answer");
      else parts.push(part);
    });
    child.stderr.on("data", (part: Uint8Array) => {
      if (stderr.length < STDERR_MAX) stderr += new TextDecoder().decode(part);
    });
    // A child that dies early breaks the pipe; its exit says why.
    child.stdin.on("error", () => {});
    child.on("error", (cause: Error) => {
      settle();
      reject(new GanglionError("internal", "The reading process cannot start", {}, { cause }));
    });
    child.on("close", (code: number | null) => {
      settle();
      resolve({ answer: joined(parts, size), stop, code, stderr });
    });
    child.stdin.end(bytes);
  });
}

/** Resident bytes of a process on Linux; 0 where that cannot be told. */
function residentBytes({ pid }: ChildProcess): number {
  if (pid === undefined || process.platform !== "linux") return 0;
  try {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return line === null ? 0 : Number(line[1]) * 1024;
  } catch {
    return 0; // it has just ended
  }
}

/** This file in the runtime that runs now. On Deno the child has no permission at all. */
function ownCommand(): string[] {
  const self = fileURLToPath(import.meta.url);
  const flags = "deno" in process.versions
    ? ["run", "--no-prompt", "--no-remote", "--quiet", "--config", join(ROOT, "deno.json")]
    : ["--no-install", "--no-env-file", `--config=${join(ROOT, "bunfig.toml")}`];
  return [process.execPath, ...flags, self];
}

/** The first byte says what follows: 1 a graph, 0 an error as JSON. */
function open(answer: Uint8Array): NirGraph {
  const rest = answer.subarray(1);
  let error: { code: string; message: string; facts: Facts };
  try {
    if (answer[0] === 1) return decodeGraph(rest);
    error = JSON.parse(new TextDecoder().decode(rest)) as typeof error;
  } catch (cause) {
    throw new GanglionError("model_unreadable", "The reading process gave no answer", {}, {
      cause,
    });
  }
  const code = (error.code in ERRORS ? error.code : "internal") as ErrorCode;
  throw new GanglionError(code, error.message, error.facts);
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The child: reads stdin to its end, answers on stdout. */
async function answerParent(): Promise<void> {
  const parts: Uint8Array[] = [];
  for await (const part of process.stdin) parts.push(part as Uint8Array);
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const request = JSON.parse(process.argv[2] ?? "{}") as Parameters<typeof readNirBytes>[1];
  let kind = 1;
  let body: Uint8Array;
  try {
    body = encodeGraph(await readNirBytes(joined(parts, size), request));
  } catch (error) {
    kind = 0;
    const known = error instanceof GanglionError;
    body = new TextEncoder().encode(JSON.stringify({
      code: known ? error.code : "internal",
      message: known ? error.message : `Reading failed: ${String(error)}`,
      facts: known ? error.facts : {},
    }));
  }
  await written(Uint8Array.of(kind));
  await written(body);
  process.exit(0);
}

function written(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => process.stdout.write(bytes, () => resolve()));
}

if (import.meta.main) await answerParent();
