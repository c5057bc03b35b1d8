/**
 * The oracle: plays a plan one row, one step, one node, one element at a time, with the twins of the
 * shaders. Nothing is skipped, packed or reordered. Slow on purpose; every executor is held to it.
 */
import type { BatchRow, ExecutorInfo } from "../engine/executor.ts";
import { layerNamed } from "../layers/mod.ts";
import type { Plan, PlanNode } from "../model/plan.ts";
import { conv, dense, pool } from "./gather.ts";
import { HostExecutor, type HostOptions, hostStateBytes } from "../host/host_executor.ts";
import { connect, maxPool, permute, plastic, taps } from "../host/gathers.ts";
import type { HostRow, NodeState } from "../host/row.ts";

const f = Math.fround;

export class ReferenceExecutor extends HostExecutor {
  readonly info: ExecutorInfo;

  constructor(plan: Plan, options: HostOptions) {
    super(plan, options);
    this.info = {
      kind: "reference",
      device: "plain TypeScript",
      software: true,
      numerics: "exact-1",
      stateBytes: hostStateBytes(plan, options.slots),
    };
  }

  protected runRow(
    state: HostRow,
    row: BatchRow,
    probe: (step: number, values: readonly Float32Array[]) => void,
  ): Float32Array {
    const { nodes, sampleSize, outputSize } = this.plan;
    const output = new Float32Array(row.steps * outputSize);
    for (let t = 0; t < row.steps; t++) {
      const values: Float32Array[] = [row.input.subarray(t * sampleSize, (t + 1) * sampleSize)];
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
