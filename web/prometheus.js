// @ts-check
/** The text of `/metrics` as numbers, and what two readings of it say about the time between. */

/** @typedef {{ readonly labels: Readonly<Record<string, string>>, readonly value: number }} Sample */
/** @typedef {ReadonlyMap<string, readonly Sample[]>} Reading samples by the name of their line */
/** @typedef {readonly (readonly [upTo: number, count: number])[]} Buckets counts up to each bound */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** @param {string} text @returns {Reading} */
export function parseMetrics(text) {
  /** @type {Map<string, Sample[]>} */
  const reading = new Map();
  for (const line of text.split("\n")) {
    const [, name, labelText = "", value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    /** @type {Record<string, string>} */
    const labels = {};
    for (const [, label = "", quoted = ""] of labelText.matchAll(LABEL)) {
      labels[label] = quoted.replaceAll(/\\(.)/g, (_, char) => char === "n" ? "\n" : char);
    }
    const samples = reading.get(name) ?? [];
    samples.push({ labels, value: value === "+Inf" ? Infinity : Number(value) });
    reading.set(name, samples);
  }
  return reading;
}

/** All lines of a name added up. @param {Reading} reading @param {string} name */
export function sum(reading, name) {
  return (reading.get(name) ?? []).reduce((total, { value }) => total + value, 0);
}

/**
 * A counter's value for each value of one of its labels.
 * @param {Reading} reading
 * @param {string} name
 * @param {string} label
 */
export function sumBy(reading, name, label) {
  /** @type {Map<string, number>} */
  const totals = new Map();
  for (const { labels, value } of reading.get(name) ?? []) {
    const key = labels[label] ?? "";
    totals.set(key, (totals.get(key) ?? 0) + value);
  }
  return totals;
}

/**
 * What a histogram counted between two readings, over all its labels.
 * @param {Reading} before
 * @param {Reading} now
 * @param {string} name
 * @returns {Buckets}
 */
export function bucketsBetween(before, now, name) {
  const counts = sumBy(now, `${name}_bucket`, "le");
  const old = sumBy(before, `${name}_bucket`, "le");
  return [...counts]
    .map((
      [le, count],
    ) => /** @type {const} */ ([le === "+Inf" ? Infinity : Number(le), count - (old.get(le) ?? 0)]))
    .sort(([a], [b]) => a - b);
}

/**
 * The value below which a share of the observations lies, as Prometheus estimates it: linear within
 * its bucket. NaN where nothing was observed.
 * @param {Buckets} buckets
 * @param {number} share 0 to 1
 */
export function quantile(buckets, share) {
  const total = buckets.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return NaN;
  const rank = share * total;
  let [lower, below] = [0, 0];
  for (const [upTo, count] of buckets) {
    if (count >= rank) {
      if (upTo === Infinity) return lower;
      return count === below ? upTo : lower + (upTo - lower) * (rank - below) / (count - below);
    }
    [lower, below] = [upTo, count];
  }
  return lower;
}
