/**
 * What the measurements say: a straight line through the costs of steps, `base + row × rows` seconds,
 * and what a chunk costs beside its steps.
 */

/** What steps of so many rows took. */
export interface StepCost {
  readonly rows: number;
  /** Median, and the 10th and 90th percentile, in seconds. */
  readonly seconds: number;
  readonly p10: number;
  readonly p90: number;
  /** Measurements behind them. */
  readonly count: number;
}

export interface FittedPoint extends StepCost {
  readonly fitted: number;
  /** `fitted ÷ seconds − 1`. */
  readonly error: number;
}

export interface CostFit {
  /** Seconds of a step, whatever its rows. Not negative. */
  readonly base: number;
  /** Seconds that each row adds. Not negative. */
  readonly row: number;
  readonly points: readonly FittedPoint[];
  /** Largest error, without its sign. */
  readonly worst: number;
}

/**
 * Least squares of the relative errors, so that a step of one row counts as much as a full one. Where
 * the best line has a negative part, that part is 0. Needs a point; of one size all is base.
 */
export function fitCost(costs: readonly StepCost[]): CostFit {
  const { base, row } = bestLine(costs);
  const points = costs.map((cost) => {
    const fitted = base + row * cost.rows;
    return { ...cost, fitted, error: fitted / cost.seconds - 1 };
  });
  return { base, row, points, worst: Math.max(...points.map(({ error }) => Math.abs(error))) };
}

function bestLine(costs: readonly StepCost[]): { base: number; row: number } {
  let [s, x, y, xx, xy] = [0, 0, 0, 0, 0];
  for (const { rows, seconds } of costs) {
    const weight = 1 / seconds ** 2;
    s += weight;
    x += weight * rows;
    y += weight * seconds;
    xx += weight * rows * rows;
    xy += weight * rows * seconds;
  }
  const spread = s * xx - x * x;
  const row = costs.length < 2 || spread <= 0 ? 0 : (s * xy - x * y) / spread;
  if (row <= 0) return { base: y / s, row: 0 };
  const base = (y - row * x) / s;
  return base < 0 ? { base: 0, row: xy / xx } : { base, row };
}

/** A chunk beside its steps, in seconds: `least`, and on top of it `more` in the mean, exponential. */
export interface OwnCost {
  readonly least: number;
  readonly more: number;
  /** Of the chunks that met an idle server, their step included. */
  readonly p50: number;
  readonly p90: number;
  readonly count: number;
}

/** What is left of the latencies on an idle server; its median and 90th percentile are kept. */
export function fitOwn(idle: readonly number[], { base, row }: CostFit): OwnCost {
  const [p50, p90] = [quantile(idle, 0.5), quantile(idle, 0.9)];
  const rest = Math.max(0, p50 - base - row);
  // Median and 90th percentile of an exponential lie at ln 2 and ln 10 of its mean.
  const more = Math.min((p90 - p50) / (Math.LN10 - Math.LN2), rest / Math.LN2);
  return { least: rest - more * Math.LN2, more, p50, p90, count: idle.length };
}

/** The ⌈q·n⌉-th smallest value. */
function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] ?? NaN;
}

/** Median and spread of measurements of one size. */
export function costOf(rows: number, seconds: readonly number[]): StepCost {
  return {
    rows,
    seconds: quantile(seconds, 0.5),
    p10: quantile(seconds, 0.1),
    p90: quantile(seconds, 0.9),
    count: seconds.length,
  };
}

/** 1, 2, 4, … and `most` itself. */
export function sizesUpTo(most: number): number[] {
  const sizes: number[] = [];
  for (let size = 1; size < most; size *= 2) sizes.push(size);
  return [...sizes, most];
}
