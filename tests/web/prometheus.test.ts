/** What the dashboard makes of the text of /metrics. */
import { expect, test } from "bun:test";
import { ServerMetrics } from "../../src/metrics/mod.ts";
import { bucketsBetween, parseMetrics, quantile, sum, sumBy } from "../../web/prometheus.js";

const gauges = { models: [], isReady: true, eventStreams: 2, residentBytes: 4096 };
const answered = { method: "GET", route: "/", status: 429, code: "queue_full", isStream: false };

test("the server's own text is read back, labels with all their characters", () => {
  const metrics = new ServerMetrics('1.0 "x"\\\n', "abc");
  metrics.answered({ ...answered, ms: 3 });
  const reading = parseMetrics(metrics.text(gauges));
  expect(reading.get("ganglion_build_info")?.[0]?.labels["version"]).toBe('1.0 "x"\\\n');
  expect(sum(reading, "ganglion_resident_memory_bytes")).toBe(4096);
  expect([...sumBy(reading, "ganglion_refusals_total", "code")]).toEqual([["queue_full", 1]]);
});

test("a quantile between two readings is that of what came between them", () => {
  const metrics = new ServerMetrics("1", null);
  const name = "ganglion_http_request_seconds";
  for (let i = 0; i < 50; i++) metrics.answered({ ...answered, ms: 9000 });
  const before = parseMetrics(metrics.text(gauges));
  for (let i = 0; i < 100; i++) metrics.answered({ ...answered, ms: 7 });
  const buckets = bucketsBetween(before, parseMetrics(metrics.text(gauges)), name);
  // All lie in the bucket from 5 to 10 ms; half of them below its middle.
  expect(quantile(buckets, 0.5)).toBeCloseTo(0.0075, 9);
  expect(quantile(buckets, 1)).toBeCloseTo(0.01, 9);
  expect(quantile(bucketsBetween(before, before, name), 0.5)).toBeNaN();
  expect(quantile([[1, 0], [Infinity, 4]], 0.9)).toBe(1);
});
