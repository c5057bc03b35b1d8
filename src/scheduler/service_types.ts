/** What the service is made of and asked for, as data; and the errors it says itself. */
import type { Clock } from "../base/clock.ts";
import { GanglionError } from "../base/errors.ts";
import type { IdSource } from "../base/ids.ts";
import type { Limits } from "../base/limits.ts";
import type { Snapshot } from "../checkpoint/mod.ts";
import type { ModelHost } from "./model_host.ts";
import type { Observer } from "./observer.ts";
import type { Notice } from "./session_types.ts";
import type { StateStore } from "./state_keeper.ts";

/** `starting` and `draining` refuse new sessions and chunks. */
export type Phase = "starting" | "ready" | "draining";

export interface ServiceOptions {
  readonly models: readonly ModelHost[];
  readonly clock: Clock;
  readonly limits: Limits;
  readonly ids?: IdSource;
  readonly phase?: Phase;
  /** Keeps sessions beyond the end of the process. */
  readonly store?: StateStore;
  /** Gets a line when a checkpoint could not be kept, or a step does not end. */
  readonly say?: (line: string) => void;
  readonly observe?: Observer;
}

export interface OpenOptions {
  /** May be left out when one model is served. */
  readonly model?: string;
  readonly owner?: string | null;
  /** 0 for never. */
  readonly ttlSeconds?: number;
  /** How long to wait for a slot. */
  readonly waitSeconds?: number;
  readonly record?: readonly string[];
  readonly outputs?: "ring" | "hold";
  /** Time between two frames of a real-time stream. */
  readonly framePeriodMs?: number;
  /** Outputs carry the running prediction of the model's readout. */
  readonly readout?: boolean;
  /** Begins with this state at its step, instead of at rest with step 0. */
  readonly snapshot?: Snapshot;
  /** Aborted when who asked has left. */
  readonly signal?: AbortSignal;
}

/** What a session has for itself; the rest its model says. */
export type OwnOptions =
  | "id"
  | "owner"
  | "ttlSeconds"
  | "record"
  | "outputs"
  | "framePeriodMs"
  | "predictor"
  | "createdAtMs";

export function expiring(clock: Clock, reason: Notice["reason"], leftMs: number): Notice {
  return { kind: "notice", code: "expiring", reason, atWallMs: clock.wallMs(), leftMs };
}

export function phaseError(phase: Phase): GanglionError {
  const code = phase === "starting" ? "starting" : "draining";
  return new GanglionError(code, `The server is ${code}`, { retry_after_s: 1 });
}

export function lostError(): GanglionError {
  return new GanglionError("device_lost", "The device of this model was lost", {
    retry_after_s: 1,
  });
}

export function stuckError(): GanglionError {
  return new GanglionError("step_stuck", "A step has been running for longer than it may", {
    retry_after_s: 1,
  });
}

export function fullError(sessions: number): GanglionError {
  return new GanglionError("no_slot", `The model has ${sessions} sessions, the most it may have`, {
    sessions_max: sessions,
    retry_after_s: 1,
  });
}

export function checkRange(field: string, value: number, max: number): void {
  if (Number.isFinite(value) && value >= 0 && value <= max) return;
  throw new GanglionError("invalid_body", `${field} must be from 0 to ${max}, got ${value}`, {
    field,
    min: 0,
    max,
  });
}
