/**
 * A folder of checkpoints, one file a session. A file is written under another name, flushed to the
 * disk and renamed, so that after a crash there is the old one or the new one, whole. Only its owner
 * may read it. One process at a time uses a folder.
 */
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { GanglionError } from "../base/errors.ts";
import { fileProblem } from "./process.ts";

const SUFFIX = ".session";
const UNFINISHED = ".tmp";
const LOCK = "lock";
const PRIVATE_FILE = 0o600;
const PRIVATE_FOLDER = 0o700;

export interface StateFolder {
  write(id: string, bytes: Uint8Array): Promise<void>;
  remove(id: string): Promise<void>;
  /** Ids of all sessions that are kept. */
  list(): Promise<string[]>;
  read(id: string): Promise<Uint8Array>;
  /** Lets another process have the folder. */
  close(): Promise<void>;
}

/** Makes the folder if need be. Throws `usage` when it cannot be had, or another process has it. */
export async function openStateFolder(folder: string): Promise<StateFolder> {
  const pathOf = (id: string) => join(folder, `${id}${SUFFIX}`);
  try {
    await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER });
    await lock(join(folder, LOCK), folder);
    for (const name of await readdir(folder)) {
      if (name.endsWith(UNFINISHED)) await rm(join(folder, name), { force: true });
    }
  } catch (error) {
    if (error instanceof GanglionError) throw error;
    throw new GanglionError("usage", `--state-dir cannot be used: ${fileProblem(folder, error)}`);
  }
  return {
    async write(id, bytes) {
      const path = pathOf(id);
      const file = await open(`${path}${UNFINISHED}`, "w", PRIVATE_FILE);
      try {
        await file.writeFile(bytes);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}${UNFINISHED}`, path);
      await syncFolder(folder);
    },
    remove: (id) => rm(pathOf(id), { force: true }),
    list: async () =>
      (await readdir(folder)).filter((name) => name.endsWith(SUFFIX))
        .map((name) => name.slice(0, -SUFFIX.length)),
    read: async (id) => new Uint8Array(await readFile(pathOf(id))),
    close: () => rm(join(folder, LOCK), { force: true }),
  };
}

/** A lock of a process that is gone counts for nothing. */
async function lock(path: string, folder: string): Promise<void> {
  const own = String(process.pid);
  const take = () => writeFile(path, own, { flag: "wx", mode: PRIVATE_FILE });
  try {
    return await take();
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
  const holder = Number(await readFile(path, "utf8").catch(() => ""));
  if (holder !== process.pid && isAlive(holder)) {
    throw new GanglionError("usage", `--state-dir ${folder} is used by process ${holder}`);
  }
  await rm(path, { force: true });
  await take();
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { code?: string }).code === "EPERM";
  }
}

/** The rename itself must be on the disk. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
