/** What the benches share: interleaved repeats, medians with their spread, a table and a JSON file. */
import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import process from "node:process";

export interface Contender {
  readonly name: string;
  /** Does the work once; resolves when its result is on the host. */
  readonly run: () => Promise<void> | void;
  /** Milliseconds of the last run, where the contender times itself; else the run is timed from outside. */
  readonly took?: () => number;
}

export interface Measured {
  readonly name: string;
  /** Milliseconds a run. */
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
}

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!;
}

/**
 * Runs all contenders in turn, `repeats` times, so that other load on the machine hits them alike. Two
 * rounds before that do not count.
 */
export async function interleave(
  contenders: readonly Contender[],
  repeats: number,
): Promise<Measured[]> {
  const times = contenders.map((): number[] => []);
  for (let round = -2; round < repeats; round++) {
    for (const [i, { run, took }] of contenders.entries()) {
      const begin = performance.now();
      await run();
      if (round >= 0) times[i]!.push(took?.() ?? performance.now() - begin);
    }
  }
  return contenders.map(({ name }, i) => ({
    name,
    median: quantile(times[i]!, 0.5),
    p10: quantile(times[i]!, 0.1),
    p90: quantile(times[i]!, 0.9),
  }));
}

export interface Report {
  readonly bench: string;
  readonly setting: Record<string, unknown>;
  readonly rows: readonly Record<string, unknown>[];
}

/** Prints the rows as a table and keeps them in bench/results/<name>.json, where all of them ran. */
export async function keep(name: string, report: Report, { kept = true } = {}): Promise<void> {
  console.table(report.rows);
  if (!kept) return;
  const folder = new URL("./results/", import.meta.url);
  await mkdir(folder, { recursive: true });
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`;
  const whole = { date: new Date().toISOString().slice(0, 10), machine, ...report };
  await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(whole, null, 1)}\n`);
}

export const runtimeName = "Bun" in globalThis
  ? `bun ${process.versions["bun"]}`
  : `deno ${(globalThis as unknown as { Deno: { version: { deno: string } } }).Deno.version.deno}`;

export const round = (x: number, digits = 3): number => Number(x.toPrecision(digits));
