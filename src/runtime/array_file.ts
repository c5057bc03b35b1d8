/**
 * Files that are read or written piece by piece at given places, so that an array need not fit in
 * memory. What is written stands under another name until it is finished: a run that fails leaves no
 * half a file behind.
 */
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { GanglionError } from "../base/errors.ts";
import { fileProblem, writeProblem } from "./process.ts";

export interface PartReader extends AsyncDisposable {
  readonly bytes: number;
  /** Exactly `length` bytes from `at`; fewer only at the end of the file. */
  read(at: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
}

export interface PartWriter {
  write(at: number, bytes: Uint8Array): Promise<void>;
  /** Gives the file its name. */
  finish(): Promise<void>;
  /** Leaves nothing behind. */
  discard(): Promise<void>;
}

/** Opens a file for reading. Throws `input_unreadable`. */
export async function openPartReader(path: string): Promise<PartReader> {
  const unreadable = (error: unknown): never => {
    throw new GanglionError("input_unreadable", fileProblem(path, error), { path });
  };
  const file = await open(path, "r").catch(unreadable);
  const status = await file.stat();
  if (status.isDirectory()) {
    await file.close();
    throw new GanglionError("input_unreadable", `${path} is a folder`, { path });
  }
  // A pipe has no places: it is read whole.
  const whole = status.isFile() ? null : new Uint8Array(await file.readFile().catch(unreadable));
  return {
    bytes: whole?.length ?? status.size,
    async read(at, length) {
      if (whole !== null) return whole.slice(at, at + length);
      return await readAt(file, at, length).catch(unreadable);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}

async function readAt(
  file: FileHandle,
  at: number,
  length: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** Begins a file, replacing one of that name at the end. Throws `usage`. */
export async function openPartWriter(path: string): Promise<PartWriter> {
  const problem = (error: unknown): never => {
    throw new GanglionError("usage", writeProblem(path, error), { path });
  };
  // What is no plain file (a pipe, a device) keeps its name and is written to as it is.
  const plain = await stat(path).then((status) => status.isFile(), () => true);
  const place = plain ? `${path}.part` : path;
  const file = await open(place, "w").catch(problem);
  return {
    async write(at, bytes) {
      let done = 0;
      while (done < bytes.length) {
        const left = bytes.length - done;
        const { bytesWritten } = await file.write(bytes, done, left, plain ? at + done : null)
          .catch(problem);
        done += bytesWritten;
      }
    },
    async finish() {
      await file.close();
      if (plain) await rename(place, path).catch(problem);
    },
    async discard() {
      await file.close();
      if (plain) await rm(place, { force: true });
    },
  };
}
