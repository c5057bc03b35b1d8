/**
 * How results may be read back on this runtime. Deno's awaited maps sleep 10 ms, so there the eager way
 * is tried in a child process, once per runtime version; the verdict is kept in the user's cache
 * folder. Whenever anything is unclear the answer is `awaited`, which is always right.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { ReadbackMode } from "../engine/readback.ts";
import { runtime } from "./mod.ts";
import { ROOT } from "./version.ts";

const PROBE_MS = 20_000;

/** `GANGLION_READBACK=awaited` or `eager` overrides the probe. */
export async function readbackMode(): Promise<ReadbackMode> {
  const wanted = process.env["GANGLION_READBACK"];
  if (wanted === "awaited" || wanted === "eager") return wanted;
  if (runtime.name !== "deno") return "awaited"; // Bun's maps are truly asynchronous and quick.
  const file = cacheFile();
  const kept = await readFile(file, "utf8").catch(() => "");
  if (kept === "eager" || kept === "awaited") return kept;
  const verdict = await probe();
  if (verdict === null) return "awaited";
  await mkdir(join(file, ".."), { recursive: true })
    .then(() => writeFile(file, verdict))
    .catch(() => undefined); // A cache that cannot be written only costs the next start a probe.
  return verdict;
}

function cacheFile(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  return join(cache, "ganglion", `readback-${runtime.name}-${runtime.version}`);
}

/** null: there was no device to probe with, which says nothing about the runtime. */
function probe(): Promise<ReadbackMode | null> {
  const config = join(ROOT, "deno.json");
  const script = join(import.meta.dirname ?? ".", "readback_probe.ts");
  const args = ["run", "-A", "--no-prompt", "--config", config, script];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: PROBE_MS }, (error, stdout, stderr) => {
      if (error === null && stdout.trim() === "eager") resolve("eager");
      else resolve(stderr.includes("no adapter") ? null : "awaited");
    });
  });
}
