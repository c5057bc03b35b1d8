/**
 * The server's own account, from the text of GET /metrics: counters and histograms of one model, and what
 * they grew by between two readings. A histogram knows its sum exactly, a quantile only to its bucket.
 */

/** Cumulative counts, and the sum of what was observed, in the metric's unit. */
export interface Histogram {
  /** Upper bounds, rising; the last is infinity. */
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

/** One reading. */
export interface ServerState {
  readonly chunkSeconds: Histogram;
  readonly stepSeconds: Histogram;
  readonly stepFill: Histogram;
  readonly frames: number;
  readonly framesLate: number;
  /** Of all models and routes. */
  readonly refusals: number;
}

/** The bucket of a quantile, in ms: it lies above `above` and is at most `upTo` (null: no bound). */
export interface BucketMs {
  readonly above: number;
  readonly upTo: number | null;
}

/** What a server counted between two readings. */
export interface ServerChange {
  readonly chunks: number;
  readonly frames: number;
  readonly framesLate: number;
  readonly refusals: number;
  /** From taking a chunk to the event with its last step. */
  readonly chunkMs: {
    readonly mean: number;
    readonly p50: BucketMs;
    readonly p90: BucketMs;
    readonly p99: BucketMs;
    /** `[upper bound in ms, share of chunks]` of every bucket but the last. */
    readonly shares: readonly (readonly [number, number])[];
  };
  readonly steps: number;
  readonly stepMs: number;
  /** Rows of a step: mean share of the slots. */
  readonly fill: number;
}

const LINE = /^([a-z_]+)(?:\{([^}]*)\})? (\S+)$/;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** Reads what is needed of a page of metrics; null where it is no page of a Ganglion server. */
export function parseServerState(text: string, model: string): ServerState | null {
  const histograms = new Map<string, { bounds: number[]; counts: number[]; sum: number }>();
  const counters = new Map<string, number>();
  for (const line of text.split("\n")) {
    const [, metric, labelText = "", valueText] = LINE.exec(line) ?? [];
    if (metric === undefined || !metric.startsWith("ganglion_")) continue;
    const labels = Object.fromEntries([...labelText.matchAll(LABEL)].map((m) => [m[1]!, m[2]!]));
    if (labels.model !== undefined && unescaped(labels.model) !== model) continue;
    const value = Number(valueText);
    const [, name, part] = /^(.*)_(bucket|sum|count)$/.exec(metric) ?? [];
    if (name === undefined) {
      counters.set(metric, (counters.get(metric) ?? 0) + value);
      continue;
    }
    let histogram = histograms.get(name);
    if (histogram === undefined) {
      histograms.set(name, histogram = { bounds: [], counts: [], sum: 0 });
    }
    if (part === "sum") histogram.sum = value;
    if (part === "bucket") {
      histogram.bounds.push(labels.le === "+Inf" ? Infinity : Number(labels.le));
      histogram.counts.push(value);
    }
  }
  if (!counters.has("ganglion_ready")) return null;
  const histogram = (name: string): Histogram =>
    histograms.get(name) ?? { bounds: [], counts: [], sum: 0 };
  return {
    chunkSeconds: histogram("ganglion_chunk_seconds"),
    stepSeconds: histogram("ganglion_step_seconds"),
    stepFill: histogram("ganglion_step_fill"),
    frames: counters.get("ganglion_frames_total") ?? 0,
    framesLate: counters.get("ganglion_frames_late_total") ?? 0,
    refusals: counters.get("ganglion_refusals_total") ?? 0,
  };
}

const unescaped = (text: string): string =>
  text.replace(/\\(.)/g, (_, char) => char === "n" ? "\n" : char);

export function changeBetween(before: ServerState, after: ServerState): ServerChange {
  const chunks = grown(before.chunkSeconds, after.chunkSeconds);
  const steps = grown(before.stepSeconds, after.stepSeconds);
  const fill = grown(before.stepFill, after.stepFill);
  const total = countOf(chunks);
  return {
    chunks: total,
    frames: after.frames - before.frames,
    framesLate: after.framesLate - before.framesLate,
    refusals: after.refusals - before.refusals,
    chunkMs: {
      mean: 1000 * chunks.sum / total,
      p50: bucketOf(chunks, 0.5),
      p90: bucketOf(chunks, 0.9),
      p99: bucketOf(chunks, 0.99),
      shares: chunks.bounds.flatMap((bound, i) =>
        bound === Infinity ? [] : [[1000 * bound, chunks.counts[i]! / total] as const]
      ),
    },
    steps: countOf(steps),
    stepMs: 1000 * steps.sum / countOf(steps),
    fill: fill.sum / countOf(fill),
  };
}

const countOf = ({ counts }: Histogram): number => counts.at(-1) ?? 0;

/** A histogram that was not there before has grown from nothing. */
function grown(before: Histogram, { bounds, counts, sum }: Histogram): Histogram {
  return {
    bounds,
    counts: counts.map((count, i) => count - (before.counts[i] ?? 0)),
    sum: sum - before.sum,
  };
}

function bucketOf(histogram: Histogram, share: number): BucketMs {
  const { bounds, counts } = histogram;
  const rank = Math.max(1, Math.ceil(share * countOf(histogram)));
  const at = counts.findIndex((count) => count >= rank);
  const upTo = bounds[at] ?? Infinity;
  return {
    above: 1000 * (bounds[at - 1] ?? 0),
    upTo: upTo === Infinity ? null : 1000 * upTo,
  };
}
