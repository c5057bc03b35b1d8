/**
 * The oracle: plays a plan one row, one step, one node, one element at a time, with the twins of the
 * shaders. Nothing is skipped, packed or reordered. Slow on purpose; every executor is held to it.
 */
import { assert } from "../base/assert.ts";
import { entriesOf, valuesOf } from "../base/frames.ts";
import type { BatchRow, Executor, ExecutorInfo, RowResult, RowState } from "../engine/executor.ts";
import { connect, maxPool, permute, plastic, taps } from "../host/gathers.ts";
import { layerNamed } from "../layers/mod.ts";
import { type Plan, type PlanNode, probesOf } from "../model/plan.ts";
import { checkState, restState } from "../model/row_state.ts";
import { conv, dense, pool } from "./gather.ts";
import { copyRow, type HostRow, type NodeState, rowFromState, stateFromRow } from "./row.ts";

const f = Math.fround;

export interface ReferenceOptions {
  readonly slots: number;
  readonly frame: number;
}

export class ReferenceExecutor implements Executor {
  readonly plan: Plan;
  readonly slots: number;
  readonly frame: number;
  readonly info: ExecutorInfo;
  readonly lost: Promise<{ reason: string }> = new Promise(() => {});
  readonly #rest: RowState;
  readonly #rows: (HostRow | null)[];
  readonly #probes: ReadonlyMap<string, { node: number; field: number; size: number }>;

  constructor(plan: Plan, { slots, frame }: ReferenceOptions) {
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
    const rowBytes = Object.values(this.#rest.tensors)
      .reduce((bytes, tensor) => bytes + tensor.byteLength, 0);
    this.info = {
      kind: "reference",
      device: "plain TypeScript",
      software: true,
      numerics: "exact-1",
      stateBytes: slots * rowBytes,
    };
  }

  // deno-lint-ignore require-await -- the interface is asynchronous, the reference is not
  async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const next: HostRow[] = [];
    const results: RowResult[] = [];
    for (const row of batch) {
      assert(row.slot >= 0 && row.slot < this.slots, `slot ${row.slot} exists`);
      assert(row.steps >= 1 && row.steps <= this.frame, `a row runs 1 to ${this.frame} steps`);
      const entries = row.steps * entriesOf(row.input, this.plan.sampleSize);
      assert(row.input.length === entries, "input has its row's size");
      const held = row.fresh ? null : this.#rows[row.slot];
      const state = held ? copyRow(held) : rowFromState(this.plan, this.#rest);
      const probes: Record<string, Float32Array> = {};
      for (const name of row.record ?? []) {
        const probe = this.#probes.get(name);
        assert(probe !== undefined, `probe "${name}" exists`);
        probes[name] = new Float32Array(row.steps * probe.size);
      }
      const output = this.#runRow(state, row, (step, values) => {
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
  async readStates(slots: readonly number[]): Promise<RowState[]> {
    return slots.map((slot) => {
      const row = this.#rows[slot];
      return row ? stateFromRow(this.plan, row) : restState(this.plan);
    });
  }

  // deno-lint-ignore require-await -- as above
  async writeState(slot: number, state: RowState): Promise<void> {
    checkState(this.plan, state);
    this.#rows[slot] = rowFromState(this.plan, state);
  }

  async close(): Promise<void> {}

  /** Runs `row.steps` steps on `state`, which it changes; returns [steps, outputSize]. */
  #runRow(
    state: HostRow,
    row: BatchRow,
    probe: (step: number, values: readonly Float32Array[]) => void,
  ): Float32Array {
    const { nodes, sampleSize, outputSize } = this.plan;
    const output = new Float32Array(row.steps * outputSize);
    const input = valuesOf(row.input, sampleSize);
    for (let t = 0; t < row.steps; t++) {
      const values: Float32Array[] = [input.subarray(t * sampleSize, (t + 1) * sampleSize)];
      for (const node of nodes.slice(1)) {
        values[node.index] = stepNode(node, edgesOf(node, values, state), state[node.index]!);
      }
      for (const node of nodes) state[node.index]!.last?.set(values[node.index]!);
      output.set(values[this.plan.output]!, t * outputSize);
      probe(t, values);
    }
    return output;
  }
}

/** What each edge brings; a cut edge gives the source's output of the step before. */
function edgesOf(
  node: PlanNode,
  values: readonly Float32Array[],
  state: HostRow,
): readonly Float32Array[] {
  return node.inputs.map(({ from, previous }) => previous ? state[from]!.last! : values[from]!);
}

/** Edges added left to right. */
function fanIn(edges: readonly Float32Array[]): Float32Array {
  const sum = edges[0]!.slice();
  for (const edge of edges.slice(1)) {
    for (let i = 0; i < sum.length; i++) sum[i] = f(sum[i]! + edge[i]!);
  }
  return sum;
}

function stepNode(
  node: PlanNode,
  edges: readonly Float32Array[],
  state: NodeState,
): Float32Array {
  const { op, size } = node;
  const y = new Float32Array(size);
  const x = fanIn(edges);
  switch (op.op) {
    case "dense":
      dense(op, x, y);
      break;
    case "conv":
      conv(op, x, y);
      break;
    case "pool":
      pool(op, x, y);
      break;
    case "max_pool":
      maxPool(op, x, y);
      break;
    case "permute":
      permute(op, x, y);
      break;
    case "connect":
      connect(op, edges[0]!, edges[1]!, y);
      break;
    case "taps":
      taps(op, x, state.line!, y);
      break;
    case "plastic":
      plastic(op, edges[0]!, edges[1]!, state.fields, y);
      break;
    case "delay":
      for (let i = 0; i < size; i++) {
        const delay = op.steps[i]!;
        y[i] = delay === 0 ? x[i]! : state.line!.read(delay, i);
      }
      state.line!.push(x);
      break;
    case "pointwise": {
      const layer = layerNamed(op.layer);
      const own = new Float32Array(layer.state.length);
      const coef = new Float32Array(layer.coefficients.length);
      for (let i = 0; i < size; i++) {
        for (let k = 0; k < own.length; k++) own[k] = state.fields[k]![i]!;
        for (let k = 0; k < coef.length; k++) coef[k] = op.coefficients[k * size + i]!;
        y[i] = layer.step(x[i]!, own, coef, op.mode);
        for (let k = 0; k < own.length; k++) state.fields[k]![i] = own[k]!;
      }
      break;
    }
    case "input":
      throw new Error("the input node does not step");
  }
  return y;
}
