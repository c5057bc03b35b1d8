/** Laid-out nodes → `PlanNode`s: operations with their numbers, edge kinds, places of the state. */
import { sizeOf, wordsOf } from "../base/numeric.ts";
import { layerNamed } from "../layers/mod.ts";
import { restsOf, type Step } from "./coefficients.ts";
import { pointwiseOp } from "./discretise.ts";
import type { FlatGraph } from "./flat_graph.ts";
import type { Folds } from "./fold.ts";
import { edgeKinds } from "./kinds.ts";
import type { LaidOutNode, Layout } from "./layout.ts";
import { convOp, denseOp, poolOp } from "./linear.ts";
import type { EdgeKind, PlanNode, PlanOp, PointwiseOp, StateField } from "./plan.ts";
import type { NodeShapes } from "./shapes.ts";

const IDENTITY: PointwiseOp = {
  op: "pointwise",
  layer: "identity",
  mode: 0,
  coefficients: new Float32Array(0),
};

export function playableNodes(
  layout: Layout,
  graph: FlatGraph,
  shapes: ReadonlyMap<string, NodeShapes>,
  delays: ReadonlyMap<string, Uint32Array>,
  folds: Folds,
  step: Step,
): PlanNode[] {
  const target = sumTargets(layout);
  const drafts = layout.nodes.map((node, index) => {
    // A Sum has the shape that its only reader takes.
    const shape = node.type === "Sum"
      ? shapes.get(target.get(index)!)!.in
      : shapes.get(node.name)!.out;
    return {
      node,
      inputs: node.inputs,
      shape,
      op: opOf(node, layout, graph, shapes, delays, folds, step),
    };
  });
  const kinds = edgeKinds(drafts);
  const readLate = new Set(
    layout.nodes.flatMap(({ inputs }) =>
      inputs.filter(({ previous }) => previous).map(({ from }) => from)
    ),
  );
  let offset = 0;
  return drafts.map(({ node, inputs, shape, op }, index): PlanNode => {
    const size = sizeOf(shape);
    const kind = kinds[index]!;
    const given = op.op === "pointwise" ? graph.nodes.get(node.name) : undefined;
    const rests = given === undefined ? {} : restsOf(node.name, given, step);
    const state = stateOf(op, size, readLate.has(index) ? kind : null, offset, rests);
    offset += state.reduce((words, field) => words + field.words, 0);
    return { index, name: node.name, type: node.type, inputs, shape, size, kind, op, state };
  });
}

function sumTargets(layout: Layout): Map<number, string> {
  const targets = new Map<number, string>();
  for (const { name, inputs } of layout.nodes) {
    for (const { from } of inputs) targets.set(from, name);
  }
  return targets;
}

function opOf(
  { name, type, inputs }: LaidOutNode,
  layout: Layout,
  graph: FlatGraph,
  shapes: ReadonlyMap<string, NodeShapes>,
  delays: ReadonlyMap<string, Uint32Array>,
  folds: Folds,
  step: Step,
): PlanOp {
  const node = graph.nodes.get(name);
  if (node === undefined || type === "Sum" || type === "Output") return IDENTITY;
  if (inputs.length === 0) return { op: "input" };
  const shape = shapes.get(name)!;
  switch (type) {
    case "Affine":
    case "Linear":
      return denseOp(name, node, folds.weights.get(name));
    case "Conv1d":
    case "Conv2d":
      return convOp(name, node, shape.in, folds.weights.get(name));
    case "SumPool2d":
    case "AvgPool2d":
      return poolOp(name, node, shape.in);
    case "Delay":
      return delayOp(delays.get(name)!, layout.cutDelays.has(name));
    default:
      return pointwiseOp(name, node, sizeOf(shape.out), step, folds.neurons.has(name));
  }
}

/** A delay that cuts its cycle waits one step less, since its edge brings the step before. */
function delayOp(given: Uint32Array, cuts: boolean): PlanOp {
  const steps = cuts ? given.map((each) => each - 1) : given;
  const stepsMax = steps.reduce((most, each) => Math.max(most, each), 0);
  return stepsMax === 0 ? IDENTITY : { op: "delay", steps, stepsMax };
}

/** The layer's own fields, a ring of inputs, then what a cut edge reads. `late` is its kind, or null. */
export function stateOf(
  op: PlanOp,
  size: number,
  late: EdgeKind | null,
  start: number,
  rests: Readonly<Record<string, number>> = {},
): StateField[] {
  const fields: StateField[] = [];
  let offset = start;
  const add = (name: string, type: StateField["type"], words: number, rest: number): void => {
    fields.push({ name, type, offset, words, rest });
    offset += words;
  };
  if (op.op === "pointwise") {
    for (const { name, rest } of layerNamed(op.layer).state) {
      add(name, "f32", size, rests[name] ?? rest);
    }
  }
  if (op.op === "plastic") {
    add("hebb", "f32", op.size * op.size, 0);
    if (op.rule === "retroactive") add("eligibility", "f32", op.size * op.size, 0);
  }
  if (op.op === "delay" || op.op === "taps") add("ring", "u32", 2, 0); // head, filled
  if (late === "spike") add("last", "bits", wordsOf(size), 0);
  else if (late !== null) add("last", "f32", size, 0);
  return fields;
}
