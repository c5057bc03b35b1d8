/**
 * What the service tells whoever watches it: metrics, the feed of server events, a log. Told after
 * the fact and synchronously; an observer must not throw and can change nothing.
 */
import type { StepPhases } from "../engine/executor.ts";
import type { EndReason } from "./session_types.ts";
import type { StreamSession } from "./stream_session.ts";

export type ServiceEvent =
  | { readonly kind: "opened"; readonly session: StreamSession }
  | { readonly kind: "ended"; readonly session: StreamSession; readonly reason: EndReason }
  | { readonly kind: "step"; readonly model: string; readonly step: RanStep }
  /** A chunk's last output was made, `ms` after the chunk was taken. */
  | { readonly kind: "chunk"; readonly session: StreamSession; readonly ms: number }
  /** A frame's output came later than the session's frame period allows. */
  | { readonly kind: "late"; readonly session: StreamSession }
  | { readonly kind: "device_lost"; readonly model: string }
  /** A step has been running for longer than `stepSecondsMax`. */
  | { readonly kind: "stuck"; readonly model: string }
  | { readonly kind: "phase"; readonly phase: string };

export interface RanStep {
  /** Sessions that took part. */
  readonly rows: number;
  readonly slots: number;
  readonly ms: number;
  /** Null when the step failed. */
  readonly phases: StepPhases | null;
  readonly failed: boolean;
}

export type Observer = (event: ServiceEvent) => void;

/** Tells several. */
export function observers(...all: readonly Observer[]): Observer {
  return (event) => {
    for (const observe of all) observe(event);
  };
}
