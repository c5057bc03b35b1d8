/**
 * Tries many mutants fast: a child process reads them one after another, and is replaced when it hangs,
 * grows or traps (which a damaged file can do to the HDF5 library). Those that did, and a sample of the
 * others, are then read as Ganglion reads a file that nobody vouches for, by `readNirIsolated`: that
 * must give an error of ours, or the same verdict, in its time.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { GanglionError } from "../../src/base/errors.ts";
import { compilePlan } from "../../src/model/mod.ts";
import { readNirIsolated } from "../../src/runtime/nir_process.ts";
import { mutantOf } from "./mutants.ts";

const CHILD = fileURLToPath(new URL("mutation_child.ts", import.meta.url));
/** Mutants a child reads before a fresh one goes on; what it leaked goes with it. */
const PER_CHILD = 500;
const WATCH_EVERY_MS = 100;
const RESIDENT_MAX = 768 << 20;

export interface Verdict {
  readonly seed: number;
  /** `ran`, `large`, an error's code, `hung`, `grew`, `died`, or `crash: …`, which is a failure. */
  readonly outcome: string;
  readonly trapped: boolean;
}

export interface Trial {
  readonly from: number;
  readonly count: number;
  /** Longest silence of a child before it counts as hanging. */
  readonly patienceMs: number;
  readonly onVerdict?: (verdict: Verdict) => void;
}

/** The verdicts of all seeds, in order. */
export async function tryMutants(
  { from, count, patienceMs, onVerdict }: Trial,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  while (verdicts.length < count) {
    const next = from + verdicts.length;
    const left = Math.min(PER_CHILD, count - verdicts.length);
    const before = verdicts.length;
    const end = await runChild(next, left, patienceMs, (verdict) => {
      verdicts.push(verdict);
      onVerdict?.(verdict);
    });
    // A child that ended early without a trap fell over the seed it was at.
    if (end === null || verdicts.length - before === left) continue;
    const verdict = { seed: from + verdicts.length, outcome: end, trapped: false };
    verdicts.push(verdict);
    onVerdict?.(verdict);
  }
  return verdicts;
}

/** Why the child ended: null when all is said, by it or by the trap it told of. */
function runChild(
  from: number,
  count: number,
  patienceMs: number,
  tell: (verdict: Verdict) => void,
): Promise<"hung" | "grew" | "died" | null> {
  const child = spawn(process.execPath, [CHILD, String(from), String(count)], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  return new Promise((resolve) => {
    let why: "hung" | "grew" | null = null;
    let heard = performance.now();
    let trapped = false;
    let rest = "";
    const stop = (reason: "hung" | "grew"): void => {
      why ??= reason;
      child.kill("SIGKILL");
    };
    const watch = setInterval(() => {
      if (performance.now() - heard > patienceMs) stop("hung");
      else if (residentBytes(child) > RESIDENT_MAX) stop("grew");
    }, WATCH_EVERY_MS);
    child.stdout.on("data", (part: Uint8Array) => {
      heard = performance.now();
      const lines = (rest + new TextDecoder().decode(part)).split("\n");
      rest = lines.pop()!;
      for (const line of lines) {
        const verdict = JSON.parse(line) as Verdict;
        trapped = verdict.trapped;
        tell(verdict);
      }
    });
    child.on("close", (code) => {
      clearInterval(watch);
      resolve(why ?? (code === 0 || trapped ? null : "died"));
    });
  });
}

function residentBytes({ pid }: ChildProcess): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return line === null ? 0 : Number(line[1]) * 1024;
  } catch {
    return 0;
  }
}

/** What `readNirIsolated` and the compiler say of a mutant: `read` or the code of an error of ours. */
export async function isolatedVerdict(seed: number, modelSecondsMax: number): Promise<string> {
  const { bytes } = await mutantOf(seed);
  try {
    const graph = await readNirIsolated(bytes, { limits: { modelSecondsMax } });
    compilePlan(graph);
    return "read";
  } catch (error) {
    return error instanceof GanglionError ? error.code : `crash: ${String(error)}`;
  }
}

/** Whether a mutant is dangerous to a process that reads it. */
export const isDangerous = ({ outcome, trapped }: Verdict): boolean =>
  trapped || ["hung", "grew", "died"].includes(outcome);

/** Process ids of this process's children, dead ones that nobody waited for included. */
export function childrenNow(): Set<string> {
  const { pid } = process;
  try {
    const list = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return new Set(list.split(" ").filter((each) => each !== ""));
  } catch {
    return new Set(); // not told on this system
  }
}
