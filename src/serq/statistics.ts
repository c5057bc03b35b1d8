/**
 * Running statistics of a run: means and variances, time averages, batch-means confidence intervals,
 * histograms of constant relative width. The order of operations is part of the contract: reports
 * must equal the original's to the last bit.
 */
import { ln } from "./ln.ts";

export interface Estimate {
  readonly mean: number;
  /** Half width of the 95 % interval; Infinity when there are too few samples. */
  readonly halfWidth: number;
}

/** Mean and sample variance, one value at a time. */
export class Welford {
  count = 0;
  private sumMean = 0;
  private squares = 0;

  push(value: number): void {
    this.count += 1;
    const difference = value - this.sumMean;
    this.sumMean += difference / this.count;
    this.squares += difference * (value - this.sumMean);
  }

  get mean(): number {
    return this.count === 0 ? NaN : this.sumMean;
  }

  get variance(): number {
    return this.count < 2 ? NaN : this.squares / (this.count - 1);
  }

  /** Variance over squared mean. */
  get cv2(): number {
    return this.variance / (this.mean * this.mean);
  }
}

/** The time average of a value that is constant between its changes. */
export class TimeAverage {
  private integral = 0;
  private last = 0;
  private start = 0;
  private value = 0;

  set(now: number, value: number): void {
    this.integral += this.value * (now - this.last);
    this.last = now;
    this.value = value;
  }

  /** Forgets what was, keeps the value. */
  restart(now: number): void {
    this.integral = 0;
    this.last = now;
    this.start = now;
  }

  mean(now: number): number {
    const span = now - this.start;
    if (span <= 0) return this.value;
    return (this.integral + this.value * (now - this.last)) / span;
  }
}

const BATCHES = 20;
const STUDENT_19 = 2.093;
const FEWEST_FOR_INTERVAL = 40;

/** The mean of `values` with the interval of the means of 20 equal batches; the rest is left out. */
export function batchMeans(values: ArrayLike<number>): Estimate {
  const size = Math.floor(values.length / BATCHES);
  if (size < 1) return { mean: NaN, halfWidth: Infinity };
  const means: number[] = [];
  for (let batch = 0; batch < BATCHES; batch++) {
    let sum = 0;
    for (let i = batch * size; i < (batch + 1) * size; i++) sum += values[i]!;
    means.push(sum / size);
  }
  let mean = 0;
  for (const value of means) mean += value;
  mean /= BATCHES;
  let squares = 0;
  for (const value of means) squares += (value - mean) * (value - mean);
  return { mean, halfWidth: STUDENT_19 * Math.sqrt(squares / (BATCHES - 1) / BATCHES) };
}

/** Half width of an observation's interval: none below 40 samples. */
export function sampleHalfWidth(values: ArrayLike<number>): number {
  return values.length < FEWEST_FOR_INTERVAL ? Infinity : batchMeans(values).halfWidth;
}

/** The ⌈q·n⌉-th smallest value; NaN when there is none. */
export function quantile(values: Float64Array, q: number): number {
  if (values.length === 0) return NaN;
  const sorted = values.slice().sort();
  const rank = Math.min(Math.max(Math.ceil(q * sorted.length), 1), sorted.length);
  return sorted[rank - 1]!;
}

export interface SignalStatistics {
  readonly mean: number;
  readonly halfWidth: number;
  readonly min: number;
  readonly max: number;
}

/**
 * Statistics over [from, to] of a signal given as change points: its time average with the interval of
 * 20 equal windows, and the least and the greatest value that was held for a positive time.
 */
export function signalStatistics(
  times: readonly number[],
  values: readonly number[],
  from: number,
  to: number,
): SignalStatistics {
  const span = to - from;
  if (!(span > 0) || times.length === 0) {
    return { mean: NaN, halfWidth: Infinity, min: NaN, max: NaN };
  }
  const width = span / BATCHES;
  const windows: number[] = Array.from({ length: BATCHES }, () => 0);
  const windowAt = (time: number) => {
    const at = Math.trunc(Math.max((time - from) / width, 0));
    return Math.min(at, BATCHES - 1);
  };
  let total = 0;
  let min = Infinity;
  let max = -Infinity;
  for (let k = 0; k < times.length; k++) {
    const begin = Math.max(times[k]!, from);
    const end = Math.min(times[k + 1] ?? to, to);
    if (end <= begin) continue;
    const value = values[k]!;
    min = Math.min(min, value);
    max = Math.max(max, value);
    total += value * (end - begin);
    const lastWindow = Math.min(windowAt(end) + 1, BATCHES - 1);
    for (let w = Math.max(windowAt(begin) - 1, 0); w <= lastWindow; w++) {
      const low = w === 0 ? from : from + w * width;
      const high = w === BATCHES - 1 ? to : from + (w + 1) * width;
      const overlap = Math.min(end, high) - Math.max(begin, low);
      if (overlap > 0) windows[w] = windows[w]! + value * overlap;
    }
  }
  const { halfWidth } = batchMeans(windows.map((area) => area / width));
  return { mean: total / span, halfWidth, min, max };
}

interface Bucket {
  count: number;
  min: number;
  max: number;
}

const BUCKET_WIDTH = 0.009950330853168083; // ln 1.01

/** Counts in buckets of 1 % relative width: quantiles within half a percent, the mean exact. */
export class Histogram {
  private readonly buckets = new Map<number, Bucket>();
  private count = 0;
  private sum = 0;

  push(value: number): void {
    const key = value > 0 ? Math.floor(ln(value) / BUCKET_WIDTH) : -Infinity;
    const bucket = this.buckets.get(key);
    if (bucket === undefined) {
      this.buckets.set(key, { count: 1, min: value, max: value });
    } else {
      bucket.count += 1;
      bucket.min = Math.min(bucket.min, value);
      bucket.max = Math.max(bucket.max, value);
    }
    this.count += 1;
    this.sum += value;
  }

  get mean(): number {
    return this.count === 0 ? NaN : this.sum / this.count;
  }

  quantile(q: number): number {
    if (this.count === 0) return NaN;
    const rank = Math.min(Math.max(Math.ceil(q * this.count), 1), this.count);
    let seen = 0;
    for (const key of [...this.buckets.keys()].sort((a, b) => a - b)) {
      const bucket = this.buckets.get(key)!;
      seen += bucket.count;
      if (seen < rank) continue;
      const middle = key === -Infinity ? 0 : Math.exp((key + 0.5) * BUCKET_WIDTH);
      return Math.min(Math.max(middle, bucket.min), bucket.max);
    }
    return NaN;
  }
}

const WEIGHT = 0.01;
const LOAD_CAP = 0.99;

/** What a stage would estimate of itself online: moving averages of gap, service and wait. */
export class Estimator {
  private lastStart = NaN;
  private gap = NaN;
  private service = 0;
  private wait = 0;
  private first = true;

  observe(start: number, wait: number, service: number): void {
    const moved = (old: number, value: number) => (1 - WEIGHT) * old + WEIGHT * value;
    this.service = this.first ? service : moved(this.service, service);
    this.wait = this.first ? wait : moved(this.wait, wait);
    if (!this.first) {
      const gap = start - this.lastStart;
      this.gap = Number.isNaN(this.gap) ? gap : moved(this.gap, gap);
    }
    this.lastStart = start;
    this.first = false;
  }

  get rate(): number {
    return this.gap > 0 ? 1 / this.gap : 0;
  }

  get load(): number {
    return this.gap > 0 ? Math.min(this.rate * this.service, LOAD_CAP) : 0;
  }

  get meanWait(): number {
    return this.wait;
  }

  /** The price of a miss that lengthens a service of `hit` by `extra`. */
  price(hit: number, extra: number): number {
    const { rate, load, wait } = this;
    const miss = hit + extra;
    return extra + rate * (miss * miss - hit * hit) / (2 * (1 - load)) +
      rate * wait * extra / (1 - load);
  }
}

/** Doubles that grow by doubling; 8 bytes a value. */
export class Samples {
  private data = new Float64Array(16);
  length = 0;

  push(value: number): void {
    if (this.length === this.data.length) {
      const grown = new Float64Array(2 * this.length);
      grown.set(this.data);
      this.data = grown;
    }
    this.data[this.length++] = value;
  }

  /** Values that there is memory for. */
  get capacity(): number {
    return this.data.length;
  }

  values(): Float64Array {
    return this.data.subarray(0, this.length);
  }
}
