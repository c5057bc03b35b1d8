/**
 * The process around the program: arguments, environment, terminal, files, signals, exit. Both
 * runtimes give these through Node's modules.
 */
import { Buffer } from "node:buffer";
import { mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname } from "node:path";
import process from "node:process";
import { GanglionError } from "../base/errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export const programArguments = (): string[] => process.argv.slice(2);

export const environment = (): Environment => process.env;

export function exit(code: number): never {
  process.exit(code);
}

/** Processor time of this process so far, in ms. */
export function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

export const residentBytes = (): number => process.memoryUsage().rss;

/** Cores for computing when one is left to everything else; at least 1. */
export const coresToSpare = (): number => Math.max(1, availableParallelism() - 1);

/** Memory that this process may use: the machine's, or less in a container. */
export async function machineBytes(): Promise<number> {
  const limits = await Promise.all(
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"].map((path) =>
      readFile(path, "utf8").then((text) => Number(text) || Infinity, () => Infinity)
    ),
  );
  return Math.min(totalmem(), ...limits);
}

export function isTerminal(stream: "stdin" | "stdout" | "stderr"): boolean {
  return process[stream].isTTY === true;
}

/** Writes to stdout and resolves when the reader has it. A reader that left (`| head`) ends us. */
export function writeOut(data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(data, (error) => {
      if ((error as { code?: string } | null | undefined)?.code === "EPIPE") process.exit(0);
      if (error) reject(error);
      else resolve();
    });
  });
}

/** One line of talk for the person at the terminal. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** One line on stdout, for whoever still reads there. */
export function announce(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** For a server: readers of what it says (`| head`, a log collector that died) may leave; it stays. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: { code?: string }) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
}

/** Talk without an end of line, for progress. */
export function sayRaw(text: string): void {
  process.stderr.write(text);
}

/** Reads a file whole, refusing more than `bytesMax` before it is read. */
export async function readFileLimited(
  path: string,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const file = await open(path, "r").catch((error: unknown) => {
    throw new GanglionError("input_unreadable", fileProblem(path, error), { path });
  });
  try {
    const status = await file.stat();
    if (status.isDirectory()) {
      throw new GanglionError("input_unreadable", `${path} is a folder`, { path });
    }
    const { size } = status;
    if (size > bytesMax) {
      throw new GanglionError(
        "input_unreadable",
        `${path} has ${size} bytes, the limit is ${bytesMax}`,
        { path, bytes: size, bytesMax },
      );
    }
    const bytes = await file.readFile();
    return new Uint8Array(bytes);
  } catch (error) {
    if (error instanceof GanglionError) throw error;
    throw new GanglionError("input_unreadable", fileProblem(path, error), { path });
  } finally {
    await file.close();
  }
}

export async function isFolder(path: string): Promise<boolean> {
  return await stat(path).then((status) => status.isDirectory(), () => false);
}

/** Makes a folder, and those above it, where there is none. */
export async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true });
  } catch (error) {
    throw new GanglionError("usage", fileProblem(path, error), { path });
  }
}

export async function writeFileWhole(path: string, bytes: Uint8Array): Promise<void> {
  try {
    await writeFile(path, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (error) {
    throw new GanglionError("usage", writeProblem(path, error), { path });
  }
}

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EISDIR: "is a folder",
  EEXIST: "is there already, and is no folder",
  EACCES: "may not be opened",
  EPERM: "may not be opened",
  EROFS: "is on a disk that cannot be written",
  ENOSPC: "does not fit on the disk",
  EDQUOT: "does not fit on your share of the disk",
  EFBIG: "is larger than its disk takes files",
  ENOTDIR: "lies below something that is not a folder",
  ENAMETOOLONG: "is too long a name",
  ELOOP: "is a link that leads back to itself",
  EMFILE: "cannot be opened: too many files are open",
  ERR_FS_FILE_TOO_LARGE: "is too large to be read at once (2 GiB)",
};

/** What kept a file from being opened, as a sentence with its path. */
export function fileProblem(path: string, error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  const said = message?.replace(/^[A-Z_]+: /, "") ?? code;
  return `${path === "" ? '""' : path} ${PROBLEMS[code ?? ""] ?? `cannot be opened: ${said}`}`;
}

/** As `fileProblem`, of a file that was to be written. */
export function writeProblem(path: string, error: unknown): string {
  return (error as { code?: string }).code === "ENOENT"
    ? `${path} cannot be written: the folder ${dirname(path)} does not exist`
    : fileProblem(path, error);
}

/** Whether anything has that name. */
export async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(() => true, () => false);
}

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP";

export function onSignal(signal: Signal, action: () => void): void {
  process.on(signal, action);
}

const PARENT_POLL_MS = 500;

/**
 * Calls `action` once when the launcher that started us is gone. A launcher that is killed outright
 * cannot tell us; an orphan would hold the port for ever.
 */
export function onLauncherGone(action: () => void): void {
  const launcher = Number(process.env.GANGLION_LAUNCHER);
  if (!Number.isInteger(launcher) || launcher <= 1) return;
  const timer = setInterval(() => {
    if (process.ppid === launcher) return;
    clearInterval(timer);
    action();
  }, PARENT_POLL_MS);
  (timer as unknown as { unref?: () => void }).unref?.();
}
