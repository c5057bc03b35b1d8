/**
 * Kernels of the nodes that keep more than one value an element: synapses with delays, fast weights; and
 * how a node reads several edges.
 */
import fastWeightsText from "../../shaders/fast_weights.wgsl" with { type: "text" };
import plasticSkeleton from "../../shaders/skeleton_plastic.wgsl" with { type: "text" };
import pushSkeleton from "../../shaders/skeleton_push.wgsl" with { type: "text" };
import tapsSkeleton from "../../shaders/skeleton_taps.wgsl" with { type: "text" };
import squashText from "../../shaders/squash.wgsl" with { type: "text" };
import { GanglionError } from "../base/errors.ts";
import { FAST_RULES, modulates } from "../layers/mod.ts";
import type { PlanNode, PlasticOp, TapsOp } from "../model/plan.ts";
import type { Constants, Kernel } from "./kernel_text.ts";
import type { Layout } from "./layout.ts";

/** What a kernel is made from: the node's edges as text, its constants, and how texts are joined. */
export interface KernelParts {
  readonly layout: Layout;
  /** First of the node's numbers in `coefs`. */
  readonly coefs: number;
  readonly turnsMax: number;
  /** `edge_k` of every edge. */
  readonly edges: readonly string[];
  /** `fan_in`, the sum of all edges. */
  readonly fanIn: string;
  /** TARGET, HAS_LAST and LAST. */
  readonly targets: Constants;
  readonly workgroupOf: (count: number) => number;
  readonly join: (constants: Constants, parts: readonly string[]) => string;
}

export function tapsKernels(node: PlanNode, op: TapsOp, parts: KernelParts): Kernel[] {
  const { layout, coefs, turnsMax, edges, fanIn, targets, workgroupOf, join } = parts;
  const longest = op.starts.reduce(
    (most, start, j) => Math.max(most, (op.starts[j + 1] ?? start) - start),
    0,
  );
  if (longest > turnsMax || op.weights.length > 2 ** 22) {
    throw new GanglionError(
      "model_unsupported",
      `Node "${node.name}": ${longest} synapses with delays reach one output, of ` +
        `${op.weights.length}; at most ${turnsMax} and ${2 ** 22} are served`,
      { node: node.name },
    );
  }
  const ring = layout.rings.get(node.index)!;
  const constants: Constants = {
    ...targets,
    INPUTS: op.inputs,
    SIZE: node.size,
    RING: ring.offset,
    RING_STEPS: ring.steps,
    RING_WORDS: layout.ringWords,
    RING_FIELD: node.state.find((field) => field.name === "ring")!.offset,
    DELAY_MAX: op.stepsMax,
    STARTS: coefs,
    SYNAPSES: coefs + op.starts.length,
    HAS_BIAS: op.bias !== null,
    BIAS: coefs + op.starts.length + 3 * op.weights.length,
  };
  const kernel = (label: string, count: number, texts: readonly string[]): Kernel => {
    const workgroup = workgroupOf(count);
    const code = join({ ...constants, WORKGROUP: workgroup }, texts);
    return { label, code, groups: Math.ceil(count / workgroup), perStep: true };
  };
  return [
    kernel(`push ${node.name}`, op.inputs, [...edges, fanIn, pushSkeleton]),
    kernel(node.name, node.size, [tapsSkeleton]),
  ];
}

export function plasticKernel(node: PlanNode, op: PlasticOp, parts: KernelParts): Kernel {
  const { coefs, edges, targets, workgroupOf, join, turnsMax } = parts;
  if (2 * op.size > turnsMax) {
    throw new GanglionError(
      "model_unsupported",
      `Node "${node.name}": fast weights of ${op.size} units, at most ${turnsMax / 2} are served`,
      { node: node.name },
    );
  }
  const field = (name: string) => node.state.find((each) => each.name === name)?.offset;
  const workgroup = workgroupOf(op.size);
  const constants: Constants = {
    ...targets,
    WORKGROUP: workgroup,
    SIZE: op.size,
    RULE: FAST_RULES.indexOf(op.rule),
    MODULATES: modulates(op.rule),
    HEBB: field("hebb")!,
    HAS_ELIGIBILITY: field("eligibility") !== undefined,
    ELIGIBILITY: field("eligibility") ?? 0,
    WEIGHTS: coefs,
    ALPHA: coefs + op.weights.length,
    RATES: coefs + 2 * op.weights.length,
  };
  return {
    label: node.name,
    code: join(constants, [...edges, squashText, fastWeightsText, plasticSkeleton]),
    groups: Math.ceil(op.size / workgroup),
    perStep: false,
  };
}

/** `fan_in(row, i, t)`: all edges as one value, their sum but for a few operations. */
export function fanInText({ op, inputs }: PlanNode, coefs: number): string {
  let value = inputs.map((_, k) => `edge_${k}(row, i, t)`)
    .reduce((total, edge) => `exact(${total} + ${edge})`);
  if (op.op === "permute") value = `edge_0(row, u32(coefs[${coefs}u + i]), t)`;
  else if (op.op === "connect") {
    const factor = op.how === "and" ? "edge_1(row, i, t)" : "exact(1.0 - edge_1(row, i, t))";
    value = `exact(edge_0(row, i, t) * ${factor})`;
  }
  return `fn fan_in(row: Row, i: u32, t: u32) -> f32 {\n  return ${value};\n}\n`;
}
