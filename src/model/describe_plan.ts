/** A plan in numbers and words that JSON can hold: what `inspect --json` and the API show of a model. */
import { type EdgeKind, type Plan, type PlanNode, type PlanNote, probesOf } from "./plan.ts";
import { layerNamed } from "../layers/mod.ts";
import { ringOf } from "./row_state.ts";

export interface NodeSummary {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  readonly kind: EdgeKind;
  /** Names of the sources, in the order in which their values are added. */
  readonly from: readonly string[];
  /** Those of `from` that are seen one step late. */
  readonly late: readonly string[];
  /** Numbers that the node keeps for all sessions: weights, biases, coefficients. */
  readonly parameters: number;
  readonly stateBytes: number;
  readonly details: string;
}

export interface PlanSummary {
  readonly name: string;
  readonly digest: string;
  readonly dt: number;
  readonly dtSource: Plan["dtSource"];
  readonly discretization: Plan["discretization"];
  readonly options: Plan["options"];
  readonly sampleShape: readonly number[];
  readonly outputShape: readonly number[];
  readonly outputKind: EdgeKind;
  readonly parameters: number;
  /** Bytes of state a session: the versioned row, and the delay rings beside it. */
  readonly stateBytes: number;
  readonly ringBytes: number;
  readonly nodes: readonly NodeSummary[];
  readonly blocks: readonly { readonly kind: string; readonly nodes: readonly string[] }[];
  readonly cuts: readonly { readonly from: string; readonly to: string }[];
  readonly notes: readonly PlanNote[];
  readonly probes: readonly string[];
}

export function describePlan(plan: Plan): PlanSummary {
  const { nodes } = plan;
  const summaries = nodes.map((node) => summary(plan, node));
  return {
    name: plan.name,
    digest: plan.digest,
    dt: plan.dt,
    dtSource: plan.dtSource,
    discretization: plan.discretization,
    options: plan.options,
    sampleShape: plan.sampleShape,
    outputShape: plan.outputShape,
    outputKind: nodes[plan.output]!.kind,
    parameters: summaries.reduce((sum, node) => sum + node.parameters, 0),
    stateBytes: plan.stateWords * 4,
    ringBytes: nodes.reduce((sum, node) => sum + ringBytes(node), 0),
    nodes: summaries,
    blocks: plan.blocks.map((block) => ({
      kind: block.kind,
      nodes: block.nodes.map((index) => nodes[index]!.name),
    })),
    cuts: nodes.flatMap((node) =>
      node.inputs.filter((edge) => edge.previous)
        .map((edge) => ({ from: nodes[edge.from]!.name, to: node.name }))
    ),
    notes: plan.notes,
    probes: probesOf(plan).map((probe) => probe.name),
  };
}

function summary(plan: Plan, node: PlanNode): NodeSummary {
  const nameOf = (index: number): string => plan.nodes[index]!.name;
  return {
    name: node.name,
    type: node.type,
    shape: node.shape,
    kind: node.kind,
    from: node.inputs.map((edge) => nameOf(edge.from)),
    late: node.inputs.filter((edge) => edge.previous).map((edge) => nameOf(edge.from)),
    parameters: parameterCount(node),
    stateBytes: node.state.reduce((words, field) => words + field.words, 0) * 4 + ringBytes(node),
    details: details(node),
  };
}

function ringBytes(node: PlanNode): number {
  const ring = ringOf(node);
  return ring === null ? 0 : ring.steps * ring.size * 4;
}

function parameterCount({ op }: PlanNode): number {
  switch (op.op) {
    case "dense":
    case "conv":
      return op.weights.length + (op.bias?.length ?? 0);
    case "pointwise":
      return op.coefficients.length;
    case "delay":
      return op.steps.length;
    case "taps":
      return 2 * op.weights.length + (op.bias?.length ?? 0);
    case "plastic":
      return 2 * op.weights.length + op.rates.length;
    default:
      return 0;
  }
}

/** What a reader wants to know of the node's numbers, on one line. */
function details({ op, size }: PlanNode): string {
  switch (op.op) {
    case "input":
      return "";
    case "dense": {
      const blocks = op.blocks === 1 ? "" : `${op.blocks} x `;
      const bias = op.bias === null ? "" : `, bias ${range(op.bias)}`;
      return `${blocks}${op.inputs} to ${op.outputs}, w ${range(op.weights)}${bias}`;
    }
    case "conv": {
      const groups = op.groups === 1 ? "" : `, groups ${op.groups}`;
      const dilation = op.dilation.every((each) => each === 1)
        ? ""
        : `, dilation ${pairText(op.dilation)}`;
      return `${op.inChannels} to ${op.outChannels}, ${windowText(op)}${dilation}${groups}, ` +
        `w ${range(op.weights)}${op.bias === null ? "" : `, bias ${range(op.bias)}`}`;
    }
    case "pool":
      return `${windowText(op)}${op.scale === null ? "" : `, times ${short(op.scale[0]!)}`}`;
    case "max_pool":
      return `max, ${windowText(op)}`;
    case "permute":
      return "the values in another order";
    case "connect":
      return op.how === "and" ? "the product" : "the first times 1 minus the second";
    case "delay":
      return `${range(op.steps)} steps`;
    case "taps":
      return `${op.weights.length} synapses, ${op.inputs} to ${op.outputs}, ${range(op.delays)} ` +
        `steps, w ${range(op.weights)}${op.bias === null ? "" : `, bias ${range(op.bias)}`}`;
    case "plastic":
      return `${op.rule}, ${op.size} to ${op.size}, w ${range(op.weights)}, ` +
        `alpha ${range(op.alpha)}`;
    case "pointwise":
      return layerNamed(op.layer).coefficients.map((name, row) =>
        `${name} ${range(op.coefficients.subarray(row * size, (row + 1) * size))}`
      ).join(", ");
  }
}

function windowText(op: {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly pad: readonly number[];
}): string {
  const pad = op.pad.every((each) => each === 0) ? "" : `, pad ${pairText(op.pad)}`;
  return `${op.kernel.join("x")}, stride ${pairText(op.stride)}${pad}`;
}

function pairText(pair: readonly number[]): string {
  return pair[0] === pair[1] ? String(pair[0]) : pair.join("x");
}

/** `0.5`, or `-1…2` when the values differ. */
function range(values: Float32Array | Uint32Array): string {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return least === most ? short(least) : `${short(least)}…${short(most)}`;
}

/** Four digits, without the zeros that f32 adds. */
function short(value: number): string {
  return String(Number(value.toPrecision(4)));
}
