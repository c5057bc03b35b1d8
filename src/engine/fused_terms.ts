/**
 * The sums of a fused population, as text: every dense node walks its source in ascending order, so
 * that its accumulator takes the same additions as in the reference; edges are added left to right.
 */
import type { DenseOp, PlanEdge, PlanNode } from "../model/plan.ts";
import type { KernelChoice } from "./choice.ts";
import type { Population, Term } from "./fused_plan.ts";
import type { Layout } from "./layout.ts";
import { type Parameters, quadsOf } from "./parameters.ts";

/** Where a population's output lies in workgroup memory: [tile][width] words from `base`. */
export interface Held {
  readonly population: Population;
  readonly base: number;
}

type DenseTerm = Extract<Term, { node: PlanNode }>;

export class TermWriter {
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
  functions(populations: readonly Population[]): string[] {
    return populations.flatMap(({ terms, quads }) =>
      terms.flatMap((term) => this.#isListed(term) ? [this.#listed(term, quads)] : [])
    );
  }

  /** What is added up before the first step. */
  open({ terms }: Population): string[] {
    return terms.flatMap((term) =>
      this.#isListed(term)
        ? [`    if (row.bits) {\n      gather_${term.node.index}(row, group, begin, end);\n    }`]
        : []
    );
  }

  /** Sets x0, x1, … to the fan-in of step t. */
  sums({ node, terms, quads }: Population): string {
    const each = quadList(quads);
    return terms.map((term, position) => {
      const add = (q: number, value: string) =>
        position === 0 ? `        x${q} = ${value};` : `        x${q} = exact4(x${q} + ${value});`;
      if (term.node === null) {
        const first = `first_${node.index}`;
        const lines = each.map((q) => {
          const four = [0, 1, 2, 3].map((k) =>
            this.#value(term.source, `${first} + ${q * 4 + k}u`)
          );
          return add(q, `vec4f(${four.join(", ")})`);
        });
        return `      {\n${lines.join("\n")}\n      }`;
      }
      const bias = this.#parameters.quadsAt.get(term.node.index)!;
      const finish = each.map((q) =>
        add(
          q,
          term.op.bias === null
            ? `snap4(l${q})`
            : `snap4(exact4(l${q}) + weight(${bias + q}u + group * ${quads}u))`,
        )
      );
      return `      {
${each.map((q) => `        var l${q} = vec4f(0.0);`).join("\n")}
${this.#dense(term, quads)}
${finish.join("\n")}
      }`;
    }).join("\n");
  }

  /** Adds a dense node's products of step t to l0, l1, … */
  #dense(term: DenseTerm, quads: number): string {
    const { kind } = this.#layout.plan.nodes[term.source.from]!;
    if (kind === "spike") return this.#overBits(term, quads);
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
  #overBits(term: DenseTerm, quads: number): string {
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

  #overValues(term: DenseTerm, quads: number): string {
    const { size } = this.#layout.plan.nodes[term.source.from]!;
    const adds = quadList(quads).map((q) => `            l${q} += exact4(x * weight(at + ${q}u));`)
      .join("\n");
    return `        for (var j = 0u; j < ${size}u; j++) {
          let x = ${this.#value(term.source, "j")};
          if (x != 0.0) {
            let at = ${this.#at(term, "j", quads)};
${adds}
          }
        }`;
  }

  /** Whether a term is added up for all steps of the tile at once. */
  #isListed(term: Term): term is DenseTerm {
    return this.#input === "tlist" && term.node !== null &&
      this.#layout.plan.nodes[term.source.from]!.kind === "input";
  }

  /**
   * `gather_<node>`: walks the inputs that fire in any step of the tile, in ascending order, and adds
   * each one's weights to the sums of the steps in which it fires; to the others it adds +0, which
   * changes no sum that began at +0.
   */
  #listed(term: DenseTerm, quads: number): string {
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
    return { words: held.population.groups, perWord: held.population.quads * 4 };
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
    const { perWord } = this.#wordsOf(edge);
    const word = this.#heldWord(node, edge.previous, `((${i}) / ${perWord}u)`);
    return `f32((${word} >> ((${i}) % ${perWord}u)) & 1u)`;
  }

  #heldWord(node: PlanNode, previous: boolean, w: string): string {
    const { base, population: { width, quads, last } } = this.#held.get(node.index)!;
    if (!previous) return `held_values[${base}u + (t - begin) * ${width}u + ${w}]`;
    const spikes = node.kind === "spike" ? quads * 4 : 32;
    return `late_word(row, t, ${base}u, ${width}u, ${last!.offset}u, ${spikes}u, ${w})`;
  }
}

function quadList(quads: number): number[] {
  return Array.from({ length: quads }, (_, q) => q);
}
