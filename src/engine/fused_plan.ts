/**
 * How a plan is cut up for the fused kernel: which nodes run together, what an invocation carries, and
 * how many steps fit into workgroup memory. Pure arithmetic; fused.ts writes the text.
 *
 * Words: a *population* is an elementwise node with the dense nodes, or the one convolution, that feed it
 * and only it. One invocation carries a *group* of up to 32 elements and owns a word of spikes: in general
 * neighbours; behind a convolution the channels of one pixel. A *pool* is a stage of its own, a pixel an
 * invocation.
 */
import { wordsOf } from "../base/numeric.ts";
import { layerNamed, type PointwiseLayer } from "../layers/mod.ts";
import type {
  ConvOp,
  DenseOp,
  PlanEdge,
  PlanNode,
  PointwiseOp,
  PoolOp,
  StateField,
} from "../model/plan.ts";
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

/** Taps of a convolution at most: each is a bit of a word, written out in the kernel's text. */
const TAPS_MAX = 512;

/** What is added up for a population: a linear node's output, or an edge as it is. */
export type Term =
  | { readonly node: PlanNode; readonly op: DenseOp | ConvOp; readonly source: PlanEdge }
  | { readonly node: null; readonly source: PlanEdge };

/** How the elements of a node lie in groups. */
export interface Arrangement {
  /** Pixels of a node in [channels][pixels]; 0 where a group's elements are neighbours. */
  readonly pixels: number;
  /** Quads of elements a group, and groups in all. */
  readonly quads: number;
  readonly groups: number;
}

export interface Population extends Arrangement {
  readonly kind: "population";
  readonly node: PlanNode;
  readonly op: PointwiseOp;
  readonly terms: readonly Term[];
  /** Words of workgroup memory a step: one a group of spikes, or one a value. */
  readonly width: number;
  /** Where the output is kept for late edges. */
  readonly last: StateField | undefined;
}

/** Values, then a word a group: which of them are not zero. */
export interface Pool extends Arrangement {
  readonly kind: "pool";
  readonly node: PlanNode;
  readonly op: PoolOp;
  readonly source: PlanEdge;
  readonly width: number;
  readonly last: undefined;
}

export type Stage = Population | Pool;

export interface FusedPlan {
  /** In the order of the plan. */
  readonly stages: readonly Stage[];
  /** The layers whose functions the kernel calls. */
  readonly layers: readonly PointwiseLayer[];
  /** Invocations of the workgroup. */
  readonly lanes: number;
  /** Steps one dispatch runs at most. */
  readonly tile: number;
}

/** Null when the plan is of another kind or does not fit. */
export function planFused(layout: Layout, choice: KernelChoice): FusedPlan | null {
  const stages = stagesOf(layout, choice);
  if (stages === null) return null;
  const layers = [
    ...new Set(
      stages.flatMap((each) => each.kind === "population" ? [layerNamed(each.op.layer)] : []),
    ),
  ];
  if (shareNames(layers)) return null;
  // In a cycle every group has a lane of its own, which keeps its state from step to step.
  const cyclic = stages.filter(({ node }) => isCyclic(layout, node));
  const lanes = cyclic.reduce((most, { groups }) => Math.max(most, groups), choice.lanes);
  const width = stages.reduce((sum, each) => sum + each.width, 0);
  const tile = Math.min(
    layout.frame,
    TILE_STEPS_MAX,
    Math.floor(TURNS_MAX / turnsPerStep(stages, layout, lanes)),
    Math.floor(SHARED_WORDS_MAX / width),
  );
  return tile < 1 || lanes > LANES_MAX ? null : { stages, layers, lanes, tile };
}

function isCyclic({ plan }: Layout, node: PlanNode): boolean {
  return plan.blocks.some(({ kind, nodes }) => kind === "recurrent" && nodes.includes(node.index));
}

function stagesOf(layout: Layout, choice: KernelChoice): Stage[] | null {
  const { plan } = layout;
  const stages: Stage[] = [];
  for (const node of plan.nodes.slice(1)) {
    const { op } = node;
    if (!choice.windows && (op.op === "conv" || op.op === "pool")) return null;
    if (op.op === "dense" || op.op === "conv") {
      if (!isInlined(layout, node, op)) return null;
    } else if (op.op === "pointwise") {
      const terms = node.inputs.map((edge): Term => {
        const source = plan.nodes[edge.from]!;
        return source.op.op === "dense" || source.op.op === "conv"
          ? { node: source, op: source.op, source: source.inputs[0]! }
          : { node: null, source: edge };
      });
      const [conv] = terms.flatMap((term) =>
        term.node !== null && term.op.op === "conv" ? [term.op] : []
      );
      const last = node.state.find(({ name }) => name === "last");
      // The bits that the state keeps for late edges are in another order than a pixel's channels.
      if (conv !== undefined && (terms.length > 1 || last !== undefined)) return null;
      const arranged = conv === undefined
        ? neighbours(node, choice)
        : byPixel(node.size, conv.outChannels);
      const width = node.kind === "spike" ? arranged.groups : node.size;
      stages.push({ kind: "population", node, op, terms, last, width, ...arranged });
    } else if (op.op === "pool") {
      const source = node.inputs[0]!;
      if (node.state.length > 0 || node.index === plan.output || isCyclic(layout, node)) {
        return null;
      }
      const arranged = byPixel(node.size, op.channels);
      const width = node.size + arranged.groups;
      stages.push({ kind: "pool", node, op, source, last: undefined, width, ...arranged });
    } else return null;
  }
  return stages;
}

/** Whether a linear node is added up by its one reader, and never kept. */
function isInlined({ plan }: Layout, node: PlanNode, op: DenseOp | ConvOp): boolean {
  const [reader, ...others] = plan.nodes.flatMap((each) =>
    each.inputs.filter(({ from }) => from === node.index).map(() => each.op)
  );
  if (reader?.op !== "pointwise" || others.length > 0) return false;
  if (node.index === plan.output || node.state.length > 0) return false;
  if (op.op === "dense") return op.blocks === 1;
  const taps = op.inChannels * op.kernel[0] * op.kernel[1];
  return op.groups === 1 && taps <= TAPS_MAX && op.kernel[1] <= 32 && op.dilation[1] === 1 &&
    op.dilation[0] === 1 && !node.inputs[0]!.previous;
}

/**
 * As many quads a group as the choice says, fewer where lanes would stand idle: a power of two, so that
 * the words of several groups make a whole word of the state.
 */
function neighbours(node: PlanNode, choice: KernelChoice): Arrangement {
  const all = Math.ceil(node.size / 4);
  let quads = 1;
  while (quads < Math.min(choice.quads, GROUP_QUADS_MAX) && quads * choice.lanes < all) quads *= 2;
  return { pixels: 0, quads, groups: Math.ceil(all / quads) };
}

function byPixel(size: number, channels: number): Arrangement {
  const quads = Math.min(GROUP_QUADS_MAX, Math.ceil(channels / 4));
  const pixels = size / channels;
  return { pixels, quads, groups: pixels * Math.ceil(channels / (quads * 4)) };
}

/** Loop turns of the busiest invocation in one step, everything on. */
function turnsPerStep(stages: readonly Stage[], { plan }: Layout, lanes: number): number {
  return stages.reduce((sum, stage) => {
    const { node, groups, quads, width, pixels } = stage;
    let turns = 5 * quads + 2;
    if (stage.kind === "pool") {
      turns += quads * 4 * (stage.op.kernel[0] + 1) * (stage.op.kernel[1] + 1);
    } else {
      for (const term of stage.terms) {
        if (term.node === null) continue;
        const { op, source } = term;
        const { size } = plan.nodes[source.from]!;
        turns += op.op === "dense"
          ? 3 * size + Math.ceil(size / 4) + 4
          : 3 * op.inChannels * (op.kernel[0] + 1) * (op.kernel[1] + 1) + 4;
      }
    }
    const leaving = node.index === plan.output && node.kind === "spike"
      ? Math.ceil(wordsOf(node.size) / lanes) * (pixels === 0 ? 1 : 33)
      : 0;
    return sum + Math.ceil(groups / lanes) * turns + Math.ceil(width / lanes) + leaving;
  }, 2);
}
