/**
 * What travels between the server's thread and the thread that owns the executor. A batch is one block:
 * three words a row, then the rows' inputs one after another. It moves by transfer, and so do the outputs;
 * what has to be cloned is a few fields a step, however many rows it has. States that are read are one
 * block too: the plan's tensors in its order, row after row.
 */
import { assert } from "../base/assert.ts";
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
import { stateTensors } from "../model/row_state.ts";

/** The first message a thread gets. `settings` is for the program that runs in it. */
export interface Opening {
  readonly type: "open";
  readonly plan: Plan;
  readonly settings: unknown;
}

/** By row, the names that it records; null where no row records any. */
type Records = readonly (readonly string[])[] | null;

export interface StepRequest {
  readonly type: "step";
  /** When a step fails, those of its series that were asked for since fail with it. */
  readonly series: number;
  readonly rows: number;
  readonly block: ArrayBuffer;
  readonly records: Records;
}

export type Request =
  | StepRequest
  | { readonly type: "read"; readonly slots: readonly number[] }
  | { readonly type: "write"; readonly slot: number; readonly state: RowState }
  | { readonly type: "close" };

export type ToThread = Opening | (Request & { readonly id: number });

export interface StepResult {
  /** The block that the batch came in, for the next one. */
  readonly block: ArrayBuffer;
  /** Of all rows, one after another. */
  readonly outputs: Float32Array<ArrayBuffer>;
  /** By row; null where no row recorded anything. */
  readonly probes: readonly RowResult["probes"][] | null;
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

/** Of a row in the block: its slot, its steps, and flags. */
const ROW_WORDS = 3;
const FRESH = 1;
const BITS = 2;

const NO_PROBES: RowResult["probes"] = {};

/** The block is a copy of the batch and may be transferred; it is `spare` where that is large enough. */
export function packBatch(
  batch: readonly BatchRow[],
  series: number,
  spare: ArrayBuffer | null,
): StepRequest {
  let bytes = batch.length * ROW_WORDS * 4;
  let isRecording = false;
  for (const { input, record } of batch) {
    bytes += input.byteLength;
    if (record?.length) isRecording = true;
  }
  const records = isRecording ? batch.map(({ record }) => record ?? []) : null;
  const block = spare !== null && spare.byteLength >= bytes ? spare : new ArrayBuffer(bytes);
  const [values, words] = [new Float32Array(block), new Uint32Array(block)];
  let row = 0;
  let at = batch.length * ROW_WORDS;
  for (const { slot, steps, fresh, input } of batch) {
    const isBits = isPacked(input);
    words[row++] = slot;
    words[row++] = steps;
    words[row++] = (fresh ? FRESH : 0) | (isBits ? BITS : 0);
    (isBits ? words : values).set(input, at);
    at += input.length;
  }
  return { type: "step", series, rows: batch.length, block, records };
}

/** The batch, as views of its block. */
export function unpackBatch(
  { rows, block, records }: StepRequest,
  sampleSize: number,
): BatchRow[] {
  const [values, words] = [new Float32Array(block), new Uint32Array(block)];
  let at = rows * ROW_WORDS;
  return Array.from({ length: rows }, (_, i) => {
    const row = i * ROW_WORDS;
    const [slot, steps, flags] = [words[row]!, words[row + 1]!, words[row + 2]!];
    const input = (flags & BITS) !== 0
      ? words.subarray(at, at += steps * wordsOf(sampleSize))
      : values.subarray(at, at += steps * sampleSize);
    return { slot, steps, fresh: (flags & FRESH) !== 0, input, record: records?.[i] ?? [] };
  });
}

export function packResults(
  results: readonly RowResult[],
  { block, records }: StepRequest,
  phases: StepPhases | undefined,
): StepResult {
  const outputs = new Float32Array(results.reduce((sum, { output }) => sum + output.length, 0));
  let at = 0;
  for (const { output } of results) {
    outputs.set(output, at);
    at += output.length;
  }
  const probes = records === null ? null : results.map((each) => each.probes);
  return { block, outputs, probes, phases };
}

/** The results of a batch; outputs are views of one block. */
export function unpackResults(
  { outputs, probes }: StepResult,
  batch: readonly BatchRow[],
  outputSize: number,
): RowResult[] {
  let at = 0;
  return batch.map(({ steps }, i) => ({
    output: outputs.subarray(at, at += steps * outputSize),
    probes: probes?.[i] ?? NO_PROBES,
  }));
}

/** The states of rows as a block that may be transferred. */
export function packStates(plan: Plan, states: readonly RowState[]): ArrayBuffer {
  const tensors = stateTensors(plan);
  const block = new Float32Array(
    states.length * tensors.reduce((sum, { size }) => sum + size, 0),
  );
  let at = 0;
  for (const state of states) {
    for (const { name, size } of tensors) {
      const tensor = state.tensors[name]!;
      assert(tensor.length === size, "a state has the plan's sizes");
      block.set(tensor, at);
      at += size;
    }
  }
  return block.buffer;
}

/** The states in a block, each tensor a copy: one that is kept must not keep the block. */
export function unpackStates(plan: Plan, block: ArrayBuffer, rows: number): RowState[] {
  const sizes = stateTensors(plan);
  const values = new Float32Array(block);
  let at = 0;
  return Array.from({ length: rows }, () => {
    const tensors: Record<string, Float32Array> = {};
    for (const { name, size } of sizes) tensors[name] = values.slice(at, at += size);
    return { tensors };
  });
}
