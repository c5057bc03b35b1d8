/**
 * Values of the metrics in the table, and their text in the Prometheus format (0.0.4). No package: the
 * format is three kinds of lines, names and labels are closed lists here, and nothing of Node is asked.
 */
import { assert } from "../base/assert.ts";
import { type Metric, type MetricName, METRICS } from "./table.ts";

export const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** One line's value; a histogram has counts a bucket, the last for all above. */
interface Series {
  readonly labels: string;
  value: number;
  readonly counts: number[];
}

export class Registry {
  readonly #series = new Map<MetricName, Map<string, Series>>();

  /** Adds to a counter. */
  add(name: MetricName, labels: readonly string[] = [], by = 1): void {
    this.#at(name, labels).value += by;
  }

  /** Sets a gauge. */
  set(name: MetricName, value: number, labels: readonly string[] = []): void {
    this.#at(name, labels).value = value;
  }

  /** Puts a value into a histogram. */
  observe(name: MetricName, value: number, labels: readonly string[] = []): void {
    const { buckets = [] }: Metric = METRICS[name];
    const series = this.#at(name, labels);
    let at = 0;
    while (at < buckets.length && value > buckets[at]!) at++;
    series.counts[at]!++;
    series.value += value;
  }

  text(): string {
    const lines: string[] = [];
    for (const name of Object.keys(METRICS) as MetricName[]) {
      const metric: Metric = METRICS[name];
      lines.push(`# HELP ${name} ${metric.help}`, `# TYPE ${name} ${metric.kind}`);
      for (const series of this.#series.get(name)?.values() ?? []) {
        if (metric.kind === "histogram") lines.push(...histogramLines(name, metric, series));
        else lines.push(`${name}${braces(series.labels)} ${numberText(series.value)}`);
      }
    }
    return `${lines.join("\n")}\n`;
  }

  #at(name: MetricName, values: readonly string[]): Series {
    // Found by the values themselves: this runs several times a request.
    const key = values.length === 1 ? values[0]! : values.join("\n");
    let all = this.#series.get(name);
    if (all === undefined) this.#series.set(name, all = new Map<string, Series>());
    let series = all.get(key);
    if (series === undefined) {
      const metric: Metric = METRICS[name];
      assert(values.length === metric.labels.length, `${name} has ${metric.labels.length} labels`);
      const labels = metric.labels.map((label, i) => `${label}="${escaped(values[i]!)}"`).join(",");
      const counts = metric.buckets === undefined
        ? []
        : Array.from({ length: metric.buckets.length + 1 }, () => 0);
      all.set(key, series = { labels, value: 0, counts });
    }
    return series;
  }
}

function histogramLines(name: string, { buckets = [] }: Metric, series: Series): string[] {
  const { labels, counts, value } = series;
  const before = labels === "" ? "" : `${labels},`;
  let sum = 0;
  const lines = counts.map((count, i) => {
    sum += count;
    return `${name}_bucket{${before}le="${buckets[i] ?? "+Inf"}"} ${sum}`;
  });
  return [
    ...lines,
    `${name}_sum${braces(labels)} ${numberText(value)}`,
    `${name}_count${braces(labels)} ${sum}`,
  ];
}

const braces = (labels: string): string => labels === "" ? "" : `{${labels}}`;

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (Number.isFinite(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}
