/** The report of `load` as a page: verdict, latency beside the server's histogram, time, the search. */
import type { CapacityResult, LoadResult } from "../load/mod.ts";
import { type Axis, chartSvg, logAxis } from "./chart.ts";
import {
  bucketText,
  capacityVerdict,
  countText,
  decidesText,
  endingText,
  isValid,
  msText,
  percentText,
  problemsOf,
  settingText,
  verdictText,
} from "./load_report.ts";
import { banner, type Card, cards, figure, pageHtml, table } from "./page.ts";

export function loadPage(found: LoadResult | CapacityResult): string {
  const isSearch = "capacity" in found;
  const best = isSearch ? bestOf(found) : found;
  const name = `"${found.setting.model.id}"`;
  return pageHtml({
    title: isSearch ? `Real-time capacity of ${name}` : `Load on ${name}`,
    lead: settingText(found),
    parts: [
      ...problemsOf(found).map(banner),
      cards([
        ...(isSearch ? [capacityCard(found)] : []),
        ...(best ? resultCards(best, isValid(found)) : []),
      ]),
      ...(isSearch ? searchParts(found) : []),
      ...(best !== undefined && best.latencyMs.count > 0 ? resultParts(best) : []),
    ],
  });
}

/** What is shown of a search: its largest number that held, else its last try. */
function bestOf({ capacity }: CapacityResult): LoadResult | undefined {
  const { sessions, trials } = capacity;
  const held = trials.findLast((trial) => trial.holds && trial.sessions === sessions);
  return (held ?? trials.at(-1))?.result;
}

function capacityCard(found: CapacityResult): Card {
  return {
    name: "Capacity, sessions",
    value: String(found.capacity.sessions),
    remark: capacityVerdict(found),
    ...mood(found.capacity.sessions > 0, isValid(found)),
  };
}

/** Nothing looks good or bad of the server where the client was too late to judge it. */
function mood(isGood: boolean, valid: boolean): Pick<Card, "mood"> {
  return valid ? { mood: isGood ? "good" : "bad" } : {};
}

function resultCards(result: LoadResult, valid: boolean): Card[] {
  const { latencyMs, holds, client, frames, framesLate, server, agreement, sessions } = result;
  return [
    {
      name: `p99 of ${sessions} sessions`,
      value: `${msText(latencyMs.p99)} ms`,
      remark: valid || holds ? verdictText(result) : "not valid",
      ...mood(holds, valid),
    },
    {
      name: "Throughput",
      value: `${countText(result.finishedPerSecond)}/s`,
      remark: `chunks, of ${countText(result.offeredPerSecond)} offered`,
    },
    {
      name: "Late frames",
      value: percentText(framesLate / frames),
      remark: `${framesLate} of ${frames}` +
        (server === null ? "" : `; the server counted ${server.framesLate}`),
      ...(framesLate > 0.01 * frames ? { mood: "bad" as const } : {}),
    },
    {
      name: "Client lag, p99",
      value: `${msText(client.lagMs.p99)} ms`,
      remark: `${client.cores.toFixed(2)} of a core`,
      ...(client.late ? { mood: "bad" as const } : {}),
    },
    ...(agreement === null ? [] : [{
      name: "Against the server",
      value: !valid ? "-" : agreement.agrees ? "agrees" : "differs",
      remark: agreement.reason ?? `${msText(agreement.outsideMs)} ms are outside the server`,
      ...mood(agreement.agrees, valid),
    }]),
  ];
}

function searchParts({ capacity, setting }: CapacityResult): string[] {
  const { trials } = capacity;
  if (trials.length === 0) return [];
  const sorted = [...trials].sort((a, b) => a.sessions - b.sessions);
  const p99 = sorted.map(({ sessions, result }) => [sessions, result.latencyMs.p99] as const);
  const most = Math.max(setting.targetMs, ...p99.map(([, ms]) => ms));
  const svg = chartSvg({
    label: "p99 latency against the number of sessions",
    x: { label: "sessions", from: 0, to: 1.04 * sorted.at(-1)!.sessions },
    y: logAxis("p99 ms", Math.min(...p99.map(([, ms]) => ms)), most),
    series: [{
      name: "p99",
      points: p99,
      dots: true,
      line: false,
      hollow: new Set(sorted.flatMap(({ holds }, i) => holds ? [] : [i])),
    }],
    limit: { at: setting.targetMs, text: `${setting.targetMs} ms` },
  });
  const decides = trials.map((trial) => decidesText(trial, capacity));
  const rows = trials.map(({ sessions, holds, result }, i) => [
    String(sessions),
    countText(result.finishedPerSecond),
    msText(result.latencyMs.p50),
    msText(result.latencyMs.p99),
    percentText(result.framesLate / result.frames),
    `${msText(result.client.lagMs.p99)} ms`,
    holds ? "yes" : "no",
    endingText(result),
    decides[i]!,
  ]);
  const head = [
    "sessions",
    "chunks/s",
    "p50 ms",
    "p99 ms",
    "late",
    "client lag",
    "in time",
    "ended",
    "decides",
  ];
  return [
    figure(
      "How many sessions are served in time",
      svg,
      "Each point is one measurement: filled in time, hollow not. A number of sessions fails when it " +
        "fails twice.",
    ),
    table("The search", head, rows, (i) => decides[i] !== ""),
  ];
}

function resultParts(result: LoadResult): string[] {
  const { latencyMs, server, sessions } = result;
  const head = ["ms", "chunks", "mean", "p50", "p90", "p95", "p99", "max"];
  const { mean, p50, p90, p95, p99, max } = latencyMs;
  const rows = [[
    "from due to event",
    countText(latencyMs.count),
    ...[mean, p50, p90, p95, p99, max].map(msText),
  ]];
  if (server !== null) {
    const { chunkMs } = server;
    rows.push([
      "in the server",
      countText(server.chunks),
      msText(chunkMs.mean),
      bucketText(chunkMs.p50),
      bucketText(chunkMs.p90),
      "",
      bucketText(chunkMs.p99),
      "",
    ]);
  }
  return [
    figure(
      `Latency of ${sessions} sessions`,
      distribution(result),
      "Share of the chunks whose outputs came within so many ms of when they were due; the axis " +
        "stretches towards the slowest. The server's own histogram begins when a chunk has arrived: " +
        "the gap between the two is requests, events and the client.",
    ),
    figure("Over time", overTime(result), "One point a window; those that count are filled."),
    table("Latency, ours and the server's", head, rows),
    ...(server === null ? [] : [table("Steps", ["server", "steps", "mean ms", "fill"], [[
      "in the same time",
      countText(server.steps),
      msText(server.stepMs),
      percentText(server.fill),
    ]])]),
  ];
}

const PERCENTILES = [0, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];

/** Every nine takes as much room as the one before. */
function percentileAxis(last: number): Axis {
  const nines = (share: number) => -Math.log10(1 - Math.min(share, last));
  return {
    label: "share of the chunks",
    from: 0,
    to: last,
    place: (share) => nines(share) / nines(last),
    ticks: PERCENTILES.filter((share) => share <= last).map((at) => ({
      at,
      text: at === 0 ? "0" : `${Number((100 * at).toFixed(2))} %`,
    })),
  };
}

function distribution({ curve, latencyMs, server, setting }: LoadResult): string {
  const last = Math.max(0.9, 1 - 1 / Math.max(2, latencyMs.count));
  const ours = curve.map(([share, ms]) => [share, ms] as const);
  const theirs = (server?.chunkMs.shares ?? [])
    .filter(([, share]) => share > 0 && share < 1)
    .map(([bound, share]) => [share, bound] as const);
  const most = Math.max(setting.targetMs, latencyMs.max);
  return chartSvg({
    label: "Latency at each share of the chunks, ours and the server's",
    x: percentileAxis(last),
    y: { label: "ms", from: 0, to: 1.08 * most },
    series: [
      { name: "due to event", points: ours },
      ...(theirs.length === 0 ? [] : [{
        name: "the server's buckets",
        points: theirs.filter(([, bound]) => bound <= 1.08 * most),
        dots: true,
        line: false,
      }]),
    ],
    limit: { at: setting.targetMs, text: `${setting.targetMs} ms` },
  });
}

function overTime({ windows, setting }: LoadResult): string {
  const shown = windows.filter(({ latencyMs }) => latencyMs.count > 0);
  const series = (["p50", "p99", "max"] as const).map((name) => ({
    name,
    points: shown.map(({ atMs, latencyMs }) => [atMs / 1000, latencyMs[name]] as const),
    dots: true,
    hollow: new Set(shown.flatMap(({ counted }, i) => counted ? [] : [i])),
  }));
  const most = Math.max(setting.targetMs, ...shown.map(({ latencyMs }) => latencyMs.max));
  return chartSvg({
    label: "Median, p99 and largest latency of each window",
    x: {
      label: "seconds since the warm-up",
      from: 0,
      to: Math.max(1, (shown.at(-1)?.atMs ?? 0) / 1000),
    },
    y: { label: "ms", from: 0, to: 1.08 * most },
    series,
    limit: { at: setting.targetMs, text: `${setting.targetMs} ms` },
  });
}
