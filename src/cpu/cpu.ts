/**
 * The CPU executor: plays the same plan as the WebGPU engine, event-driven, with the same bits. It is
 * what machines without a suitable GPU run. One row after another, all nodes of one step, then the next.
 */
import type { BatchRow, ExecutorInfo } from "../engine/executor.ts";
import { layerNamed, type PointwiseLayer } from "../layers/mod.ts";
import type { Plan, PlanNode, PointwiseOp } from "../model/plan.ts";
import { HostExecutor, type HostOptions, hostStateBytes } from "../host/host_executor.ts";
import { connect, maxPool, permute, plastic, taps } from "../host/gathers.ts";
import type { HostRow, NodeState } from "../host/row.ts";
import { convEvents, denseEvents, type Events, poolEvents } from "./scatter.ts";

const f = Math.fround;

/** Working memory of one node, reused for every row and step. */
interface Work {
  readonly values: Float32Array;
  readonly events: Events;
  /** Sum of several edges, or of one that must be copied. */
  readonly x: Float32Array;
  readonly xEvents: Events;
  /** Convolution sums, channels last. */
  readonly sums: Float32Array;
}

export class CpuExecutor extends HostExecutor {
  readonly info: ExecutorInfo;
  readonly #work: readonly Work[];

  constructor(plan: Plan, options: HostOptions) {
    super(plan, options);
    this.info = {
      kind: "cpu",
      device: "event-driven TypeScript, 1 thread",
      software: true,
      numerics: "exact-1",
      stateBytes: hostStateBytes(plan, options.slots),
    };
    this.#work = plan.nodes.map((node) => {
      const source = node.inputs[0] === undefined ? null : plan.nodes[node.inputs[0].from]!;
      const inputs = source?.size ?? 0;
      return {
        values: new Float32Array(node.size),
        events: { indices: new Int32Array(node.size), count: 0 },
        x: new Float32Array(inputs),
        xEvents: { indices: new Int32Array(inputs), count: 0 },
        sums: new Float32Array(node.op.op === "conv" ? node.size : 0),
      };
    });
  }

  protected runRow(
    state: HostRow,
    row: BatchRow,
    probe: (step: number, values: readonly Float32Array[]) => void,
  ): Float32Array {
    const { nodes, sampleSize, outputSize } = this.plan;
    const output = new Float32Array(row.steps * outputSize);
    const values = this.#work.map((work) => work.values);
    const input = this.#work[0]!;
    for (let t = 0; t < row.steps; t++) {
      input.values.set(row.input.subarray(t * sampleSize, (t + 1) * sampleSize));
      findEvents(input.values, input.events);
      for (let n = 1; n < nodes.length; n++) this.#stepNode(nodes[n]!, state);
      for (let n = 1; n < nodes.length; n++) state[n]!.last?.set(values[n]!);
      output.set(values[this.plan.output]!, t * outputSize);
      probe(t, values);
    }
    return output;
  }

  #stepNode(node: PlanNode, state: HostRow): void {
    const work = this.#work[node.index]!;
    const { x, events } = this.#fanIn(node, state);
    const own = state[node.index]!;
    const { op } = node;
    const y = work.values;
    switch (op.op) {
      case "dense":
        denseEvents(op, x, events, y);
        break;
      case "conv":
        convEvents(op, x, events, work.sums, y);
        break;
      case "pool":
        poolEvents(op, x, events, y);
        break;
      case "max_pool":
        maxPool(op, x, y);
        break;
      case "permute":
        permute(op, x, y);
        break;
      case "connect":
        connect(op, this.#edge(node, 0, state), this.#edge(node, 1, state), y);
        break;
      case "taps":
        taps(op, x, own.line!, y);
        break;
      case "plastic": {
        const [post, pre] = [this.#edge(node, 0, state), this.#edge(node, 1, state)];
        plastic(op, post, pre, own.fields, y);
        break;
      }
      case "delay":
        for (let i = 0; i < y.length; i++) {
          const delay = op.steps[i]!;
          y[i] = delay === 0 ? x[i]! : own.line!.read(delay, i);
        }
        own.line!.push(x);
        break;
      case "pointwise":
        stepPointwise(layerNamed(op.layer), op, x, own, y);
        break;
    }
    findEvents(y, work.events);
  }

  /** The node's input and its events; copied only when edges are added or come from the last step. */
  #fanIn(node: PlanNode, state: HostRow): { x: Float32Array; events: Events } {
    const first = node.inputs[0]!;
    if (node.inputs.length === 1 && !first.previous) {
      const source = this.#work[first.from]!;
      return { x: source.values, events: source.events };
    }
    const { x, xEvents } = this.#work[node.index]!;
    node.inputs.forEach((_, k) => {
      const edge = this.#edge(node, k, state);
      if (k === 0) x.set(edge);
      else for (let i = 0; i < x.length; i++) x[i] = f(x[i]! + edge[i]!);
    });
    findEvents(x, xEvents);
    return { x, events: xEvents };
  }

  /** What one edge brings; a cut edge gives the source's output of the step before. */
  #edge(node: PlanNode, k: number, state: HostRow): Float32Array {
    const { from, previous } = node.inputs[k]!;
    return previous ? state[from]!.last! : this.#work[from]!.values;
  }
}

/** Marks what is not zero. */
function findEvents(values: Float32Array, events: Events): void {
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== 0) events.indices[count++] = i;
  }
  events.count = count;
}

/** Runs the layer's twin over all elements. */
function stepPointwise(
  layer: PointwiseLayer,
  op: PointwiseOp,
  x: Float32Array,
  state: NodeState,
  y: Float32Array,
): void {
  const size = y.length;
  const { fields } = state;
  const own = new Float32Array(layer.state.length);
  const coef = new Float32Array(layer.coefficients.length);
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < own.length; k++) own[k] = fields[k]![i]!;
    for (let k = 0; k < coef.length; k++) coef[k] = op.coefficients[k * size + i]!;
    y[i] = layer.step(x[i]!, own, coef, op.mode);
    for (let k = 0; k < own.length; k++) fields[k]![i] = own[k]!;
  }
}
