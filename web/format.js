// @ts-check
/** Numbers, durations and ids as people read them. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** @param {number} value three digits that count: 0.0123, 1.23, 12.3, 1,230 */
export function number(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return WHOLE.format(value);
  if (size >= 10) return value.toFixed(1);
  return size >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(2)));
}

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** In little room: 1.4K. @param {number} value */
export const compact = (value) => Math.abs(value) < 1000 ? number(value) : COMPACT.format(value);

/** @param {number} seconds */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds === 0) return "0 ms";
  if (seconds < 1e-3) return `${number(seconds * 1e6)} µs`;
  if (seconds < 1) return `${number(seconds * 1e3)} ms`;
  return seconds < 120 ? `${number(seconds)} s` : `${number(seconds / 60)} min`;
}

/** @param {number} count */
export function bytes(count) {
  if (!Number.isFinite(count)) return "–";
  const units = ["B", "KiB", "MiB", "GiB"];
  let at = 0;
  while (count >= 1024 && at < units.length - 1) {
    count /= 1024;
    at++;
  }
  return `${number(count)} ${units[at]}`;
}

/** @param {readonly number[]} shape */
export const shapeText = (shape) => `[${shape.join(", ")}]`;

/** @param {readonly number[]} shape */
export const sizeOf = (shape) => shape.reduce((product, each) => product * each, 1);

/** The first letters of a session's id, enough to tell a few apart. @param {string} id */
export const shortId = (id) => id.slice(0, 6);

/** @param {number} count @param {string} one */
export const plural = (count, one) => `${WHOLE.format(count)} ${one}${count === 1 ? "" : "s"}`;

/** @param {Date} time */
export const clock = (time) => time.toLocaleTimeString([], { hour12: false });
