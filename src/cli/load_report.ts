/** What `load` says: lines while it runs, the tables at its end, everything as JSON. */
import type { BucketMs, CapacityResult, Ending, LoadResult, WindowResult } from "../load/mod.ts";

/** Fewer latencies do not know their 99th percentile. */
const P99_COUNT_MIN = 1000;

const ENDINGS: Readonly<Record<Ending, string>> = {
  stable: "three windows agreed",
  unstable: "the windows never agreed within 10 %",
  late: "three windows in a row were late",
  overloaded: "chunks stayed without outputs",
  interrupted: "stopped",
};

/** Three digits, or none where there is no value. */
export function msText(ms: number): string {
  if (!Number.isFinite(ms)) return "-";
  return ms >= 100 ? ms.toFixed(0) : ms >= 10 ? ms.toFixed(1) : ms.toFixed(2);
}

export const countText = (value: number): string =>
  Number.isFinite(value) ? value.toLocaleString("en-US", { maximumFractionDigits: 0 }) : "-";

export const percentText = (share: number): string =>
  Number.isFinite(share) ? `${(100 * share).toFixed(share > 0 && share < 0.1 ? 2 : 1)} %` : "-";

/** As an estimate: `40 s`, `3 min`. */
export const secondsText = (seconds: number): string =>
  seconds < 100 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`;

export const endingText = ({ ending }: LoadResult): string => ENDINGS[ending];

/** `10 to 25`, or `over 10,000` */
export function bucketText({ above, upTo }: BucketMs): string {
  const text = (ms: number) => String(Number(ms.toPrecision(3)));
  return upTo === null ? `over ${text(above)}` : `${text(above)} to ${text(upTo)}`;
}

/** Whether the client itself was in time; of a search, where it decided. */
export function isValid(found: LoadResult | CapacityResult): boolean {
  return problemsOf(found).length === 0;
}

/** Why the numbers are not to be trusted. */
export function problemsOf(found: LoadResult | CapacityResult): string[] {
  if (!("capacity" in found)) {
    return found.client.late
      ? [
        `NOT VALID: this client was late itself (1 % of its timers by more than ` +
        `${msText(found.client.lagMs.p99)} ms): run it where it has a core to itself`,
      ]
      : [];
  }
  const { trials, sessions } = found.capacity;
  const least = leastFailed(found.capacity);
  const deciding = trials.filter((trial) => trial.sessions === least);
  return deciding.length > 0 && deciding.every(({ result }) => result.client.late)
    ? [
      `NOT VALID: this client was late itself at ${least} sessions, so the server may hold more ` +
      `than ${sessions}: run it where it has a core to itself`,
    ]
    : [];
}

/** The smallest number that did not hold; Infinity where all did. */
const leastFailed = ({ sessions, trials }: CapacityResult["capacity"]): number =>
  Math.min(...trials.map((trial) => trial.sessions).filter((each) => each > sessions));

/** What a trial decides: the capacity itself, or that it is no larger. */
export function decidesText(
  { sessions, holds }: CapacityResult["capacity"]["trials"][number],
  capacity: CapacityResult["capacity"],
): string {
  if (sessions === capacity.sessions && holds) return "most that held";
  return sessions === leastFailed(capacity) ? "fewest that failed" : "";
}

export const windowLine = ({ atMs, finished, latencyMs, framesLate }: WindowResult): string =>
  `second ${Math.round(atMs / 1000) + 1}: ${finished} chunks, p50 ${msText(latencyMs.p50)} ms, ` +
  `p99 ${msText(latencyMs.p99)} ms, ${framesLate} frames late`;

const TRIAL = ["sessions", "chunks/s", "p50 ms", "p99 ms", "late", "client lag", "in time", "left"];

export const trialHead = (): string => row(TRIAL);

/** A trial, and the time that the search may still take. */
export function trialLine(result: LoadResult, leftSeconds: number): string {
  const { sessions, finishedPerSecond, latencyMs, framesLate, frames, client, holds } = result;
  return row([
    String(sessions),
    countText(finishedPerSecond),
    msText(latencyMs.p50),
    msText(latencyMs.p99),
    percentText(framesLate / frames),
    `${msText(client.lagMs.p99)} ms`,
    holds ? "yes" : client.late ? "not sure" : result.ending === "overloaded" ? "no, behind" : "no",
    leftSeconds > 0 ? `~${secondsText(leftSeconds)}` : "",
  ]);
}

const row = (cells: readonly string[]): string =>
  cells.map((cell, i) => cell.padStart(i === 0 ? 8 : 11)).join("").trimEnd();

export function settingText({ setting }: Pick<LoadResult, "setting">): string {
  const { url, model, periodMs, chunkFrames } = setting;
  const frames = chunkFrames === 1 ? "1 frame" : `${chunkFrames} frames`;
  return `"${model.id}" at ${url} on ${model.executor.kind} (${model.executor.device}), ` +
    `${model.slots} slots; a chunk of ${frames} of ${model.frame} steps every ` +
    `${periodMs * chunkFrames} ms and session`;
}

export function verdictText(result: LoadResult): string {
  const { latencyMs, setting, holds, ending, unanswered } = result;
  if (latencyMs.count === 0) return "nothing was measured yet";
  if (ending === "overloaded") {
    return `overloaded: ${countText(result.finishedPerSecond)} of ` +
      `${countText(result.offeredPerSecond)} chunks a second came out, ${unanswered} were waiting`;
  }
  const p99 = `p99 ${msText(latencyMs.p99)} ms`;
  return holds
    ? `in time: ${p99} is at most ${setting.targetMs} ms`
    : `too slow: ${p99} is above ${setting.targetMs} ms`;
}

/** One measurement, ours beside the server's. */
export function loadText(result: LoadResult): string {
  const problems = problemsOf(result);
  const verdict = [...problems];
  // A client that is late makes latencies longer, never shorter.
  if (problems.length === 0 || result.holds) {
    verdict.push(`${result.sessions} sessions are ${verdictText(result)}`);
  }
  const lines = [settingText(result), "", ...measurementLines(result), "", ...verdict];
  return `${lines.join("\n")}\n`;
}

export function capacityText(found: CapacityResult): string {
  const { capacity, setting } = found;
  const { sessions, trials } = capacity;
  const best = trials.findLast((trial) => trial.holds && trial.sessions === sessions)?.result;
  const lines = [settingText(found), ""];
  if (best !== undefined) lines.push(...measurementLines(best), "");
  const problems = problemsOf(found);
  lines.push(...problems, `capacity    ${capacityVerdict(found)}`);
  if (problems.length === 0 && best === undefined && trials.length > 0) {
    lines.push(`            ${trials.at(-1)!.sessions} were ${verdictText(trials.at(-1)!.result)}`);
  }
  if (capacity.interrupted) {
    lines.push(`            stopped before the search for ${setting.targetMs} ms ended`);
  }
  return `${lines.join("\n")}\n`;
}

export function capacityVerdict(found: CapacityResult): string {
  const { capacity, setting } = found;
  const { sessions, atLimit, interrupted } = capacity;
  if (!isValid(found) && sessions === 0) return "not known";
  const what = `${sessions} sessions with p99 at most ${setting.targetMs} ms`;
  if (atLimit) return `at least ${what}: the server takes no more, start it with more --slots`;
  return interrupted || !isValid(found) ? `at least ${what}` : what;
}

function measurementLines(result: LoadResult): string[] {
  const { latencyMs, server, client, sessions, offeredPerSecond, finishedPerSecond } = result;
  const { framesLate, frames, agreement } = result;
  const table = [
    ["", "chunks", "mean", "p50", "p90", "p95", "p99", "max ms"],
    [
      "latency",
      countText(latencyMs.count),
      ...[
        latencyMs.mean,
        latencyMs.p50,
        latencyMs.p90,
        latencyMs.p95,
        latencyMs.p99,
        latencyMs.max,
      ].map(msText),
    ],
  ];
  if (server !== null) {
    const { mean, p50, p90, p99 } = server.chunkMs;
    const cells = [p50, p90].map(bucketText);
    table.push([
      "the server's",
      countText(server.chunks),
      msText(mean),
      ...cells,
      "",
      bucketText(p99),
      "",
    ]);
  }
  const widths = table[0]!.map((_, i) => Math.max(...table.map((cells) => cells[i]!.length)));
  const lines = table.map((cells) =>
    cells.map((cell, i) => i === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[i]!)).join("  ")
      .trimEnd()
  );
  lines.push(
    "",
    `sessions    ${sessions}, ${countText(finishedPerSecond)} of ${countText(offeredPerSecond)} ` +
      `chunks a second (${endingText(result)})`,
    `late        ${framesLate} of ${frames} frames` +
      (server === null ? "" : `; the server counted ${server.framesLate}`),
  );
  if (server !== null) {
    lines.push(
      `steps       ${countText(server.steps)} of ${msText(server.stepMs)} ms, ` +
        `${percentText(server.fill)} of the slots in each`,
    );
  }
  lines.push(
    `client      p99 lag ${msText(client.lagMs.p99)} ms, ${client.cores.toFixed(2)} of a core`,
  );
  if (agreement !== null) {
    lines.push(
      agreement.agrees
        ? `agreement   the server tells the same, without ${msText(agreement.outsideMs)} ms of ` +
          "requests, events and client"
        : `agreement   NONE: ${agreement.reason}`,
    );
  }
  if (latencyMs.count < P99_COUNT_MIN) {
    lines.push(
      `note        ${latencyMs.count} chunks do not know their p99 well; ${P99_COUNT_MIN} do`,
    );
  }
  return lines;
}

/** Everything; what is not finite is null. */
export function reportJson(found: LoadResult | CapacityResult): string {
  return `${JSON.stringify({ ...found, problems: problemsOf(found) }, null, 2)}\n`;
}
