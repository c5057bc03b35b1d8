/** The report of a run as text: tables in the order and the formats of the original. */
import { type Report, showNumber } from "../serq/mod.ts";

type Row = readonly string[];

/** One table: the first column to the left, the others to the right. */
export function table(head: Row, rows: readonly Row[]): string[] {
  const widths = head.map((cell, i) =>
    Math.max(...[head, ...rows].map((row) => [...row[i] ?? cell].length))
  );
  const line = (row: Row): string =>
    row.map((cell, i) =>
      i === 0 ? pad(cell, widths[i]!) : " ".repeat(widths[i]! - [...cell].length) + cell
    )
      .join("  ").trimEnd();
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)];
}

function pad(text: string, width: number): string {
  return text + " ".repeat(width - [...text].length);
}

/** Fixed digits; NaN and inf in words. */
export function fixed(value: number, digits: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return value.toFixed(digits);
}

function named({ name, index }: { name: string; index: number | null }): string {
  return index === null ? name : `${name}[${index}]`;
}

export function reportText(report: Report): string {
  const { horizon, end, warmup, seed, events, arrivals, ended, turns } = report;
  const numbers = Object.entries({ horizon, end, warmup, seed, events, arrivals, ended, turns })
    .map(([name, value]) => `${name} ${showNumber(value)}`).join(" ");
  const sections = [
    observations("observe", report.observes),
    gauges(report),
    stages(report),
    engines(report),
    pools(report),
    client(report),
    claims(report),
    warnings(report),
  ].filter((lines) => lines.length > 0);
  const head = `run: ${numbers} mean live ${fixed(report.mean_live, 3)}`;
  return [head, ...sections.flatMap((lines) => ["", ...lines]), ""].join("\n");
}

function observations(head: string, observes: Report["observes"]): string[] {
  const all = Object.entries(observes);
  if (all.length === 0) return [];
  const rows = all.map(([name, o]) => [
    ...[name, String(o.count), fixed(o.mean, 4), `±${fixed(o.ci, 4)}`, fixed(o.cv2, 3)],
    ...Object.values(percentilesOf(o)).map((value) => fixed(value, 4)),
  ]);
  const names = Object.keys(percentilesOf(all[0]![1]));
  return table([head, "count", "mean", "95% CI", "cv2", ...names], rows);
}

/** What the client of each turn saw; turns without tokens have no times to them. */
function client({ client: seen }: Report): string[] {
  const found = Object.entries(seen).filter(([, { count }]) => count > 0);
  return observations("client", Object.fromEntries(found));
}

type Observed = Report["observes"][string];

/** Those that were asked for; else the one that every report has. */
export function percentilesOf({ percentiles, p99 }: Observed): Readonly<Record<string, number>> {
  return percentiles ?? { p99 };
}

function gauges({ gauges: all }: Report): string[] {
  const rows = Object.entries(all).map(([name, { mean, ci, min, max }]) => [
    ...[name, fixed(mean, 4), `±${fixed(ci, 4)}`, fixed(min, 4), fixed(max, 4)],
  ]);
  return rows.length === 0 ? [] : table(["gauge", "mean", "95% CI", "min", "max"], rows);
}

function stages({ stages: all }: Report): string[] {
  const rows = all.map((stage) => [
    ...[named(stage), fixed(stage.mean_number, 3), fixed(stage.utilization, 3)],
    ...[String(stage.completed), fixed(stage.throughput, 4), fixed(stage.mean_wait, 4)],
    ...[fixed(stage.mean_service, 4), String(stage.iterations)],
  ]);
  const head = ["stage", "number", "util", "done", "thru", "wait", "service", "iters"];
  return rows.length === 0 ? [] : table(head, rows);
}

function engines({ stages: all }: Report): string[] {
  const rows = all.filter(({ iterations }) => iterations > 0).map((stage) => {
    const { prefill_only: prefill, decode_only: decode, mixed } = stage;
    return [
      ...[named(stage), fixed(prefill, 3), fixed(decode, 3), fixed(mixed, 3)],
      ...[fixed(1 - prefill - decode - mixed, 3), fixed(stage.mean_decodes, 3)],
      ...[fixed(stage.mean_decode_batch, 3), fixed(stage.mean_decode_step, 6)],
      ...[fixed(stage.itl_p50, 6), fixed(stage.itl_p99, 6)],
    ];
  });
  const head = ["step", "prefill only", "decode only", "mixed", "idle", "decodes", "decode batch"];
  return rows.length === 0 ? [] : table([...head, "decode step", "itl p50", "itl p99"], rows);
}

function pools({ pools: all }: Report): string[] {
  const rows = all.map((pool) => [
    ...[
      named(pool),
      fixed(pool.mean_used, 1),
      fixed(pool.mean_cached, 1),
      fixed(pool.mean_queue, 3),
    ],
    ...[fixed(pool.mean_holders, 3), fixed(pool.mean_wait, 4), String(pool.admissions)],
    ...[String(pool.evicted_entries), fixed(pool.evicted_units, 0), String(pool.preemptions)],
    ...[String(pool.spills), String(pool.rejected), String(pool.stuck)],
  ]);
  const head = [
    "pool",
    "used",
    "cached",
    "queue",
    "holders",
    "wait",
    "admits",
    "evict(n)",
    "evict(u)",
  ];
  return rows.length === 0 ? [] : table([...head, "preempt", "spill", "rej", "stuck"], rows);
}

function claims({ claims: all = [] }: Report): string[] {
  const rows = all.map(({ name, result, checked, failures, first }) => [
    ...[name, result.replaceAll("_", " "), String(checked), String(failures)],
    first === null ? "" : showNumber(first),
  ]);
  return rows.length === 0 ? [] : table(["claim", "result", "checked", "failures", "first"], rows);
}

/** What a reader should not miss. */
function warnings({ stages: all, pools: every, observes }: Report): string[] {
  const lines: string[] = [];
  for (const pool of every) {
    const name = named(pool);
    if (pool.stuck > 0) {
      lines.push(`stuck: ${pool.stuck} session(s) preempted again at pool ${name}`);
    }
    if (pool.over_cap !== null) {
      const { queue, need } = pool.over_cap;
      lines.push(
        `over: queue ${queue} waits for ${showNumber(need)} of pool ${name}, over its cap`,
      );
    }
    if (pool.growing_at_end > 0) {
      const forever = pool.growing_stalled ? ", and none will free room" : "";
      lines.push(`grow: ${pool.growing_at_end} hold(s) wait to grow in pool ${name}${forever}`);
    }
  }
  for (const stage of all) {
    if (stage.idle_with_work) {
      lines.push(`idle: engine ${named(stage)} has work and schedules nothing`);
    }
  }
  for (const [name, { count, mean, p99, cv2 }] of Object.entries(observes)) {
    if (count >= 40 && mean === 0 && p99 === 0 && Number.isNaN(cv2)) {
      lines.push(`note: observe ${name} is constant 0 over ${count} samples`);
    }
  }
  return lines;
}
