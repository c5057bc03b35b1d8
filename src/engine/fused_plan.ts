/**
 * How a plan is cut up for the fused kernel: which nodes run together, what an invocation carries, and
 * how many steps fit into workgroup memory. Pure arithmetic; fused.ts writes the text.
 *
 * Words: a *population* is an elementwise node with the dense nodes that feed it and only it. One
 * invocation carries a *group* of up to 32 neighbouring elements: it owns a word of spikes.
 */
import { layerNamed, type PointwiseLayer } from "../layers/mod.ts";
import type { DenseOp, PlanEdge, PlanNode, PointwiseOp, StateField } from "../model/plan.ts";
import type { KernelChoice } from "./choice.ts";
import { TURNS_MAX } from "./kernel_text.ts";
import { shareNames } from "./layer_texts.ts";
import type { Layout } from "./layout.ts";

/** Workgroup memory, and invocations of a workgroup, that every device has. */
const SHARED_WORDS_MAX = 16_384 / 4;
const LANES_MAX = 256;
const TILE_STEPS_MAX = 16;
/** A group's spikes are one word. */
const GROUP_QUADS_MAX = 8;

/** What is added up for a population: a dense node's output, or an edge as it is. */
export type Term =
  | { readonly node: PlanNode; readonly op: DenseOp; readonly source: PlanEdge }
  | { readonly node: null; readonly source: PlanEdge };

export interface Population {
  readonly node: PlanNode;
  readonly op: PointwiseOp;
  readonly terms: readonly Term[];
  /** Quads of elements a group, and groups in all. */
  readonly quads: number;
  readonly groups: number;
  /** Words of workgroup memory a step: one a group of spikes, or one a value. */
  readonly width: number;
  /** Where the output is kept for late edges. */
  readonly last: StateField | undefined;
}

export interface FusedPlan {
  readonly populations: readonly Population[];
  /** The layers whose functions the kernel calls. */
  readonly layers: readonly PointwiseLayer[];
  /** Invocations of the workgroup. */
  readonly lanes: number;
  /** Steps one dispatch runs at most. */
  readonly tile: number;
}

/** Null when the plan is of another kind or does not fit. */
export function planFused(layout: Layout, choice: KernelChoice): FusedPlan | null {
  const populations = populationsOf(layout, choice);
  if (populations === null) return null;
  const layers = [...new Set(populations.map(({ op }) => layerNamed(op.layer)))];
  if (shareNames(layers)) return null;
  // In a cycle every group has a lane of its own, which keeps its state from step to step.
  const cyclic = populations.filter(({ node }) => isCyclic(layout, node));
  const lanes = cyclic.reduce((most, { groups }) => Math.max(most, groups), choice.lanes);
  const width = populations.reduce((sum, each) => sum + each.width, 0);
  const tile = Math.min(
    layout.frame,
    TILE_STEPS_MAX,
    Math.floor(TURNS_MAX / turnsPerStep(populations, layout, lanes)),
    Math.floor(SHARED_WORDS_MAX / width),
  );
  return tile < 1 || lanes > LANES_MAX ? null : { populations, layers, lanes, tile };
}

function isCyclic({ plan }: Layout, node: PlanNode): boolean {
  return plan.blocks.some(({ kind, nodes }) => kind === "recurrent" && nodes.includes(node.index));
}

function populationsOf(layout: Layout, choice: KernelChoice): Population[] | null {
  const { plan } = layout;
  const reads = (index: number) =>
    plan.nodes.flatMap(({ op, inputs }) =>
      inputs.filter(({ from }) => from === index).map(() => op)
    );
  const populations: Population[] = [];
  for (const node of plan.nodes.slice(1)) {
    if (node.op.op === "dense") {
      const [reader, ...others] = reads(node.index);
      const inlined = reader?.op === "pointwise" && others.length === 0 &&
        node.op.blocks === 1 && node.index !== plan.output && node.state.length === 0;
      if (!inlined) return null;
    } else if (node.op.op === "pointwise") {
      const terms = node.inputs.map((edge): Term => {
        const source = plan.nodes[edge.from]!;
        return source.op.op === "dense"
          ? { node: source, op: source.op, source: source.inputs[0]! }
          : { node: null, source: edge };
      });
      const last = node.state.find(({ name }) => name === "last");
      populations.push({ node, op: node.op, terms, last, ...groupsOf(node, choice) });
    } else return null;
  }
  return populations;
}

/**
 * As many quads a group as the choice says, fewer where lanes would stand idle: a power of two, so that
 * the words of several groups make a whole word of the state.
 */
function groupsOf(
  node: PlanNode,
  choice: KernelChoice,
): Pick<Population, "quads" | "groups" | "width"> {
  const all = Math.ceil(node.size / 4);
  let quads = 1;
  while (quads < Math.min(choice.quads, GROUP_QUADS_MAX) && quads * choice.lanes < all) quads *= 2;
  const groups = Math.ceil(all / quads);
  return { quads, groups, width: node.kind === "spike" ? groups : node.size };
}

/** Loop turns of the busiest invocation in one step, everything on. */
function turnsPerStep(
  populations: readonly Population[],
  { plan }: Layout,
  lanes: number,
): number {
  return populations.reduce((sum, { terms, groups, quads, width }) => {
    const perGroup = terms.reduce((turns, { node, source }) => {
      if (node === null) return turns;
      const { size } = plan.nodes[source.from]!;
      return turns + size + 3 * Math.ceil(size / 4) + 2;
    }, quads + 2);
    return sum + Math.ceil(groups / lanes) * perGroup + Math.ceil(width / lanes);
  }, 2);
}
