/**
 * The verb of the model lane: `NirGraph` → `Plan`. Each pass is a file of its own; here stands their
 * order. What must hold of the plan is written in plan.ts; besides, every node with weights, every pool
 * and every delay has exactly one incoming edge, and cut edges never read the model input.
 */
import { sizeOf } from "../base/numeric.ts";
import { undelayed } from "./cycles.ts";
import { cyclicParts } from "./digraph.ts";
import { digestOf } from "./digest.ts";
import type { Step } from "./coefficients.ts";
import { noteChoices, noteRules, withMetadata } from "./dialect_notes.ts";
import { delaySteps } from "./discretise.ts";
import { type FlatGraph, Notes } from "./flat_graph.ts";
import { foldGains } from "./fold.ts";
import { flattenGraph } from "./graph.ts";
import { withLateNodes } from "./late.ts";
import { isNeuron, layOut } from "./layout.ts";
import type { NirGraph } from "./nir.ts";
import { type CompileOptions, dialectOf, settle } from "./options.ts";
import type { Plan } from "./plan.ts";
import { playableNodes } from "./plan_nodes.ts";
import { rewireRecurrences } from "./rewire.ts";
import { inferShapes, type NodeShapes } from "./shapes.ts";
import { chooseDt, noteSteps } from "./time.ts";
import { withoutWires } from "./wires.ts";

/**
 * Compiles a graph. Throws `model_invalid` or `model_unsupported` naming the node and what to do, and
 * `usage` for an option that does not fit.
 */
export function compilePlan(graph: NirGraph, options: CompileOptions = {}): Plan {
  const notes = new Notes();
  const { settings, chosen } = settle(withMetadata(options, graph.metadata, notes));
  const dialect = dialectOf(options);
  noteChoices(chosen, notes);
  const whole = dialect?.byKind ? rewireRecurrences(graph, notes) : graph;
  const read = flattenGraph(whole, settings.strict, notes);
  const shapes = inferShapes(read, settings, notes);
  const { dt, source } = chooseDt(read, graph.metadata, options.dt, dialect, notes);
  noteSteps(read, dt, settings.discretization, dialect, notes);
  if (dialect !== null) noteRules(read, dialect, dt, notes);
  const flat = withLateNodes(read, settings.late, dt, shapes);
  const step: Step = { dt, settings, notes };
  const delays = allDelays(flat, shapes, step);
  // Before the wires are gone, so that the error names them too. A wished-for cut may yet mend it.
  if (options.cut === undefined) refuseBareCycles(flat, delays);
  const bare = withoutWires(flat, (name) => isWire(flat, name, delays));
  const layout = layOut(bare, delays, options.cut ?? [], notes);
  const folds = foldGains(bare, shapes, step);
  const nodes = playableNodes(layout, bare, shapes, delays, folds, step);
  const { discretization, strict: _, ...reading } = settings;
  const sampleShape = shapes.get(flat.input)!.out;
  const outputShape = shapes.get(flat.output)!.out;
  const plan: Omit<Plan, "digest"> = {
    name: options.name ?? graph.name,
    dt,
    dtSource: source,
    discretization,
    options: reading,
    sampleShape,
    sampleSize: sizeOf(sampleShape),
    outputShape,
    outputSize: sizeOf(outputShape),
    nodes,
    blocks: layout.blocks,
    output: layout.output,
    stateWords: nodes.reduce(
      (words, { state }) => words + state.reduce((sum, field) => sum + field.words, 0),
      0,
    ),
    notes: notes.list,
  };
  return { ...plan, digest: digestOf(plan) };
}

/** Steps of every Delay by name. */
function allDelays(
  flat: FlatGraph,
  shapes: ReadonlyMap<string, NodeShapes>,
  step: Step,
): Map<string, Uint32Array> {
  const delays = new Map<string, Uint32Array>();
  for (const [name, node] of flat.nodes) {
    if (node.type !== "Delay") continue;
    delays.set(name, delaySteps(name, node, sizeOf(shapes.get(name)!.out), step));
  }
  return delays;
}

function isWire(
  flat: FlatGraph,
  name: string,
  delays: ReadonlyMap<string, Uint32Array>,
): boolean {
  if (name === flat.input || name === flat.output) return false;
  const { type } = flat.nodes.get(name)!;
  if (type !== "Delay") return type === "Input" || type === "Output" || type === "Flatten";
  return delays.get(name)!.every((steps) => steps === 0);
}

/** Refuses a cycle that nothing delays. */
function refuseBareCycles(flat: FlatGraph, delays: ReadonlyMap<string, Uint32Array>): void {
  const names = [...flat.nodes.keys()].filter((name) =>
    !isNeuron(flat.nodes.get(name)!.type) && !delays.get(name)?.every((steps) => steps >= 1)
  );
  const index = new Map(names.map((name, place) => [name, place]));
  const arcs = flat.edges.flatMap(([from, to]) => {
    const [a, b] = [index.get(from), index.get(to)];
    return a === undefined || b === undefined ? [] : [{ from: a, to: b }];
  });
  const [part] = cyclicParts(names.length, arcs);
  if (part !== undefined) throw undelayed(part.map((place) => names[place]!));
}
