/**
 * The fused skeleton: one workgroup a row runs all layers and all steps of a tile in one dispatch; what
 * travels between layers stays in workgroup memory. For plans of dense and elementwise nodes, cycles
 * included; anything else, and whatever does not fit, takes the per-layer kernels. The order of
 * operations is the same, so the bits are.
 *
 * Words: a *population* is an elementwise node with the dense nodes that feed it and only it. One
 * invocation carries a *group* of up to 32 neighbouring elements: it owns a word of spikes.
 */
import fireText from "../../shaders/fire.wgsl" with { type: "text" };
import { LAYERS } from "../layers/mod.ts";
import type { DenseOp, PlanEdge, PlanNode, PointwiseOp } from "../model/plan.ts";
import { joinKernel, type Kernel, OUTPUT_BEGIN, restLiteral, TURNS_MAX } from "./kernels.ts";
import type { Layout } from "./layout.ts";
import { type Parameters, quadsOf } from "./parameters.ts";

/** Workgroup memory that every device has. */
const SHARED_WORDS_MAX = 16_384 / 4;
const TILE_STEPS_MAX = 16;
const GROUP_QUADS_MAX = 8;

/** What is added up for a population: a dense node's output, or an edge as it is. */
type Term =
  | { readonly node: PlanNode; readonly op: DenseOp; readonly source: PlanEdge }
  | { readonly node: null; readonly source: PlanEdge };

interface Population {
  readonly node: PlanNode;
  readonly op: PointwiseOp;
  readonly terms: readonly Term[];
  /** Quads of elements a group, and groups in all. */
  readonly quads: number;
  readonly groups: number;
  /** Words of workgroup memory a step: one a group of spikes, or one a value. */
  readonly width: number;
}

export interface FusedKernel {
  readonly kernel: Kernel;
  /** Steps one dispatch runs at most. */
  readonly tile: number;
}

/**
 * The plan's fused kernel for workgroups of at most `lanes` invocations, or null when the plan is of
 * another kind or does not fit. Few lanes with many elements each suit software drivers, the reverse
 * suits GPUs; the bits are the same.
 */
export function writeFused(
  layout: Layout,
  parameters: Parameters,
  lanes: number,
): FusedKernel | null {
  const populations = populationsOf(layout, lanes);
  if (populations === null) return null;
  const turns = turnsPerStep(populations, layout, lanes);
  const width = populations.reduce((sum, each) => sum + each.width, 0);
  const tile = Math.min(
    layout.frame,
    TILE_STEPS_MAX,
    Math.floor(TURNS_MAX / turns),
    Math.floor(SHARED_WORDS_MAX / width),
  );
  if (tile < 1) return null;
  return {
    kernel: new FusedWriter(layout, parameters, populations, { tile, lanes }).write(),
    tile,
  };
}

function populationsOf({ plan }: Layout, lanes: number): Population[] | null {
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
      populations.push({ node, op: node.op, terms, ...groupsOf(node, lanes) });
    } else return null;
  }
  return populations;
}

/**
 * Enough quads a group that every lane has one group, as far as 32 elements go. Spikes that are kept
 * for a late edge are packed as the state keeps them, 32 a word.
 */
function groupsOf(
  node: PlanNode,
  lanes: number,
): Pick<Population, "quads" | "groups" | "width"> {
  const all = Math.ceil(node.size / 4);
  const isKept = node.kind === "spike" && node.state.some(({ name }) => name === "last");
  const quads = Math.min(GROUP_QUADS_MAX, isKept ? all : Math.ceil(all / lanes));
  const groups = Math.ceil(node.size / (quads * 4));
  return { quads, groups, width: node.kind === "spike" ? groups : node.size };
}

/** Loop turns of the busiest invocation in one step, everything on. */
function turnsPerStep(
  populations: readonly Population[],
  { plan }: Layout,
  lanes: number,
): number {
  return populations.reduce((sum, { terms, groups, quads }) => {
    const perGroup = terms.reduce((turns, { node, source }) => {
      if (node === null) return turns;
      const { size } = plan.nodes[source.from]!;
      return turns + size + Math.ceil(size / 4) + 1;
    }, quads * 4 * 3 + 2);
    return sum + Math.ceil(groups / lanes) * perGroup;
  }, 2);
}

class FusedWriter {
  readonly #layout: Layout;
  readonly #parameters: Parameters;
  readonly #populations: readonly Population[];
  readonly #lanes: number;
  /** By node: its population, and the first word of its values in workgroup memory, [tile][width]. */
  readonly #shared = new Map<number, Population & { base: number }>();
  #sharedWords = 0;

  constructor(
    layout: Layout,
    parameters: Parameters,
    populations: readonly Population[],
    { tile, lanes }: { tile: number; lanes: number },
  ) {
    this.#layout = layout;
    this.#parameters = parameters;
    this.#populations = populations;
    this.#lanes = lanes;
    for (const population of populations) {
      this.#shared.set(population.node.index, { ...population, base: this.#sharedWords });
      this.#sharedWords += population.width * tile;
    }
  }

  write(): Kernel {
    const layers = new Set(this.#populations.map(({ op }) => LAYERS[op.layer]));
    const code = joinKernel(this.#layout, {}, [
      fireText,
      ...[...layers].map(({ wgsl }) => wgsl),
      `var<workgroup> held_values: array<u32, ${Math.max(1, this.#sharedWords)}>;
var<private> sums: array<vec4f, ${GROUP_QUADS_MAX}>;

fn input_value(row: Row, t: u32, i: u32) -> f32 {
  if (row.bits) {
    let word = upload[row.input + t * ${this.#layout.inputBitWords}u + (i >> 5u)];
    return f32((word >> (i & 31u)) & 1u);
  }
  return bitcast<f32>(upload[row.input + t * ${this.#layout.inputWords}u + i]);
}

// A node's output of the step before: from the state in the first step of a pass.
fn late_word(row: Row, t: u32, base: u32, width: u32, last: u32, w: u32) -> u32 {
  if (t == now.begin) {
    return select(state[row.read + last + w], 0u, row.rest);
  }
  return held_values[base + (t - 1u - now.begin) * width + w];
}
`,
      ...this.#populations.map((population) => this.#population(population)),
      this.#main(),
    ]);
    return { label: "frame", code, groups: 1, perStep: false };
  }

  #main(): string {
    const workgroup = this.#lanes;
    const run = (population: Population, begin: string, end: string, rest: string, read: string) =>
      `for (var g = lane; g < ${population.groups}u; g += ${workgroup}u) {
    population_${population.node.index}(row, g, ${begin}, ${end}, ${rest}, ${read});
  }
  workgroupBarrier();`;
    const blocks = this.#layout.plan.blocks.map(({ kind, nodes }) => {
      const members = this.#populations.filter(({ node }) => nodes.includes(node.index));
      if (kind === "feedforward") {
        return members.map((each) => run(each, "now.begin", "end", "row.rest", "row.read"))
          .join("\n  ");
      }
      const steps = members.map((each) => run(each, "t", "t + 1u", "row.rest && first", "read"));
      return `for (var t = now.begin; t < end; t++) {
  let first = t == now.begin;
  let read = select(row.write, row.read, first);
  ${steps.join("\n  ")}
  }`;
    });
    return `@compute @workgroup_size(${workgroup}, 1, 1)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = load_row(group.z);
  let end = min(now.end, row.steps);
  ${blocks.join("\n  ")}
  ${this.#commits(workgroup).join("\n  ")}
  if (lane == 0u && now.begin < end && end == row.steps) {
    output[row.output] = upload[0];
    output[row.output + 1u] = row.steps;
    output[row.output + 2u] = row.slot;
  }
}
`;
  }

  /** Keeps what late edges read in the next pass, once every node has run its steps. */
  #commits(workgroup: number): string[] {
    return this.#populations.flatMap(({ node }) => {
      const last = node.state.find(({ name }) => name === "last");
      if (last === undefined) return [];
      const { base, width } = this.#shared.get(node.index)!;
      const from = `${base}u + (end - 1u - now.begin) * ${width}u`;
      return [`for (var w = lane; w < ${width}u && now.begin < end; w += ${workgroup}u) {
    state[row.write + ${last.offset}u + w] = held_values[${from} + w];
  }`];
    });
  }

  /** All steps from begin to end of one group: the sums, then the layer's step element by element. */
  #population(population: Population): string {
    const { node, op, quads, terms } = population;
    const layer = LAYERS[op.layer];
    const elements = quads * 4;
    const states = layer.state.map(({ name }) => node.state.find((each) => each.name === name)!);
    const coefsAt = this.#parameters.coefsAt.get(node.index)!;
    const { base, width } = this.#shared.get(node.index)!;
    const bits = node.kind === "spike";
    const own = `own_${node.index}`;
    const load = states.map(({ offset, rest }, f) =>
      `    ${own}[${f * elements}u + k] = select(` +
      `bitcast<f32>(state[read + ${offset}u + first + k]), ${restLiteral(rest)}, rest);`
    );
    const store = states.map(({ offset }, f) =>
      `    state[row.write + ${offset}u + first + k] = bitcast<u32>(${own}[${f * elements}u + k]);`
    );
    const lines = {
      hold: states.map((_, f) => `      held[${f}] = ${own}[${f * elements}u + k];`),
      give: layer.coefficients.map((_, c) =>
        `      given[${c}] = coefs[${coefsAt + c * node.size}u + first + k];`
      ),
      keep: states.map((_, f) => `      ${own}[${f * elements}u + k] = held[${f}];`),
    };
    const out = node.index === this.#layout.plan.output
      ? `      output[row.output + ${OUTPUT_BEGIN}u + t * ${node.size}u + first + k] = bitcast<u32>(y);`
      : "";
    const at = `${base}u + (t - now.begin) * ${width}u`;
    const put = bits
      ? "      word |= select(0u, 1u << k, y != 0.0);"
      : `      held_values[${at} + first + k] = bitcast<u32>(y);`;
    const putWord = bits ? `    held_values[${at} + group] = word;` : "";
    return `var<private> ${own}: array<f32, ${Math.max(1, states.length * elements)}>;

fn population_${node.index}(row: Row, group: u32, begin: u32, end: u32, rest: bool, read: u32) {
  if (begin >= end) {
    return;
  }
  let first = group * ${elements}u;
  let count = min(${elements}u, ${node.size}u - first);
  for (var k = 0u; k < count; k++) {
${load.join("\n")}
  }
  for (var t = begin; t < end; t++) {
${terms.map((term, i) => this.#term(term, i, quads)).join("\n")}
    var word = 0u;
    for (var k = 0u; k < count; k++) {
      var held: array<f32, ${Math.max(1, states.length)}>;
      var given: array<f32, ${Math.max(1, layer.coefficients.length)}>;
${[...lines.hold, ...lines.give].join("\n")}
      let y = ${layer.name}_step(sums[k / 4u][k % 4u], &held, &given, ${op.mode}u);
${lines.keep.join("\n")}
${put}
${out}
    }
${putWord}
  }
  for (var k = 0u; k < count; k++) {
${store.join("\n")}
  }
}
`;
  }

  /** Adds one term to `sums`, or begins them with it. */
  #term(term: Term, position: number, quads: number): string {
    const each = Array.from({ length: quads }, (_, q) => q);
    const add = (q: number, value: string) =>
      position === 0
        ? `      sums[${q}] = ${value};`
        : `      sums[${q}] = exact4(sums[${q}] + ${value});`;
    if (term.node === null) {
      const values = each.map((q) => {
        const lane = [0, 1, 2, 3].map((k) => this.#value(term.source, `first + ${q * 4 + k}u`));
        return add(q, `vec4f(${lane.join(", ")})`);
      });
      return `    {\n${values.join("\n")}\n    }`;
    }
    const { node, op, source } = term;
    const blockQuads = quadsOf(op);
    const weights = this.#parameters.weightsAt.get(node.index)!;
    const at = (input: string) => `${weights}u + (${input}) * ${blockQuads}u + group * ${quads}u`;
    const spikeAdds = each.map((q) => `          l${q} += weights[at + ${q}u];`).join("\n");
    const valueAdds = each.map((q) => `          l${q} += exact4(x * weights[at + ${q}u]);`)
      .join("\n");
    const from = this.#layout.plan.nodes[source.from]!;
    const [words, perWord] = from.kind === "input"
      ? [this.#layout.inputBitWords, 32]
      : [this.#shared.get(from.index)!.groups, this.#shared.get(from.index)!.quads * 4];
    const overBits = `      for (var w = 0u; w < ${words}u; w++) {
        var word = ${this.#word(source, "w")};
        while (word != 0u) {
          let at = ${at(`w * ${perWord}u + firstTrailingBit(word)`)};
${spikeAdds}
          word &= word - 1u;
        }
      }`;
    const overValues = `      for (var j = 0u; j < ${from.size}u; j++) {
        let x = ${this.#value(source, "j")};
        if (x != 0.0) {
          let at = ${at("j")};
${valueAdds}
        }
      }`;
    const sum = from.kind === "spike"
      ? overBits
      : from.kind === "input"
      ? `      if (row.bits) {\n${overBits}\n      } else {\n${overValues}\n      }`
      : overValues;
    const bias = this.#parameters.coefsAt.get(node.index)!;
    const finish = each.map((q) => {
      const lane = [0, 1, 2, 3].map((k) => `coefs[${bias}u + first + ${q * 4 + k}u]`);
      const whole = op.bias === null ? `l${q}` : `exact4(l${q}) + vec4f(${lane.join(", ")})`;
      return add(q, `snap4(${whole})`);
    });
    return `    {
${each.map((q) => `      var l${q} = vec4f(0.0);`).join("\n")}
${sum}
${finish.join("\n")}
    }`;
  }

  /** Word `w` of a packed source at step t. */
  #word({ from, previous }: PlanEdge, w: string): string {
    const node = this.#layout.plan.nodes[from]!;
    if (node.kind === "input") {
      return `upload[row.input + t * ${this.#layout.inputBitWords}u + ${w}]`;
    }
    return this.#heldWord(node, previous, w);
  }

  /** Value `i` of a source at step t, as f32. */
  #value(edge: PlanEdge, i: string): string {
    const node = this.#layout.plan.nodes[edge.from]!;
    if (node.kind === "input") return `input_value(row, t, ${i})`;
    if (node.kind !== "spike") return `bitcast<f32>(${this.#heldWord(node, edge.previous, i)})`;
    const perWord = this.#shared.get(edge.from)!.quads * 4;
    const word = this.#heldWord(node, edge.previous, `((${i}) / ${perWord}u)`);
    return `f32((${word} >> ((${i}) % ${perWord}u)) & 1u)`;
  }

  #heldWord(node: PlanNode, previous: boolean, w: string): string {
    const { base, width } = this.#shared.get(node.index)!;
    if (!previous) return `held_values[${base}u + (t - now.begin) * ${width}u + ${w}]`;
    const { offset } = node.state.find(({ name }) => name === "last")!;
    return `late_word(row, t, ${base}u, ${width}u, ${offset}u, ${w})`;
  }
}
