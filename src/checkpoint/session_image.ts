/**
 * A whole session as plain data: what a checkpoint holds beside the state. The scheduler makes it and
 * starts from it; `session_file.ts` turns it into bytes and back.
 */
import type { Frames } from "../base/frames.ts";
import type { RowState } from "../engine/executor.ts";

export interface SpanImage {
  readonly epoch: number;
  readonly fromStep: number;
  /** null: it goes on. */
  readonly toStep: number | null;
  /** Steps after `toStep` may have been told in this epoch, and are lost. */
  readonly isCut: boolean;
}

export interface TimelineImage {
  readonly spans: readonly SpanImage[];
  readonly stepsDone: number;
  /** Events since the last step. */
  readonly part: number;
}

export interface ChunkImage {
  readonly seq: number;
  readonly steps: number;
  readonly reset: boolean;
  readonly digest: string;
  readonly startStep: number;
  readonly epoch: number;
  readonly state: "waiting" | "running" | "done" | "cancelled" | "failed";
  readonly stepsRun: number;
  /** The whole input, as long as steps are left. */
  readonly input: Frames | null;
}

export interface PositionImage {
  readonly epoch: number;
  readonly step: number;
  readonly part: number;
}

export interface OutputImage {
  readonly kind: "output";
  readonly position: PositionImage;
  /** Of its chunk, which may be none of `chunks` any more. */
  readonly seq: number;
  readonly startStep: number;
  readonly steps: number;
  readonly data: Float32Array;
  readonly probes: Readonly<Record<string, Float32Array>>;
}

/** Anything else the ring holds, as it is. */
export interface OtherImage {
  readonly kind: string;
  readonly position: PositionImage;
}

/** What a ring knows of events that it does not hold any more. */
export interface RingImage {
  /** Where the time-line began: the session's first step, or the last state that was put in. */
  readonly begin: { readonly epoch: number; readonly step: number };
  /** The newest event of it that was dropped. */
  readonly lastDropped: PositionImage | null;
  /** The newest event before it. */
  readonly clearedTo: PositionImage | null;
}

/** A running prediction: sums or maxima a class, in f64 as they are kept. */
export interface ReadoutImage {
  /** Its name, since another kind could not go on from it. */
  readonly readout: string;
  readonly steps: number;
  readonly scores: Float64Array;
}

export interface SessionImage {
  readonly id: string;
  readonly model: string;
  readonly modelDigest: string;
  readonly numerics: string;
  /** A hash, or null without keys. */
  readonly owner: string | null;
  readonly ttlSeconds: number;
  readonly record: readonly string[];
  readonly outputs: "ring" | "hold";
  readonly framePeriodMs: number;
  readonly createdAtMs: number;
  readonly timeline: TimelineImage;
  /** The highest epoch that may be told before the next checkpoint. */
  readonly epochReserved: number;
  readonly nextSeq: number;
  readonly chunks: readonly ChunkImage[];
  readonly events: readonly (OutputImage | OtherImage)[];
  /** How many of the oldest events somebody has read. */
  readonly eventsReceived: number;
  readonly ring: RingImage;
  /** null: nobody asked for predictions. */
  readonly readout: ReadoutImage | null;
  /** null: rest. */
  readonly state: RowState | null;
}
