/** Percentiles by nearest rank, exact: every latency of a measurement is held. */
import type { Summary } from "./types.ts";

/** Points of a curve: even in share below 0.9, then ever finer towards 1. */
const CURVE_SHARES: readonly number[] = [
  ...Array.from({ length: 46 }, (_, i) => i / 50),
  ...Array.from({ length: 30 }, (_, i) => 1 - 0.1 * 10 ** (-(i + 1) / 10)),
  1,
];

const byValue = (values: readonly number[]): Float64Array => Float64Array.from(values).sort();

/** The smallest value that at least `share` of all do not exceed. */
function nearestRank(sorted: Float64Array, share: number): number {
  const rank = Math.max(1, Math.ceil(share * sorted.length - 1e-9));
  return sorted[rank - 1] ?? NaN;
}

export function summarise(values: readonly number[]): Summary {
  const sorted = byValue(values);
  const at = (share: number): number => nearestRank(sorted, share);
  return {
    count: sorted.length,
    mean: sorted.reduce((sum, value) => sum + value, 0) / sorted.length,
    p50: at(0.5),
    p90: at(0.9),
    p95: at(0.95),
    p99: at(0.99),
    max: at(1),
  };
}

/** `[share, value]` for plots; shares that so few values cannot tell apart are left out. */
export function curveOf(values: readonly number[]): [number, number][] {
  const sorted = byValue(values);
  const finest = 1 - 1 / Math.max(1, sorted.length);
  return CURVE_SHARES.filter((share) => share <= finest || share === 1)
    .map((share) => [share, nearestRank(sorted, share)]);
}
