// @ts-check
/** The server's numbers: small tiles on the first view, charts on the view of the server. */
import { chart, spark } from "./charts.js";
import { byId, h, replace, setText } from "./dom.js";
import { bytes, clock, duration, number, shortId } from "./format.js";

/** @import { Columns, Line } from "./charts.js" */
/** @import { MetricsHistory, Point } from "./metrics_history.js" */
/** @import { Server } from "./server.js" */

const percent = (/** @type {number} */ share) =>
  Number.isFinite(share) ? `${number(100 * share)} %` : "–";
const ms = (/** @type {number} */ value) => duration(value);

/** So long before a point is its gap. */
const GAP_MARK_SECONDS = 1;

/** @typedef {(point: Point) => number} Read */
/** @type {readonly { title: string, unit: string, read: Read, say: (point: Point) => string, line: string }[]} */
const TILES = [
  {
    title: "Throughput",
    unit: "frames/s",
    read: ({ frames }) => frames,
    say: ({ frames }) => number(frames),
    line: "spikes",
  },
  {
    title: "Step time",
    unit: "p50 · p99",
    read: ({ step99 }) => step99,
    say: ({ step50, step99 }) => pair(step50, step99),
    line: "series-1",
  },
  {
    title: "Fill",
    unit: "slots in a step",
    read: ({ fill }) => fill,
    say: ({ fill }) => percent(fill),
    line: "series-2",
  },
  {
    title: "Queue",
    unit: "frames waiting",
    read: ({ queue }) => queue,
    say: ({ queue }) => number(queue),
    line: "series-3",
  },
  {
    title: "Chunk to event",
    unit: "p50 · p99",
    read: ({ chunk99 }) => chunk99,
    say: ({ chunk50, chunk99 }) => pair(chunk50, chunk99),
    line: "series-1",
  },
  {
    title: "Refusals",
    unit: "a minute",
    read: ({ refusals }) => refusals,
    say: ({ refusals }) => number(refusals),
    line: "bad",
  },
];

/** Two durations, the unit once where it is the same. @param {number} low @param {number} high */
function pair(low, high) {
  const [a, b] = [duration(low), duration(high)];
  const [lowNumber, unit] = a.split(" ");
  return unit !== undefined && b.endsWith(` ${unit}`)
    ? `${lowNumber} · ${b}`
    : a === b
    ? a
    : `${a} · ${b}`;
}

/** @type {readonly { title: string, unit: string, about: string, lines: readonly (Line & { read: Read })[], format: (value: number) => string, needsPhases?: boolean, binary?: boolean }[]} */
const CHARTS = [
  {
    title: "Throughput",
    unit: "frames a second",
    about: "Frames that ran, of all sessions.",
    lines: [{ name: "frames", colour: "spikes", read: ({ frames }) => frames }],
    format: number,
  },
  {
    title: "Chunk to event",
    unit: "percentiles",
    about: "From taking a chunk to its last event.",
    lines: [
      { name: "p50", colour: "series-1", read: ({ chunk50 }) => chunk50 },
      { name: "p95", colour: "series-2", read: ({ chunk95 }) => chunk95 },
      { name: "p99", colour: "series-3", read: ({ chunk99 }) => chunk99 },
    ],
    format: ms,
  },
  {
    title: "Step time",
    unit: "percentiles",
    about: "One batched step, all of it.",
    lines: [
      { name: "p50", colour: "series-1", read: ({ step50 }) => step50 },
      { name: "p99", colour: "series-3", read: ({ step99 }) => step99 },
    ],
    format: ms,
  },
  {
    title: "Step time split",
    unit: "means",
    about: "Parts of a step, as the executor measures them.",
    lines: ["upload", "compute", "readback"].map((phase, i) => ({
      name: phase,
      colour: `series-${i + 1}`,
      read: ({ phases }) => phases.get(phase) ?? NaN,
    })),
    format: ms,
    needsPhases: true,
  },
  {
    title: "Fill",
    unit: "share of the slots",
    about: "Slots that take part in a step, on average.",
    lines: [{ name: "fill", colour: "series-2", read: ({ fill }) => fill }],
    format: percent,
  },
  {
    title: "Queue",
    unit: "frames",
    about: "Frames queued or running; grows when too much comes.",
    lines: [{ name: "waiting", colour: "series-3", read: ({ queue }) => queue }],
    format: number,
  },
  {
    title: "Refusals",
    unit: "a minute",
    about: "Requests answered with a problem.",
    lines: [{ name: "refused", colour: "bad", read: ({ refusals }) => refusals }],
    format: number,
  },
  {
    title: "Memory",
    unit: "bytes",
    about: "Resident memory of the server's process.",
    lines: [{ name: "resident", colour: "series-1", read: ({ memory }) => memory }],
    format: bytes,
    binary: true,
  },
];

/** @param {MetricsHistory} history */
export function metricTiles(history) {
  const tiles = TILES.map(({ title, unit, read, say, line }) => {
    const value = h("b", {}, "–");
    const place = h("div", { class: "spark", "aria-hidden": "true" });
    const element = h(
      "li",
      { class: "card" },
      h("h3", {}, title, " ", h("small", {}, unit)),
      value,
      place,
    );
    return { element, value, plot: spark(place, line), read, say };
  });
  replace(byId("tiles"), ...tiles.map(({ element }) => element));
  history.addEventListener("change", () => {
    const { points, latest } = history;
    for (const { value, plot, read, say } of tiles) {
      setText(value, latest === undefined ? "–" : say(latest));
      plot.data = columns(points, [read]);
    }
  });
}

/** @param {MetricsHistory} history @param {Server} server */
export function serverView(history, server) {
  const charts = CHARTS.map(({ lines, needsPhases = false, ...rest }) => ({
    ...chart({ ...rest, lines }),
    needsPhases,
    reads: lines.map(({ read }) => read),
  }));
  replace(byId("charts"), ...charts.map(({ element }) => element));
  history.addEventListener("change", () => {
    const hasPhases = history.points.some(({ phases }) => phases.size > 0);
    for (const { element, show, reads, needsPhases } of charts) {
      // Not every executor tells its phases.
      element.hidden = needsPhases && !hasPhases;
      show(columns(history.points, reads));
    }
    showRefusals(history);
  });
  server.addEventListener("log", () => showLog(server));
  showLog(server);
}

/**
 * Before a point that comes after a gap stands one without values, so that no line is drawn across.
 * @param {readonly Point[]} points
 * @param {readonly Read[]} reads
 * @returns {Columns}
 */
function columns(points, reads) {
  const rows = points.flatMap((point) => {
    const values = reads.map((read) => read(point));
    const row = [point.at, ...values.map((value) => Number.isFinite(value) ? value : null)];
    return point.afterGap ? [[point.at - GAP_MARK_SECONDS, ...values.map(() => null)], row] : [row];
  });
  return [0, ...reads].map((_, column) => rows.map((row) => row[column] ?? null));
}

/** @param {MetricsHistory} history */
function showRefusals({ refusals }) {
  replace(
    byId("refusals"),
    ...(refusals.length === 0
      ? [h("tr", {}, h("td", { colspan: 2 }, "None since the server began."))]
      : refusals.map(([code, count]) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, h("code", {}, code)),
          h("td", { class: "number" }, number(count)),
        )
      )),
  );
}

/** @param {Server} server */
function showLog({ log }) {
  replace(
    byId("log"),
    log.length === 0 && h("li", {}, "Nothing yet: sessions that open and end stand here."),
    ...log.slice(0, 30).map(({ at, event, data }) =>
      h("li", {}, h("time", { datetime: at.toISOString() }, clock(at)), " ", inWords(event, data))
    ),
  );
}

/** @param {string} event @param {any} data */
function inWords(event, data) {
  const session = data.session === null ? "of another key" : shortId(String(data.session));
  switch (event) {
    case "session_opened":
      return `Session ${session} of ${data.model} opened`;
    case "session_ended":
      return `Session ${session} of ${data.model} ended: ${data.reason}, ${
        number(data.steps_done)
      } steps`;
    case "server_lost":
      return "The server does not answer";
    case "server_back":
      return "The server is back";
    case "device_lost":
      return `The device of ${data.model} was lost`;
    case "phase":
      return `The server is ${data.phase}`;
    case "missed":
      return `${number(data.events)} events were missed`;
    default:
      return event;
  }
}
