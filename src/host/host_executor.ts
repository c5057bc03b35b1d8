/**
 * What the two host executors share: rows, commit, probes. A subclass says only how one row runs one
 * frame. Nothing here knows how a node computes.
 */
import type { BatchRow, Executor, ExecutorInfo, RowResult, RowState } from "../engine/executor.ts";
import { type Plan, probesOf } from "../model/plan.ts";
import { checkState, restState } from "../model/row_state.ts";
import { assert } from "../base/assert.ts";
import { copyRow, type HostRow, rowFromState, stateFromRow } from "./row.ts";

export interface HostOptions {
  readonly slots: number;
  readonly frame: number;
}

/** What is recorded for one row: probe name → [steps, size], filled by the subclass through `record`. */
export type ProbeSink = Readonly<Record<string, Float32Array>>;

export abstract class HostExecutor implements Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  abstract readonly info: ExecutorInfo;
  readonly lost: Promise<{ reason: string }> = new Promise(() => {});
  readonly #rest: RowState;
  readonly #rows: (HostRow | null)[];
  readonly #probes: ReadonlyMap<string, { node: number; field: number; size: number }>;

  constructor(plan: Plan, { slots, frame }: HostOptions) {
    this.plan = plan;
    this.slots = slots;
    this.frame = frame;
    this.#rest = restState(plan);
    this.#rows = new Array<HostRow | null>(slots).fill(null);
    this.#probes = new Map(
      probesOf(plan).map((probe) => {
        const fields = plan.nodes[probe.node]!.state;
        const field = fields.findIndex((each) => each.name === probe.field);
        return [probe.name, { node: probe.node, field, size: probe.size }];
      }),
    );
  }

  /** Runs `row.steps` steps on `state`, which it may change; returns [steps, outputSize]. */
  protected abstract runRow(
    state: HostRow,
    row: BatchRow,
    probe: (step: number, values: readonly Float32Array[]) => void,
  ): Float32Array;

  // deno-lint-ignore require-await -- the interface is asynchronous, a host executor is not
  async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const next: HostRow[] = [];
    const results: RowResult[] = [];
    for (const row of batch) {
      assert(row.slot >= 0 && row.slot < this.slots, `slot ${row.slot} exists`);
      assert(row.steps >= 1 && row.steps <= this.frame, `a row runs 1 to ${this.frame} steps`);
      assert(row.input.length === row.steps * this.plan.sampleSize, "input has its row's size");
      const held = row.fresh ? null : this.#rows[row.slot];
      const state = held ? copyRow(held) : rowFromState(this.plan, this.#rest);
      const probes: Record<string, Float32Array> = {};
      for (const name of row.record ?? []) {
        const probe = this.#probes.get(name);
        assert(probe !== undefined, `probe "${name}" exists`);
        probes[name] = new Float32Array(row.steps * probe.size);
      }
      const output = this.runRow(state, row, (step, values) => {
        for (const name in probes) {
          const { node, field, size } = this.#probes.get(name)!;
          const from = field < 0 ? values[node]! : state[node]!.fields[field]!;
          probes[name]!.set(from, step * size);
        }
      });
      next.push(state);
      results.push({ output, probes });
    }
    batch.forEach((row, i) => this.#rows[row.slot] = next[i]!);
    return results;
  }

  // deno-lint-ignore require-await -- as above
  async readState(slot: number): Promise<RowState> {
    const row = this.#rows[slot];
    return row ? stateFromRow(this.plan, row) : restState(this.plan);
  }

  // deno-lint-ignore require-await -- as above
  async writeState(slot: number, state: RowState): Promise<void> {
    checkState(this.plan, state);
    this.#rows[slot] = rowFromState(this.plan, state);
  }

  async close(): Promise<void> {}
}

/** Bytes of resident state of a plan for `slots` rows on the host. */
export function hostStateBytes(plan: Plan, slots: number): number {
  const tensors = restState(plan).tensors;
  return slots * Object.values(tensors).reduce((bytes, tensor) => bytes + tensor.byteLength, 0);
}
