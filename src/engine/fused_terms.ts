/**
 * The sums of a fused population, as text: every dense node walks its source in ascending order, so
 * that its accumulator takes the same additions as in the reference; edges are added left to right.
 */
import type { ConvOp, DenseOp, PlanEdge, PlanNode } from "../model/plan.ts";
import type { KernelChoice } from "./choice.ts";
import type { Pool, Population, Stage, Term } from "./fused_plan.ts";
import { convText, poolText, type Sources } from "./fused_windows.ts";
import type { Layout } from "./layout.ts";
import { type Parameters, quadsOf } from "./parameters.ts";

/** Where a stage's output lies in workgroup memory: [tile][width] words from `base`. */
export interface Held {
  readonly stage: Stage;
  readonly base: number;
}

interface Linear<Op> {
  readonly node: PlanNode;
  readonly op: Op;
  readonly source: PlanEdge;
}

export class TermWriter implements Sources {
  readonly #layout: Layout;
  readonly #parameters: Parameters;
  readonly #held: ReadonlyMap<number, Held>;
  readonly #tile: number;
  readonly #input: KernelChoice["input"];

  constructor(
    layout: Layout,
    parameters: Parameters,
    held: ReadonlyMap<number, Held>,
    tile: number,
    input: KernelChoice["input"],
  ) {
    this.#layout = layout;
    this.#parameters = parameters;
    this.#held = held;
    this.#tile = tile;
    this.#input = input;
  }

  /** Functions and module variables that the populations' terms use. */
  functions(stages: readonly Stage[]): string[] {
    return stages.flatMap((stage) =>
      this.#denseOf(stage).flatMap((term) =>
        this.#isListed(term) ? [this.#listed(term, stage.quads)] : []
      )
    );
  }

  /** The whole of a pool's work for one group and step t. */
  pool(pool: Pool): string {
    const { base } = this.#held.get(pool.node.index)!;
    return poolText(pool, this, {
      at: `${base}u + (t - begin) * ${pool.width}u`,
      scale: this.#parameters.coefsAt.get(pool.node.index)!,
    });
  }

  /** What is added up before the first step. */
  open(population: Population): string[] {
    return this.#denseOf(population).flatMap((term) =>
      this.#isListed(term)
        ? [`    if (row.bits) {\n      gather_${term.node.index}(row, group, begin, end);\n    }`]
        : []
    );
  }

  /** Sets x0, x1, … to the fan-in of step t. */
  sums({ node, terms, quads, pixels }: Population): string {
    const each = quadList(quads);
    const stride = Math.max(1, pixels);
    return terms.map((term, position) => {
      const add = (q: number, value: string) =>
        position === 0 ? `        x${q} = ${value};` : `        x${q} = exact4(x${q} + ${value});`;
      if (term.node === null) {
        const first = `first_${node.index}`;
        const lines = each.map((q) => {
          const four = [0, 1, 2, 3].map((k) =>
            this.value(term.source, `${first} + ${(q * 4 + k) * stride}u`)
          );
          return add(q, `vec4f(${four.join(", ")})`);
        });
        return `      {\n${lines.join("\n")}\n      }`;
      }
      const bias = this.#parameters.quadsAt.get(term.node.index)!;
      const chunk = pixels === 0 ? "group" : `(group / ${pixels}u)`;
      const finish = each.map((q) =>
        add(
          q,
          term.op.bias === null
            ? `snap4(l${q})`
            : `snap4(exact4(l${q}) + weight(${bias + q}u + ${chunk} * ${quads}u))`,
        )
      );
      return `      {
${each.map((q) => `        var l${q} = vec4f(0.0);`).join("\n")}
${this.#linear(term, quads, pixels)}
${finish.join("\n")}
      }`;
    }).join("\n");
  }

  /** Adds a linear node's products of step t to l0, l1, … */
  #linear({ node, op, source }: Linear<DenseOp | ConvOp>, quads: number, pixels: number): string {
    if (op.op === "dense") return this.#dense({ node, op, source }, quads);
    const weights = this.#parameters.weightsAt.get(node.index)!;
    const at = (tap: string) =>
      `${weights}u + (${tap}) * ${quadsOf(op)}u + (group / ${pixels}u) * ${quads}u`;
    return convText(op, source, this, { at, quads, pixels });
  }

  #dense(term: Linear<DenseOp>, quads: number): string {
    const { kind } = this.#layout.plan.nodes[term.source.from]!;
    if (kind === "spike" && !this.isByPixel(term.source)) return this.#overBits(term, quads);
    if (kind !== "input") return this.#overValues(term, quads);
    const bits = this.#isListed(term)
      ? quadList(quads).map((q) =>
        `          l${q} = drive_${term.node.index}[(t - begin) * ${quads}u + ${q}u];`
      ).join("\n")
      : this.#overBits(term, quads);
    return `        if (row.bits) {\n${bits}\n        } else {
${this.#overValues(term, quads)}
        }`;
  }

  #at({ node, op }: { node: PlanNode; op: DenseOp }, input: string, quads: number): string {
    const weights = this.#parameters.weightsAt.get(node.index)!;
    return `${weights}u + (${input}) * ${quadsOf(op)}u + group * ${quads}u`;
  }

  /**
   * Spike by spike. Software drivers run a loop's body once more for the invocations that have left it,
   * so words without a spike are sorted out before, and loops end behind their bodies.
   */
  #overBits(term: Linear<DenseOp>, quads: number): string {
    const { words, perWord } = this.#wordsOf(term.source);
    const adds = quadList(quads).map((q) => `              l${q} += weight(at + ${q}u);`).join(
      "\n",
    );
    const spike = `(chunk + w) * ${perWord}u + firstTrailingBit(word)`;
    return `        var chunk = 0u;
        loop {
          var todo = 0u;
          for (var w = 0u; w < ${Math.min(32, words)}u; w++) {
            ${words % 32 === 0 || words < 32 ? "" : `if (chunk + w >= ${words}u) { break; }`}
            todo |= select(0u, 1u << w, ${this.#word(term.source, "chunk + w")} != 0u);
          }
          if (todo != 0u) {
            loop {
              let w = firstTrailingBit(todo);
              var word = ${this.#word(term.source, "chunk + w")};
              loop {
                let at = ${this.#at(term, spike, quads)};
${adds}
                word &= word - 1u;
                continuing {
                  break if word == 0u;
                }
              }
              todo &= todo - 1u;
              continuing {
                break if todo == 0u;
              }
            }
          }
          chunk += 32u;
          continuing {
            break if chunk >= ${words}u;
          }
        }`;
  }

  /** Value by value; as with spikes, zeros are sorted out before. */
  #overValues(term: Linear<DenseOp>, quads: number): string {
    const { size } = this.#layout.plan.nodes[term.source.from]!;
    const adds = quadList(quads).map((q) =>
      `              l${q} += exact4(x * weight(at + ${q}u));`
    ).join("\n");
    return `        var chunk = 0u;
        loop {
          var todo = 0u;
          for (var k = 0u; k < min(32u, ${size}u - chunk); k++) {
            todo |= select(0u, 1u << k, ${this.value(term.source, "chunk + k")} != 0.0);
          }
          if (todo != 0u) {
            loop {
              let j = chunk + firstTrailingBit(todo);
              let x = ${this.value(term.source, "j")};
              let at = ${this.#at(term, "j", quads)};
${adds}
              todo &= todo - 1u;
              continuing {
                break if todo == 0u;
              }
            }
          }
          chunk += 32u;
          continuing {
            break if chunk >= ${size}u;
          }
        }`;
  }

  /** Whether a term is added up for all steps of the tile at once. */
  #isListed({ source }: Linear<DenseOp>): boolean {
    return this.#input === "tlist" && this.isInput(source);
  }

  #denseOf(stage: Stage): Linear<DenseOp>[] {
    const terms: readonly Term[] = stage.kind === "pool" ? [] : stage.terms;
    return terms.flatMap((term) =>
      term.node !== null && term.op.op === "dense" ? [{ ...term, op: term.op }] : []
    );
  }

  /**
   * `gather_<node>`: walks the inputs that fire in any step of the tile, in ascending order, and adds
   * each one's weights to the sums of the steps in which it fires; to the others it adds +0, which
   * changes no sum that began at +0.
   */
  #listed(term: Linear<DenseOp>, quads: number): string {
    const steps = Array.from({ length: this.#tile }, (_, t) => t);
    const each = quadList(quads);
    const { inputBitWords } = this.#layout;
    const n = term.node.index;
    return `var<private> drive_${n}: array<vec4f, ${this.#tile * quads}>;

fn gather_${n}(row: Row, group: u32, begin: u32, end: u32) {
${steps.flatMap((t) => each.map((q) => `  var d${t}_${q} = vec4f(0.0);`)).join("\n")}
  for (var w = 0u; w < ${inputBitWords}u; w++) {
${
      steps.map((t) =>
        `    let b${t} = select(0u, upload[row.input + min(begin + ${t}u, end - 1u) * ` +
        `${inputBitWords}u + w], begin + ${t}u < end);`
      ).join("\n")
    }
    var any = ${steps.map((t) => `b${t}`).join(" | ")};
    if (any != 0u) {
      loop {
        let bit = firstTrailingBit(any);
        let at = ${this.#at(term, "w * 32u + bit", quads)};
${each.map((q) => `        let w${q} = weight(at + ${q}u);`).join("\n")}
${
      steps.flatMap((t) => [
        `        let f${t} = ((b${t} >> bit) & 1u) != 0u;`,
        ...each.map((q) => `        d${t}_${q} += select(vec4f(0.0), w${q}, f${t});`),
      ]).join("\n")
    }
        any &= any - 1u;
        continuing {
          break if any == 0u;
        }
      }
    }
  }
${
      steps.flatMap((t) => each.map((q) => `  drive_${n}[${t * quads + q}] = d${t}_${q};`))
        .join("\n")
    }
}
`;
  }

  /** Words a step of a packed source, and spikes a word. */
  #wordsOf({ from }: PlanEdge): { words: number; perWord: number } {
    const held = this.#held.get(from);
    if (held === undefined) return { words: this.#layout.inputBitWords, perWord: 32 };
    return { words: held.stage.groups, perWord: held.stage.quads * 4 };
  }

  /** Whether the source has a word a pixel, its channels as bits: of spikes, or of values not zero. */
  isByPixel({ from }: PlanEdge): boolean {
    const held = this.#held.get(from);
    return held !== undefined && held.stage.pixels > 0 &&
      (held.stage.kind === "pool" || held.stage.node.kind === "spike");
  }

  isSpike({ from }: PlanEdge): boolean {
    return this.#layout.plan.nodes[from]!.kind === "spike";
  }

  isInput({ from }: PlanEdge): boolean {
    return this.#layout.plan.nodes[from]!.kind === "input";
  }

  channelsAWord({ from }: PlanEdge): number {
    return this.#held.get(from)!.stage.quads * 4;
  }

  /** The word of group `group` of a source that lies by pixel. */
  pixelWord({ from }: PlanEdge, group: string): string {
    const { stage } = this.#held.get(from)!;
    const first = stage.kind === "pool" ? `${stage.node.size}u + ` : "";
    return this.#heldWord(stage.node, false, `${first}${group}`);
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
  value({ from, previous }: PlanEdge, i: string): string {
    const node = this.#layout.plan.nodes[from]!;
    if (node.kind === "input") return `input_value(row, t, ${i})`;
    if (node.kind !== "spike") return `bitcast<f32>(${this.#heldWord(node, previous, i)})`;
    const { quads, pixels } = this.#held.get(from)!.stage;
    const perWord = `${quads * 4}u`;
    const [bit, group] = pixels === 0 ? [`(${i}) % ${perWord}`, `(${i}) / ${perWord}`] : [
      `((${i}) / ${pixels}u) % ${perWord}`,
      `((${i}) / ${pixels}u) / ${perWord} * ${pixels}u + (${i}) % ${pixels}u`,
    ];
    return `f32((${this.#heldWord(node, previous, group)} >> (${bit})) & 1u)`;
  }

  #heldWord(node: PlanNode, previous: boolean, w: string): string {
    const { base, stage: { width, quads, last } } = this.#held.get(node.index)!;
    if (!previous) return `held_values[${base}u + (t - begin) * ${width}u + ${w}]`;
    const spikes = node.kind === "spike" ? quads * 4 : 32;
    return `late_word(row, t, ${base}u, ${width}u, ${last!.offset}u, ${spikes}u, ${w})`;
  }
}

function quadList(quads: number): number[] {
  return Array.from({ length: quads }, (_, q) => q);
}
