/**
 * The fused skeleton: one workgroup a row runs all layers and all steps of a tile in one dispatch; what
 * travels between layers stays in workgroup memory. For plans of dense, elementwise, convolution and pool
 * nodes, cycles included; anything else, and whatever does not fit, takes the per-layer kernels. The
 * order of operations is the same, so the bits are. fused_plan.ts says what runs where; fused_terms.ts
 * and fused_windows.ts write the sums.
 */
import skeleton from "../../shaders/skeleton_fused.wgsl" with { type: "text" };
import { wordsOf } from "../base/numeric.ts";
import { layerNamed } from "../layers/mod.ts";
import type { PlanBlock } from "../model/plan.ts";
import type { KernelChoice } from "./choice.ts";
import { type FusedPlan, planFused, type Population, type Stage } from "./fused_plan.ts";
import { type Held, TermWriter } from "./fused_terms.ts";
import { joinKernel, type Kernel, OUTPUT_BEGIN, restLiteral } from "./kernel_text.ts";
import { layerTexts } from "./layer_texts.ts";
import type { Layout } from "./layout.ts";
import type { Parameters } from "./parameters.ts";

export interface FusedKernel {
  readonly kernel: Kernel;
  /** Steps one dispatch runs at most. */
  readonly tile: number;
}

/** The plan's fused kernel, or null when the plan is of another kind or does not fit. */
export function writeFused(
  layout: Layout,
  parameters: Parameters,
  choice: KernelChoice,
): FusedKernel | null {
  const fused = planFused(layout, choice);
  if (fused === null) return null;
  return { kernel: new FusedWriter(layout, parameters, fused, choice).write(), tile: fused.tile };
}

/** The texts of one population: run in this order, `step` once a time step. */
interface Pieces {
  /** Loads state and what does not change from step to step. */
  readonly open: string;
  readonly step: string;
  readonly shut: string;
}

class FusedWriter {
  readonly #layout: Layout;
  readonly #parameters: Parameters;
  readonly #fused: FusedPlan;
  readonly #choice: KernelChoice;
  readonly #held = new Map<number, Held>();
  readonly #terms: TermWriter;
  readonly #sharedWords: number;

  constructor(layout: Layout, parameters: Parameters, fused: FusedPlan, choice: KernelChoice) {
    this.#layout = layout;
    this.#parameters = parameters;
    this.#fused = fused;
    this.#choice = choice;
    let words = 0;
    for (const stage of fused.stages) {
      this.#held.set(stage.node.index, { stage, base: words });
      words += stage.width * fused.tile;
    }
    this.#sharedWords = words;
    this.#terms = new TermWriter(layout, parameters, this.#held, fused.tile, choice.input);
  }

  write(): Kernel {
    const { layers, stages } = this.#fused;
    const { inputWords, inputBitWords } = this.#layout;
    const constants = {
      HELD_WORDS: Math.max(1, this.#sharedWords),
      INPUT_WORDS: inputWords,
      INPUT_BIT_WORDS: inputBitWords,
    };
    const code = joinKernel(this.#layout, this.#parameters, this.#choice.weights, constants, [
      layerTexts(layers),
      skeleton,
      ...stages.flatMap((stage) => stage.kind === "pool" ? [] : [this.#stepFunction(stage)]),
      ...this.#terms.functions(stages),
      this.#main(),
    ]);
    return { label: "frame", code, groups: 1, perStep: false, layers };
  }

  #main(): string {
    const { lanes } = this.#fused;
    const blocks = this.#layout.plan.blocks.map((block) =>
      block.kind === "feedforward" ? this.#feedforward(block) : this.#cycle(block)
    );
    return `@compute @workgroup_size(${lanes}, 1, 1)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = load_row(workgroup.z);
  let begin = now.begin;
  let end = min(now.end, row.steps);
${blocks.join("\n")}
${this.#commits().join("\n")}
${this.#leaving()}
  if (lane == 0u && begin < end && end == row.steps) {
    output[row.output] = upload[0];
    output[row.output + 1u] = row.steps;
    output[row.output + 2u] = row.slot;
  }
}
`;
  }

  #membersOf({ nodes }: PlanBlock): Stage[] {
    return this.#fused.stages.filter(({ node }) => nodes.includes(node.index));
  }

  /** Each population runs all steps before the next one begins. */
  #feedforward(block: PlanBlock): string {
    return this.#membersOf(block).map((stage) => {
      const { open, step, shut } = this.#pieces(stage);
      return `  for (var group = lane; group < ${stage.groups}u && begin < end; ` +
        `group += ${this.#fused.lanes}u) {
${open}
    for (var t = begin; t < end; t++) {
${step}
    }
${shut}
  }
  workgroupBarrier();`;
    }).join("\n");
  }

  /** All populations of a cycle run one step before any runs the next; each group has its own lane. */
  #cycle(block: PlanBlock): string {
    const members = this.#membersOf(block).map((stage) => ({
      guard: `lane < ${stage.groups}u && begin < end`,
      ...this.#pieces(stage),
    }));
    const steps = members.map(({ guard, step }) =>
      `    if (${guard}) {\n${step}\n    }\n    workgroupBarrier();`
    );
    return `  {
    let group = lane;
${members.map(({ open }) => open).join("\n")}
    for (var t = begin; t < end; t++) {
${steps.join("\n")}
    }
${members.map(({ guard, shut }) => `    if (${guard}) {\n${shut}\n    }`).join("\n")}
  }`;
  }

  /** Keeps what late edges read in the next pass, once every node has run its steps. */
  #commits(): string[] {
    return this.#fused.stages.flatMap((stage) => {
      const { last } = stage;
      if (last === undefined) return [];
      return [
        `  for (var w = lane; w < ${last.words}u && begin < end; w += ${this.#fused.lanes}u) {
    state[row.write + ${last.offset}u + w] = ${this.#wholeWord(stage, "end - 1u")};
  }`,
      ];
    });
  }

  /** Copies an output of spikes, 32 a word; other values left when they were computed. */
  #leaving(): string {
    const { output } = this.#layout.plan;
    const { stage } = this.#held.get(output)!;
    const { size, kind } = stage.node;
    if (kind !== "spike") return "";
    const words = wordsOf(size);
    const value = this.#terms.value({ from: output, previous: false }, "w * 32u + bit");
    const word = stage.pixels === 0
      ? `    let word = ${this.#wholeWord(stage, "t")};`
      : `    var word = 0u;
    for (var bit = 0u; bit < min(32u, ${size}u - w * 32u); bit++) {
      word |= select(0u, 1u << bit, ${value} != 0.0);
    }`;
    return `  for (var k = lane; begin < end && k < (end - begin) * ${words}u; ` +
      `k += ${this.#fused.lanes}u) {
    let t = begin + k / ${words}u;
    let w = k % ${words}u;
${word}
    output[row.output + ${OUTPUT_BEGIN}u + t * ${words}u + w] = word;
  }`;
  }

  /** Word `w` of what a stage gave at step `t`: a value, or 32 spikes, which several groups make up. */
  #wholeWord({ node, quads, width }: Stage, t: string): string {
    const from = `${this.#held.get(node.index)!.base}u + (${t} - begin) * ${width}u`;
    const perWord = node.kind === "spike" ? 8 / quads : 1;
    const words = Array.from({ length: perWord }, (_, k) => {
      const word = `held_values[${from} + min(${perWord}u * w + ${k}u, ${width - 1}u)]`;
      const present = width % perWord === 0 ? word : `select(${word}, 0u, ${perWord}u * w + ` +
        `${k}u >= ${width}u)`;
      return k === 0 ? present : `(${present} << ${k * quads * 4}u)`;
    });
    return words.join(" | ");
  }

  /** `step_<node>`: the layer's step for four elements. */
  #stepFunction({ node, op }: Population): string {
    const layer = layerNamed(op.layer);
    const states = layer.state.map((_, f) => `, s${f}: ptr<function, vec4f>`);
    const coefs = layer.coefficients.map((_, c) => `, c${c}: vec4f`);
    const lanes = ["x", "y", "z", "w"].map((at) =>
      [
        ...layer.state.map((_, f) => `  held[${f}] = (*s${f}).${at};`),
        ...layer.coefficients.map((_, c) => `  given[${c}] = c${c}.${at};`),
        `  y.${at} = ${layer.name}_step(x.${at}, &held, &given, ${op.mode}u);`,
        ...layer.state.map((_, f) => `  (*s${f}).${at} = held[${f}];`),
      ].join("\n")
    );
    return `fn step_${node.index}(x: vec4f${states.join("")}${coefs.join("")}) -> vec4f {
  var y: vec4f;
  var held: array<f32, ${Math.max(1, layer.state.length)}>;
  var given: array<f32, ${Math.max(1, layer.coefficients.length)}>;
${lanes.join("\n")}
  return y;
}
`;
  }

  #pieces(stage: Stage): Pieces {
    return stage.kind === "pool"
      ? { open: "", step: this.#terms.pool(stage), shut: "" }
      : this.#populationPieces(stage);
  }

  #populationPieces(population: Population): Pieces {
    const { node, op, quads, pixels } = population;
    const layer = layerNamed(op.layer);
    const n = node.index;
    const elements = quads * 4;
    const each = Array.from({ length: quads }, (_, q) => q);
    const states = layer.state.map(({ name }) => node.state.find((field) => field.name === name)!);
    const stride = Math.max(1, pixels);
    const channels = node.size / stride;
    const whole = channels % elements === 0;
    const [chunk, pixel] = pixels === 0
      ? ["group", "0u"]
      : [`(group / ${pixels}u)`, `group % ${pixels}u`];
    const at4 = (q: number) => `first_${n} + ${q * 4 * stride}u, ${stride}u`;
    const left = (q: number) => whole ? "4u" : `max(count_${n}, ${q * 4}u) - ${q * 4}u`;
    const coefs = this.#coefficients(population);
    const open = [
      `    let first_${n} = ${chunk} * ${elements * stride}u + ${pixel};`,
      `    let count_${n} = min(${elements}u, ` +
      `${channels}u - min(${channels}u, ${chunk} * ${elements}u));`,
      ...coefs.hoisted,
      ...each.flatMap((q) =>
        states.map(({ offset, rest }, f) =>
          `    var s${f}_${n}_${q} = select(state_quad(row.read + ${offset}u + ${at4(q)}), ` +
          `vec4f(${restLiteral(rest)}), row.rest);`
        )
      ),
      ...this.#terms.open(population),
    ];
    const { base } = this.#held.get(n)!;
    const at = `${base}u + (t - begin) * ${population.width}u`;
    const spikes = node.kind === "spike";
    const isValueOutput = !spikes && n === this.#layout.plan.output;
    const steps = each.map((q) => {
      const given = [
        `x${q}`,
        ...states.map((_, f) => `&s${f}_${n}_${q}`),
        ...layer.coefficients.map((_, c) => coefs.at(c, q)),
      ];
      const put = [
        `      {`,
        `        let y = step_${n}(${given.join(", ")});`,
        spikes
          ? `        word |= fired(y) << ${q * 4}u;`
          : `        hold_quad(${at} + ${at4(q)}, y, ${left(q)});`,
        ...isValueOutput
          ? [
            `        put_quad(row.output + ${OUTPUT_BEGIN}u + t * ${node.size}u + ${at4(q)}, y, ` +
            `${left(q)});`,
          ]
          : [],
        `      }`,
      ];
      return put.join("\n");
    });
    const word = whole ? "word" : `word & (0xffffffffu >> (32u - max(1u, count_${n})))`;
    return {
      open: open.join("\n"),
      step: [
        ...each.map((q) => `      var x${q} = vec4f(0.0);`),
        this.#terms.sums(population),
        ...(spikes ? ["      var word = 0u;"] : []),
        ...steps,
        ...(spikes ? [`      held_values[${at} + group] = ${word};`] : []),
      ].join("\n"),
      shut: each.flatMap((q) =>
        states.map(({ offset }, f) =>
          `    keep_quad(row.write + ${offset}u + ${at4(q)}, s${f}_${n}_${q}, ${left(q)});`
        )
      ).join("\n"),
    };
  }

  /** Coefficients are loaded once where all elements share them, or where a group is one quad. */
  #coefficients({ node, op, quads, pixels }: Population): {
    hoisted: string[];
    at: (c: number, q: number) => string;
  } {
    const n = node.index;
    const rowQuads = Math.ceil(node.size / 4);
    const first = this.#parameters.quadsAt.get(n)!;
    const row = (c: number) => op.coefficients.subarray(c * node.size, (c + 1) * node.size);
    const shared = (c: number) => row(c).every((value) => value === row(c)[0]);
    const scalars = this.#parameters.coefsAt.get(n)!;
    const quad = (c: number, q: number) =>
      pixels === 0
        ? `weight(${first + c * rowQuads + q}u + group * ${quads}u)`
        : `coef_quad(${scalars + c * node.size + q * 4 * pixels}u + first_${n}, ${pixels}u)`;
    const hoisted = layerNamed(op.layer).coefficients.flatMap((_, c) => {
      if (shared(c)) return [`    let c${c}_${n} = vec4f(weight(${first + c * rowQuads}u).x);`];
      return quads === 1 ? [`    let c${c}_${n} = ${quad(c, 0)};`] : [];
    });
    return {
      hoisted,
      at: (c, q) => shared(c) || quads === 1 ? `c${c}_${n}` : quad(c, q),
    };
  }
}
