/** Numbers and reports as text. */
import type { Report } from "./report.ts";

const DIGITS_MAX = 100;

/** The shortest decimal that reads back, without an exponent. */
export function showNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value).replace("Infinity", "inf");
  const text = String(value);
  if (!text.includes("e")) return text;
  if (Math.abs(value) >= 1) return BigInt(value).toString();
  const [, digits = "", exponent = "0"] = /^-?([\d.]+)e-(\d+)$/.exec(text) ?? [];
  const places = Number(exponent) + Math.max(0, digits.length - 2);
  return value.toFixed(Math.min(places, DIGITS_MAX));
}

/** A report as `serq run --json` prints it: numbers that do not exist are null; `version` ran it. */
export function jsonOf(report: Report, version: string): string {
  return JSON.stringify({ serq_version: version, ...report });
}
