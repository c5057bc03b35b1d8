/**
 * What runs a compiled plan. Three things implement it: the WebGPU engine, the event-driven CPU
 * executor and the reference. The contract (tests/contract) is the same for all.
 *
 * Promises: `step` is all or nothing. When it resolves, every row has advanced by its steps; when it
 * rejects, every row's state is byte for byte what it was. Rows that are not in the batch are never
 * touched. The caller awaits one step before it asks for the next, unless `stepsAhead` allows more.
 */
import type { Frames } from "../base/frames.ts";
import type { Plan } from "../model/plan.ts";

/** One session's frame in a step. A slot appears at most once in a batch. */
export interface BatchRow {
  readonly slot: number;
  /** Steps to run, 1 … frame. */
  readonly steps: number;
  /** True: the row starts from rest, whatever its state holds. */
  readonly fresh: boolean;
  /** [steps, sampleSize], canonical f32, or the same as bits. */
  readonly input: Frames;
  /** Probe names to return, see `probesOf`. */
  readonly record?: readonly string[];
}

export interface RowResult {
  /** [steps, outputSize]. */
  readonly output: Float32Array;
  /** One [steps, probe size] array a recorded name; empty when nothing was asked for. */
  readonly probes: Readonly<Record<string, Float32Array>>;
}

/** A row's state in one canonical form, equal as bytes between executors with the same numerics. */
export interface RowState {
  /** Tensor name (`node.v`, `node.last`, `node.ring`) to f32 values; spikes are 0 and 1. */
  readonly tensors: Readonly<Record<string, Float32Array>>;
}

export interface ExecutorInfo {
  /** `webgpu`, `cpu` or `reference`. */
  readonly kind: "webgpu" | "cpu" | "reference";
  /** Adapter and driver for people, e.g. `llvmpipe (LLVM 15.0.6, 256 bits)`. */
  readonly device: string;
  /** True for a software rasteriser. */
  readonly software: boolean;
  /** NUMERICS §1: `exact-1` or `<adapter>/<driver>/<runtime>`. */
  readonly numerics: string;
  /** Bytes of resident state for all slots. */
  readonly stateBytes: number;
}

/** Where a step's time went, in milliseconds. What is between the parts is in none of them. */
export interface StepPhases {
  /** The batch made ready and handed to the device. */
  readonly uploadMs: number;
  /** From then until the results are in memory that the host can read. */
  readonly computeMs: number;
  /** Results copied out, checked and cut into rows. */
  readonly readbackMs: number;
}

export interface Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  readonly info: ExecutorInfo;
  /** Of the last step that resolved; left out where all of it is compute. */
  readonly phases?: StepPhases;
  /**
   * Steps that may be asked for before the first of them has ended; 1 where left out. They run in order,
   * and when one fails, those that were asked for since fail too and do nothing.
   */
  readonly stepsAhead?: number;
  step(batch: readonly BatchRow[]): Promise<RowResult[]>;
  /**
   * States of rows after their last accepted steps, in the order asked for, each in memory of its own; a
   * delay ring is given oldest first. The caller begins no step before they are there.
   */
  readStates(slots: readonly number[]): Promise<RowState[]>;
  /** Replaces a row's state. Throws, changing nothing, when names or sizes do not fit the plan. */
  writeState(slot: number, state: RowState): Promise<void>;
  /** Resolves when the executor can do no more work (device lost); never for CPU executors. */
  readonly lost: Promise<{ reason: string }>;
  close(): Promise<void>;
}
