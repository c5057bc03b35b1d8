// @ts-check
/** The last minutes of the server's metrics, as series: asked for every two seconds while seen. */
import { request } from "./api.js";
import { bucketsBetween, parseMetrics, quantile, sum, sumBy } from "./prometheus.js";

/** @import { Reading } from "./prometheus.js" */
/**
 * @typedef {object} Point
 * @property {number} at seconds since 1970
 * @property {boolean} afterGap whether the server was not read, or was another process, just before
 * @property {number} frames a second
 * @property {number} step50 seconds
 * @property {number} step99
 * @property {number} fill mean share of the slots in a step
 * @property {number} queue frames waiting
 * @property {number} chunk50 seconds from taking a chunk to the event with its last step
 * @property {number} chunk95
 * @property {number} chunk99
 * @property {number} refusals a minute
 * @property {number} memory bytes
 * @property {ReadonlyMap<string, number>} phases mean seconds of a step in each of its phases
 */

const EVERY_MS = 2000;
const POINTS_MAX = 150;
/** Quantiles look back over so many readings, so that few observations make no noise. */
const LOOK_BACK = 5;
/** Readings further apart say nothing of the time between. */
const GAP_SECONDS = 3.5 * EVERY_MS / 1000;

export class MetricsHistory extends EventTarget {
  /** @type {Point[]} */
  points = [];
  /** Since the server began, the most first. @type {readonly (readonly [code: string, count: number])[]} */
  refusals = [];
  version = "";
  /** @type {{ at: number, reading: Reading }[]} */
  #readings = [];
  #isAfterGap = false;
  #isAsking = false;

  start() {
    setInterval(() => void this.#askWhileSeen(), EVERY_MS);
    void this.#askWhileSeen();
  }

  get latest() {
    return this.points.at(-1);
  }

  async #askWhileSeen() {
    if (document.hidden || this.#isAsking) return;
    this.#isAsking = true;
    try {
      const answer = await request("/metrics");
      this.#take(parseMetrics(await answer.text()));
    } catch {
      // Whoever watches the server says that it is away.
    } finally {
      this.#isAsking = false;
    }
  }

  /** @param {Reading} reading */
  #take(reading) {
    const at = Date.now() / 1000;
    const frames = "ganglion_frames_total";
    const last = this.#readings.at(-1);
    // Counters that go back are those of another process.
    const isGap = last !== undefined &&
      (at - last.at > GAP_SECONDS || sum(reading, frames) < sum(last.reading, frames));
    if (isGap) {
      this.#readings = [];
      this.#isAfterGap = this.points.length > 0;
    }
    const before = this.#readings.at(-LOOK_BACK) ?? this.#readings[0];
    this.#readings.push({ at, reading });
    if (this.#readings.length > LOOK_BACK) this.#readings.shift();
    this.refusals = [...sumBy(reading, "ganglion_refusals_total", "code")].sort(([, a], [, b]) =>
      b - a
    );
    this.version = reading.get("ganglion_build_info")?.[0]?.labels["version"] ?? "";
    if (before !== undefined) {
      this.points.push({ ...pointOf(before, { at, reading }), afterGap: this.#isAfterGap });
      this.#isAfterGap = false;
      if (this.points.length > POINTS_MAX) this.points.shift();
    }
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {{ at: number, reading: Reading }} before
 * @param {{ at: number, reading: Reading }} now
 * @returns {Omit<Point, "afterGap">}
 */
function pointOf(before, { at, reading }) {
  const seconds = Math.max(0.001, at - before.at);
  const grown = (/** @type {string} */ name) => sum(reading, name) - sum(before.reading, name);
  const step = bucketsBetween(before.reading, reading, "ganglion_step_seconds");
  const chunk = bucketsBetween(before.reading, reading, "ganglion_chunk_seconds");
  return {
    at,
    frames: grown("ganglion_frames_total") / seconds,
    step50: quantile(step, 0.5),
    step99: quantile(step, 0.99),
    fill: grown("ganglion_step_fill_sum") / grown("ganglion_step_fill_count"),
    queue: sum(reading, "ganglion_frames_waiting"),
    chunk50: quantile(chunk, 0.5),
    chunk95: quantile(chunk, 0.95),
    chunk99: quantile(chunk, 0.99),
    refusals: grown("ganglion_refusals_total") / seconds * 60,
    memory: sum(reading, "ganglion_resident_memory_bytes"),
    phases: phasesOf(before.reading, reading),
  };
}

/** @param {Reading} before @param {Reading} now */
function phasesOf(before, now) {
  const name = "ganglion_step_phase_seconds";
  const seconds = sumBy(now, `${name}_sum`, "phase");
  const counts = sumBy(now, `${name}_count`, "phase");
  const oldSeconds = sumBy(before, `${name}_sum`, "phase");
  const oldCounts = sumBy(before, `${name}_count`, "phase");
  return new Map([...seconds].map(([phase, total]) => [
    phase,
    (total - (oldSeconds.get(phase) ?? 0)) /
    ((counts.get(phase) ?? 0) - (oldCounts.get(phase) ?? 0)),
  ]));
}
