/** What load is, what it is put on, and what comes out of it. Plain data and two interfaces. */
import type { ServerChange, ServerState } from "./server_state.ts";

/** N sessions, each of which sends a chunk every `periodMs · chunkFrames`. */
export interface Pace {
  readonly sessions: number;
  /** Time between two frames of a session. */
  readonly periodMs: number;
  /** Frames in a chunk, 1 for the shortest way from a frame to its outputs. */
  readonly chunkFrames: number;
  /** Where in its period each session sends is drawn from it. */
  readonly seed: number;
}

/** When a measurement ends, and what it is held to. */
export interface Rules {
  /** The 99th percentile that still is in time. */
  readonly targetMs: number;
  /** Chunks due before it has passed are not counted. */
  readonly warmUpMs: number;
  readonly windowMs: number;
  /** Measurements that never settle end after so many windows. */
  readonly windowsMax: number;
  /** A chunk that is unanswered for so long ends the measurement: the server cannot keep up. */
  readonly overloadMs: number;
  /** Also ends when the 99th percentile of three windows in a row is above the target. */
  readonly endsWhenLate: boolean;
}

/** What a measurement hears of its sessions. */
export interface LoadListener {
  /** A frame of a session ran: steps `startStep` to `startStep + steps`. */
  onOutput(session: number, startStep: number, steps: number): void;
  onFailure(error: unknown): void;
}

/** Open sessions, numbered from 0. */
export interface LoadSessions {
  /** Time steps of a frame, and of every chunk that is sent. */
  readonly frameSteps: number;
  readonly chunkSteps: number;
  /** Sends a session's chunk number `chunk`; resolves to false when its queue was full. */
  send(session: number, chunk: number): Promise<boolean>;
  /** The server's own numbers; null where it tells none. */
  readServer(): Promise<ServerState | null>;
}

/** In milliseconds; nearest rank. NaN where there is no value. */
export interface Summary {
  readonly count: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface WindowResult {
  /** Start, in ms since the end of the warm-up. */
  readonly atMs: number;
  /** Chunks that were due in it. */
  readonly offered: number;
  /** Chunks whose outputs came in it. */
  readonly finished: number;
  readonly latencyMs: Summary;
  readonly framesLate: number;
  /** Whether the result is made from it. */
  readonly counted: boolean;
}

/**
 * Why a measurement ended: three windows agreed; they never did; three windows in a row were above the
 * target; the server fell behind without end; somebody stopped it.
 */
export type Ending = "stable" | "unstable" | "late" | "overloaded" | "interrupted";

export interface ClientHealth {
  /** How late chunks were sent, and timers fired. */
  readonly lagMs: Summary;
  /** Processor time of this process per second of the measurement. */
  readonly cores: number;
  /** The client was too late itself: the result says nothing of the server. */
  readonly late: boolean;
}

/** What one measurement found, from the counted windows only. */
export interface Measurement {
  readonly ending: Ending;
  /** The 99th percentile was at most the target, and every chunk was taken and answered. */
  readonly holds: boolean;
  /** From the time a chunk was due, sent or not, to the event with its last step. */
  readonly latencyMs: Summary;
  /** `[share, ms]`, rising: the distribution of the latencies. */
  readonly curve: readonly (readonly [number, number])[];
  /** Chunks a second that were due, and whose outputs came. */
  readonly offeredPerSecond: number;
  readonly finishedPerSecond: number;
  /** Chunks that had no outputs when the measurement ended; their age counts as their latency. */
  readonly unanswered: number;
  /** Frames that came, and those of unanswered chunks that were late already. */
  readonly frames: number;
  /** The k-th frame of a chunk is late when it comes more than k periods after the chunk was due. */
  readonly framesLate: number;
  readonly windows: readonly WindowResult[];
  readonly client: ClientHealth;
  /** What the server counted in the same time; null where it tells nothing. */
  readonly server: ServerChange | null;
}
