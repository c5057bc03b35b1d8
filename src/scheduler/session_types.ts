/** What a session is made of and what it needs around it, as data. */
import type { Frames } from "../base/frames.ts";
import type { Limits } from "../base/limits.ts";
import type { ReadoutImage } from "../checkpoint/mod.ts";
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

/** Said to readers, beside the outputs and without an id. */
export interface Notice {
  readonly kind: "notice";
  readonly code: "expiring";
  readonly reason: "idle" | "lifetime";
  /** When it was said, and how long the session has left unless something changes. */
  readonly atWallMs: number;
  readonly leftMs: number;
}

export interface Epoch {
  readonly epoch: number;
  readonly fromStep: number;
}

/** A frame on its way through a step; afterwards in the journal, to be run again if the device is lost. */
export interface TakenFrame {
  readonly chunk: Chunk;
  readonly steps: number;
  readonly input: Frames;
  /** Starts from rest. */
  readonly reset: boolean;
  /** The running prediction before it, once it ran; null where there is none. */
  readoutBefore: ReadoutImage | null;
}

/** What a session's outputs so far say, by the readout of the model's run. */
export interface Prediction {
  readonly class: number;
  readonly label: string | null;
  readonly score: number;
}

/** A decision over a session's outputs that is renewed with every frame. */
export interface Predictor {
  /** Takes in whole steps of outputs. */
  push(outputs: Float32Array): void;
  /** Begins again, as the state does. */
  reset(): void;
  /** Null before the first step. */
  prediction(): Prediction | null;
  /** What it goes on from. */
  save(): ReadoutImage;
  /** Goes on from there. Throws when another readout saved it. */
  load(image: ReadoutImage): void;
}

/** What the session needs from the service around it. */
export interface SessionSurroundings {
  readonly limits: Limits;
  /** There are checkpoints: `StreamSession.kept` is called after each. */
  readonly isKept: boolean;
  /** The session has a frame that a step could take. */
  readonly onFrames: (session: StreamSession) => void;
  /** A chunk was posted or finished, or the session was changed. */
  readonly onActivity: (session: StreamSession) => void;
  /** A frame of the chunk ran, and its output is told. */
  readonly onRan: (session: StreamSession, chunk: Chunk) => void;
  /** A reader wants to come; throws when the session's key has too many. */
  readonly onReaderCame: (session: StreamSession) => void;
  readonly onReaderLeft: (session: StreamSession) => void;
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
  /** Null where nobody asked for predictions. */
  readonly predictor: Predictor | null;
  /** Time between two frames of a real-time stream; 0 where none is promised. */
  readonly framePeriodMs: number;
  readonly createdAtMs: number;
}
