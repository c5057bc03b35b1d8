/**
 * An independent oracle: walks a spec's graph in float64, one step after another, from the equations of
 * NIR and the rule for cycles of docs/numerics.md. It shares no code with src/. What must hold: it looks
 * at meanings only (spec.ts), follows edges by name, and says how near a spike came to not being one,
 * for beyond that nothing can be compared.
 */
import { cutEdges, CycleError, type WalkGraph } from "./walk_cycles.ts";
import { flatOf } from "./walk_flat.ts";
import { type NodeWalk, walkNode } from "./walk_nodes.ts";
import { sizeOf, type Spec } from "./spec.ts";

export { CycleError };

export interface Walked {
  /** Values that leave each node, by its flat name: [steps][size]. */
  readonly values: ReadonlyMap<string, readonly Float64Array[]>;
  /** Membranes and currents after each step, by `name.v` and `name.i`. */
  readonly states: ReadonlyMap<string, readonly Float64Array[]>;
  readonly output: readonly Float64Array[];
  /** For each step, the least distance of a membrane to its threshold, and the largest value so far. */
  readonly margins: readonly number[];
  readonly largest: readonly number[];
  /** Edges that read the step before, as [from, to]. */
  readonly late: readonly (readonly [string, string])[];
}

/** Throws `CycleError` when a cycle holds neither a neuron nor a Delay of a step or more. */
export function walk(spec: Spec): Walked {
  const graph = flatOf(spec);
  const late = cutEdges(graph, spec.options.cut ?? []);
  const players = new Map<string, NodeWalk>(
    [...graph.nodes].filter(([name]) => name !== graph.input && name !== graph.output)
      .map(([name, node]) => [name, walkNode(node, spec)]),
  );
  const values = new Map([...graph.nodes.keys()].map((name) => [name, [] as Float64Array[]]));
  const states = new Map<string, Float64Array[]>();
  const margins: number[] = [];
  const largest: number[] = [];
  const width = spec.input.length / spec.steps;
  let most = 0;
  for (let t = 0; t < spec.steps; t++) {
    const sample = Float64Array.from(spec.input.subarray(t * width, (t + 1) * width));
    stepGraph(graph, late, players, values, t, sample);
    let margin = Infinity;
    for (const [name, player] of players) {
      margin = Math.min(margin, player.margin);
      for (const [field, state] of Object.entries(player.state)) {
        const key = `${name}.${field}`;
        if (!states.has(key)) states.set(key, []);
        states.get(key)!.push(state.slice());
        most = state.reduce((a, b) => Math.max(a, Math.abs(b)), most);
      }
      most = values.get(name)![t]!.reduce((a, b) => Math.max(a, Math.abs(b)), most);
      most = Math.max(most, player.reach);
    }
    margins.push(margin);
    largest.push(most);
  }
  return {
    values,
    states,
    output: values.get(graph.output)!,
    margins,
    largest,
    late: [...late].map((key) => JSON.parse(key) as [string, string]),
  };
}

/** One step: every node once, sources before readers, as the late edges allow. */
function stepGraph(
  graph: WalkGraph,
  late: ReadonlySet<string>,
  players: ReadonlyMap<string, NodeWalk>,
  values: ReadonlyMap<string, Float64Array[]>,
  t: number,
  sample: Float64Array,
): void {
  const sumInto = (name: string): Float64Array => {
    const sum = new Float64Array(sizeOf(graph.nodes.get(name)!.in));
    for (const from of graph.sources.get(name)!) {
      const isLate = late.has(JSON.stringify([from, name]));
      const add = isLate ? (t === 0 ? null : values.get(from)![t - 1]!) : valueOf(from);
      add?.forEach((each, i) => sum[i] = sum[i]! + each);
    }
    return sum;
  };
  const valueOf = (name: string): Float64Array => {
    const done = values.get(name)![t];
    if (done !== undefined) return done;
    const value = name === graph.input
      ? sample
      : name === graph.output
      ? sumInto(name)
      : graph.stores.has(name)
      ? players.get(name)!.recall!()
      : players.get(name)!.step(sumInto(name));
    values.get(name)!.push(value);
    return value;
  };
  for (const name of graph.nodes.keys()) valueOf(name);
  // A Delay that holds everything back has answered from its past; now it hears of this step.
  for (const name of graph.stores) players.get(name)!.hear!(sumInto(name));
}
