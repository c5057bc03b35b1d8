/** Every metric: name, kind, help, labels, buckets. Nothing is measured under another name. */

export interface Metric {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds, rising; only of a histogram. */
  readonly buckets?: readonly number[];
}

const counter = (help: string, ...labels: string[]): Metric => ({ kind: "counter", help, labels });
const gauge = (help: string, ...labels: string[]): Metric => ({ kind: "gauge", help, labels });
const histogram = (help: string, buckets: readonly number[], ...labels: string[]): Metric => ({
  kind: "histogram",
  help,
  labels,
  buckets,
});

/** 0.1 ms to 10 s. */
const SECONDS = [
  0.0001,
  0.00025,
  0.0005,
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
];
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

export const METRICS = {
  ganglion_build_info: gauge("1; the labels say what runs", "version", "commit"),
  ganglion_ready: gauge("1 while sessions and chunks are taken"),
  ganglion_slots: gauge("Rows of resident state", "model"),
  ganglion_slots_occupied: gauge("Slots that hold a session", "model"),
  ganglion_sessions: gauge("Open sessions", "model"),
  ganglion_sessions_waiting: gauge("Requests that wait for a slot", "model"),
  ganglion_sessions_parked: gauge("Open sessions that hold no slot", "model"),
  ganglion_swaps_total: counter("Sessions parked, or brought back to a slot", "model"),
  ganglion_swap_seconds_total: counter("Time that rounds waited for swaps", "model"),
  ganglion_sessions_opened_total: counter("Sessions opened", "model"),
  ganglion_sessions_ended_total: counter("Sessions ended, by reason", "model", "reason"),
  ganglion_frames_waiting: gauge("Frames queued or running in all sessions", "model"),
  ganglion_frames_total: counter("Frames that ran", "model"),
  ganglion_frames_late_total: counter("Frames whose output came after their due time", "model"),
  ganglion_step_seconds: histogram(
    "Time of a step, the way to its executor and back with it",
    SECONDS,
    "model",
  ),
  ganglion_step_phase_seconds: histogram(
    "Parts of a step, as the executor measures them: upload, compute, readback",
    SECONDS,
    "model",
    "phase",
  ),
  ganglion_step_fill: histogram("Share of the slots that took part in a step", SHARES, "model"),
  ganglion_steps_failed_total: counter("Steps that failed", "model"),
  ganglion_steps_stuck_total: counter("Steps that ran longer than stepSecondsMax", "model"),
  ganglion_chunk_seconds: histogram(
    "From taking a chunk to the event with its last step",
    SECONDS,
    "model",
  ),
  ganglion_readers: gauge("Readers of outputs", "model"),
  ganglion_event_streams: gauge("Open event streams of all routes"),
  ganglion_refusals_total: counter("Requests answered with a problem, by its code", "code"),
  ganglion_device_losses_total: counter("Devices lost", "model"),
  ganglion_http_requests_total: counter("Requests answered", "method", "route", "status"),
  ganglion_http_request_seconds: histogram(
    "Time to the answer; event streams are not counted",
    SECONDS,
    "route",
  ),
  ganglion_resident_memory_bytes: gauge("Memory of the process"),
} satisfies Record<string, Metric>;

export type MetricName = keyof typeof METRICS;
