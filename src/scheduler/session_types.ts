/** What a session is made of and what it needs around it, as data. */
import type { Limits } from "../base/limits.ts";
import type { Chunk } from "./chunk.ts";
import type { StreamSession } from "./stream_session.ts";

/** Why a session ended. */
export type EndReason =
  | "closed"
  | "idle"
  | "lifetime"
  | "evicted"
  | "device_lost"
  | "drained"
  | "moved";

export interface Epoch {
  readonly epoch: number;
  readonly fromStep: number;
}

/** A frame on its way through a step. */
export interface TakenFrame {
  readonly chunk: Chunk;
  readonly steps: number;
  readonly input: Float32Array;
  /** Starts from rest. */
  readonly reset: boolean;
}

/** What the session needs from the service around it. */
export interface SessionSurroundings {
  readonly limits: Limits;
  /** The session has a frame that a step could take. */
  readonly onFrames: (session: StreamSession) => void;
  /** A chunk was posted or finished, or the session was changed. */
  readonly onActivity: (session: StreamSession) => void;
  /** A frame ran. */
  readonly onSteps: (session: StreamSession) => void;
  /** Seconds until `frames` waiting frames of one session may have run. */
  readonly secondsFor: (frames: number) => number;
}

export interface SessionOptions {
  readonly id: string;
  readonly model: string;
  /** Whose it is; null when the server has no keys. */
  readonly owner: string | null;
  readonly frame: number;
  readonly sampleSize: number;
  /** Bytes of outputs and recorded values a step. */
  readonly outputStepBytes: number;
  /** 0 for never. */
  readonly ttlSeconds: number;
  readonly record: readonly string[];
  readonly outputs: "ring" | "hold";
  readonly createdAtMs: number;
}
