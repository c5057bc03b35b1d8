/** What is counted of the chunks that were due in one stretch of time. */
import { summarise } from "./summary.ts";
import type { WindowResult } from "./types.ts";

export class LoadWindow {
  readonly latencies: number[] = [];
  offered = 0;
  /** By the time of their outputs, whenever they were due. */
  finished = 0;
  frames = 0;
  framesLate = 0;
  readonly lags: number[] = [];
  #p50: number | null = null;

  get isAnswered(): boolean {
    return this.latencies.length === this.offered;
  }

  /** Of a window in which nothing is outstanding. */
  get p50(): number {
    return this.#p50 ??= summarise(this.latencies).p50;
  }

  result(atMs: number, counted: boolean): WindowResult {
    const { offered, finished, framesLate } = this;
    return { atMs, offered, finished, framesLate, counted, latencyMs: summarise(this.latencies) };
  }
}

/** Counts may differ by a chunk at each edge, medians by what a timer rounds. */
const SLACK_CHUNKS = 2;
const SLACK_MS = 1;
const SHARE = 0.1;

/** Whether throughput and median latency of the windows are within 10 % of each other. */
export function agree(windows: readonly LoadWindow[]): boolean {
  return within(windows.map(({ finished }) => finished), SLACK_CHUNKS) &&
    within(windows.map(({ p50 }) => p50), SLACK_MS);
}

function within(values: readonly number[], slack: number): boolean {
  const most = Math.max(...values);
  return most - Math.min(...values) <= Math.max(SHARE * most, slack);
}
