/** Metrics: one table of names, the values, and their text for Prometheus. */
export { METRICS_TYPE } from "./registry.ts";
export { type AnsweredRequest, type Gauges, ServerMetrics } from "./server_metrics.ts";
