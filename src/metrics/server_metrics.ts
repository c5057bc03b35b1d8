/** What a server measures: the service's events as they come, and its gauges when somebody asks. */
import type { ModelStats, ServiceEvent } from "../scheduler/mod.ts";
import { Registry } from "./registry.ts";

/** One request that was answered. */
export interface AnsweredRequest {
  readonly method: string;
  /** The route's pattern, so that there are few. */
  readonly route: string;
  readonly status: number;
  readonly ms: number;
  /** The code of the problem that was answered, if it was one. */
  readonly code: string | null;
  readonly isStream: boolean;
}

/** What is only known at the moment of asking. */
export interface Gauges {
  readonly models: readonly ModelStats[];
  readonly isReady: boolean;
  readonly eventStreams: number;
  /** Null where nobody tells. */
  readonly residentBytes: number | null;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];

export class ServerMetrics {
  readonly #registry = new Registry();

  constructor(version: string, commit: string | null) {
    this.#registry.set("ganglion_build_info", 1, [version, commit ?? ""]);
  }

  readonly observe = (event: ServiceEvent): void => {
    const registry = this.#registry;
    switch (event.kind) {
      case "opened":
        return registry.add("ganglion_sessions_opened_total", [event.session.options.model]);
      case "ended":
        return registry.add("ganglion_sessions_ended_total", [
          event.session.options.model,
          event.reason,
        ]);
      case "late":
        return registry.add("ganglion_frames_late_total", [event.session.options.model]);
      case "chunk":
        return registry.observe("ganglion_chunk_seconds", event.ms / 1000, [
          event.session.options.model,
        ]);
      case "device_lost":
        return registry.add("ganglion_device_losses_total", [event.model]);
      case "stuck":
        return registry.add("ganglion_steps_stuck_total", [event.model]);
      case "step": {
        const { rows, slots, ms, phases, failed } = event.step;
        const model = [event.model];
        registry.observe("ganglion_step_seconds", ms / 1000, model);
        registry.observe("ganglion_step_fill", rows / slots, model);
        if (phases !== null) {
          const observe = (phase: string, phaseMs: number) =>
            registry.observe("ganglion_step_phase_seconds", phaseMs / 1000, [event.model, phase]);
          observe("upload", phases.uploadMs);
          observe("compute", phases.computeMs);
          observe("readback", phases.readbackMs);
        }
        if (failed) registry.add("ganglion_steps_failed_total", model);
        else registry.add("ganglion_frames_total", model, rows);
        return;
      }
      case "phase":
        return;
    }
  };

  answered({ method, route, status, ms, code, isStream }: AnsweredRequest): void {
    const known = METHODS.includes(method) ? method : "other";
    this.#registry.add("ganglion_http_requests_total", [known, route, String(status)]);
    if (code !== null) this.#registry.add("ganglion_refusals_total", [code]);
    if (!isStream) this.#registry.observe("ganglion_http_request_seconds", ms / 1000, [route]);
  }

  text({ models, isReady, eventStreams, residentBytes }: Gauges): string {
    const registry = this.#registry;
    registry.set("ganglion_ready", isReady ? 1 : 0);
    registry.set("ganglion_event_streams", eventStreams);
    if (residentBytes !== null) registry.set("ganglion_resident_memory_bytes", residentBytes);
    for (const stats of models) {
      const occupied = stats.slots - stats.slotsFree;
      const model = [stats.model];
      registry.set("ganglion_slots", stats.slots, model);
      registry.set("ganglion_slots_occupied", occupied, model);
      registry.set("ganglion_sessions", stats.sessions, model);
      registry.set("ganglion_sessions_parked", stats.parked, model);
      registry.set("ganglion_swaps_total", stats.counts.parked + stats.counts.broughtBack, model);
      registry.set("ganglion_swap_seconds_total", stats.counts.swapMs / 1000, model);
      registry.set("ganglion_sessions_waiting", stats.waiting, model);
      registry.set("ganglion_frames_waiting", stats.framesWaiting, model);
      registry.set("ganglion_readers", stats.readers, model);
    }
    return registry.text();
  }
}
