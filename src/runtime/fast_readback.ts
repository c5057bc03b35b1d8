/**
 * How results may be read back on this runtime. Deno's awaited maps sleep 10 ms, so there the eager way
 * is tried in a child process, once per runtime version and adapter; the verdict is kept in the user's
 * cache folder. Whenever anything is unclear the answer is `awaited`, which is always right.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { ReadbackMode } from "../engine/readback.ts";
import { ownRuntime, runChild } from "./child.ts";

const PROBE_MS = 20_000;

export interface ReadbackSubject {
  readonly runtime: string;
  readonly version: string;
  readonly adapter: string;
}

/** `GANGLION_READBACK=awaited` or `eager` overrides the probe. */
export async function readbackVerdict(subject: ReadbackSubject): Promise<ReadbackMode> {
  const wanted = process.env["GANGLION_READBACK"];
  if (wanted === "awaited" || wanted === "eager") return wanted;
  if (subject.runtime !== "deno") return "awaited"; // Bun's maps are truly asynchronous and quick.
  const file = cacheFile(subject);
  const kept = await readFile(file, "utf8").catch(() => "");
  if (kept === "eager" || kept === "awaited") return kept;
  const { code, stdout, timedOut } = await runChild(
    ownRuntime("src/engine/readback_probe.ts"),
    PROBE_MS,
  );
  const verdict = code === 0 && stdout.trim() === "eager" ? "eager" : "awaited";
  // A time-out may be the machine's fault and is not remembered.
  if (!timedOut) await keep(file, verdict);
  return verdict;
}

function cacheFile({ runtime, version, adapter }: ReadbackSubject): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const name = `readback-${runtime}-${version}-${adapter}`.replaceAll(/[^\w.-]+/g, "_");
  return join(cache, "ganglion", name);
}

/** A cache that cannot be written only costs the next start a probe. */
async function keep(file: string, verdict: ReadbackMode): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
    .then(() => writeFile(file, verdict))
    .catch(() => undefined);
}
