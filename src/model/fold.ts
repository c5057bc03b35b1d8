/**
 * Gains that go into the weights before a neuron, as sparx's importer has it: possible where every edge
 * into the neuron comes from weights that feed nothing else, and, behind a convolution, where the gain
 * is one value a channel. Elsewhere the gain stays with the neuron, which differs in rounding alone.
 */
import { gainOf, type Step } from "./coefficients.ts";
import type { FlatGraph } from "./flat_graph.ts";
import { tensorOf } from "./nir_schema.ts";
import type { NodeShapes } from "./shapes.ts";

export interface Folds {
  /** Neurons whose gain is 1 now. */
  readonly neurons: ReadonlySet<string>;
  /** By weight node: what multiplies the weights and bias of each output (Conv: of each channel). */
  readonly weights: ReadonlyMap<string, (output: number) => number>;
}

const WEIGHTS = ["Affine", "Linear", "Conv1d", "Conv2d"];

export function foldGains(
  graph: FlatGraph,
  shapes: ReadonlyMap<string, NodeShapes>,
  step: Step,
): Folds {
  const neurons = new Set<string>();
  const weights = new Map<string, (output: number) => number>();
  for (const [name, node] of graph.nodes) {
    const gain = gainOf(name, node, step);
    if (gain === null) continue;
    const sources = graph.edges.filter(([, to]) => to === name).map(([from]) => from);
    const folds = sources.map((source) => foldInto(graph, shapes, source, gain));
    if (folds.length === 0 || folds.includes(null)) {
      step.notes.info(
        "gain_kept",
        "Its gain cannot go into weights before it and stays here",
        name,
      );
      continue;
    }
    neurons.add(name);
    sources.forEach((source, k) => weights.set(source, folds[k]!));
  }
  return { neurons, weights };
}

function foldInto(
  graph: FlatGraph,
  shapes: ReadonlyMap<string, NodeShapes>,
  source: string,
  gain: (element: number) => number,
): ((output: number) => number) | null {
  const node = graph.nodes.get(source)!;
  const readers = graph.edges.filter(([from]) => from === source);
  if (!WEIGHTS.includes(node.type) || readers.length !== 1) return null;
  if (!node.type.startsWith("Conv")) return gain;
  const channels = tensorOf(node, "weight").shape[0]!;
  const size = shapes.get(source)!.out.reduce((product, axis) => product * axis, 1);
  const positions = size / channels;
  for (let i = 0; i < size; i++) {
    if (gain(i) !== gain(i - (i % positions))) return null;
  }
  return (channel) => gain(channel * positions);
}
