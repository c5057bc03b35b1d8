/**
 * What travels between the server's thread and the thread that owns the executor. A batch is one block
 * of values with a row of facts each, and moves by transfer: nothing is cloned but small facts.
 */
import { isPacked } from "../base/frames.ts";
import { wordsOf } from "../base/numeric.ts";
import type {
  BatchRow,
  ExecutorInfo,
  RowResult,
  RowState,
  StepPhases,
} from "../engine/executor.ts";
import type { ErrorCode, Facts } from "../base/errors.ts";
import type { Plan } from "../model/plan.ts";

export interface RowFacts {
  readonly slot: number;
  readonly steps: number;
  readonly fresh: boolean;
  readonly isBits: boolean;
  readonly record?: readonly string[];
}

/** The first message a thread gets. `settings` is for the program that runs in it. */
export interface Opening {
  readonly type: "open";
  readonly plan: Plan;
  readonly settings: unknown;
}

export type Request =
  | { readonly type: "step"; readonly rows: readonly RowFacts[]; readonly inputs: ArrayBuffer }
  | { readonly type: "read"; readonly slot: number }
  | { readonly type: "write"; readonly slot: number; readonly state: RowState }
  | { readonly type: "close" };

export type ToThread = Opening | (Request & { readonly id: number });

export interface StepResult {
  /** The block that the inputs came in, for the next ones. */
  readonly inputs: ArrayBuffer;
  readonly outputs: Float32Array;
  readonly probes: readonly Readonly<Record<string, Float32Array>>[];
  /** Undefined where the executor does not tell. */
  readonly phases: StepPhases | undefined;
}

export interface Failure {
  readonly message: string;
  /** null: not an error of the closed list. */
  readonly code: ErrorCode | null;
  readonly facts: Facts;
}

export type FromThread =
  | { readonly type: "say"; readonly line: string }
  | { readonly type: "ready"; readonly info: ExecutorInfo; readonly slots: number }
  | { readonly type: "failed"; readonly failure: Failure }
  | { readonly type: "lost"; readonly reason: string }
  | { readonly type: "done"; readonly id: number; readonly result: unknown }
  | { readonly type: "error"; readonly id: number; readonly failure: Failure };

/**
 * Rows → facts and one block of their inputs, which is a copy and may be transferred. It is `spare` where
 * that is large enough.
 */
export function packRows(
  batch: readonly BatchRow[],
  spare: ArrayBuffer | null,
): { rows: RowFacts[]; inputs: ArrayBuffer } {
  const bytes = batch.reduce((sum, { input }) => sum + input.byteLength, 0);
  const inputs = spare !== null && spare.byteLength >= bytes ? spare : new ArrayBuffer(bytes);
  const [values, words] = [new Float32Array(inputs), new Uint32Array(inputs)];
  let at = 0;
  const rows = batch.map(({ slot, steps, fresh, input, record }): RowFacts => {
    const isBits = isPacked(input);
    (isBits ? words : values).set(input, at);
    at += input.length;
    return { slot, steps, fresh, isBits, ...(record === undefined ? {} : { record }) };
  });
  return { rows, inputs };
}

export function unpackRows(
  rows: readonly RowFacts[],
  inputs: ArrayBuffer,
  sampleSize: number,
): BatchRow[] {
  const [values, words] = [new Float32Array(inputs), new Uint32Array(inputs)];
  let at = 0;
  return rows.map(({ isBits, ...row }) => {
    const input = isBits
      ? words.subarray(at, at += row.steps * wordsOf(sampleSize))
      : values.subarray(at, at += row.steps * sampleSize);
    return { ...row, input };
  });
}

export function packResults(
  results: readonly RowResult[],
  { inputs, phases }: Pick<StepResult, "inputs" | "phases">,
): StepResult {
  const length = results.reduce((sum, { output }) => sum + output.length, 0);
  const outputs = new Float32Array(length);
  let at = 0;
  for (const { output } of results) {
    outputs.set(output, at);
    at += output.length;
  }
  return { inputs, outputs, probes: results.map(({ probes }) => probes), phases };
}

export function unpackResults(
  { outputs, probes }: StepResult,
  rows: readonly RowFacts[],
  outputSize: number,
): RowResult[] {
  let at = 0;
  return rows.map(({ steps }, i) => ({
    output: outputs.subarray(at, at += steps * outputSize),
    probes: probes[i]!,
  }));
}
