/**
 * Writes the two tables of docs/models.md: what is served, from the tables of fields and layers, and the
 * same types in other frameworks. With `--check` it writes nothing and exits with 1 when the page is
 * stale.
 */
import { LAYERS } from "../src/layers/mod.ts";
import { fieldsOf, knownTypes, layerOf } from "../src/model/mod.ts";
import { markdownTable } from "./markdown_table.ts";
import { keepPage, readPage } from "./page.ts";

const PAGE = "docs/models.md";

/** What a type becomes, in words; every type that is served has its line. */
const BECOMES: Readonly<Record<string, string>> = {
  Input: "the model's input; a wire in a nested graph",
  Output: "the model's output; a wire in a nested graph",
  Affine: "`W x + b`; `weight [..., out, in]` takes `[..., in]`",
  Linear: "`W x`, as Affine",
  Scale: "elementwise product",
  Conv1d: "cross-correlation, any kernel, stride, padding (`same`, `valid`), dilation, groups",
  Conv2d: "the same on two axes, each with its own numbers",
  SumPool2d: "sum over a window, floor mode, padding counts as zeros",
  AvgPool2d: "that sum over the window's size",
  Flatten: "a wire: values are flat already",
  Delay: "a ring of past values; no step is a wire",
  Threshold: "1 where the input passes",
  I: "integrator",
  IF: "integrator that fires",
  LI: "leaky integrator",
  LIF: "leaky neuron",
  CubaLI: "leaky integrator behind a leaky current",
  CubaLIF: "leaky neuron behind a leaky current",
};

/** What leaves the types that no elementwise layer runs. */
const GIVES: Readonly<Record<string, string>> = {
  Input: "bits or real",
  Output: "as its source",
  SumPool2d: "count or real",
  Flatten: "as its source",
  Delay: "as its source",
};

const PEERS = [
  "hxtorch",
  "jaxsnn",
  "Lava",
  "Nengo",
  "Norse",
  "Rockpool",
  "Sinabs",
  "snnTorch",
  "SpiNNaker2",
  "spyx",
  "SpikingJelly",
  "sparx",
];

/** By peer in the order above: b both ways, i in, o out, - neither. */
const SUPPORT: Readonly<Record<string, string>> = {
  Affine: "-iibbbbbibbb",
  Linear: "bii-ob-bibbb",
  Conv1d: "------b-ii--",
  Conv2d: "--i-b-bbibbb",
  Flatten: "--i-i-bbiibb",
  SumPool2d: "--i-i-b-ii--",
  AvgPool2d: "-------b--b-",
  LIF: "--ibbbbbibbb",
  IF: "--i-b-biibbb",
  LI: "---bbbb--o-b",
  CubaLIF: "bii-bb-bib--",
  CubaLI: "b-----------",
  I: "---------i--",
  Scale: "---------i--",
  Delay: "---------i--",
  Threshold: "---------i--",
};
const WORDS: Readonly<Record<string, string>> = { b: "both", i: "in", o: "out", "-": "" };

/** `v_reset = 0` has a default, `bias?` may be absent, the others are required. */
function fieldList(type: string): string {
  return [...fieldsOf(type)!].map(([name, { absent }]) => {
    if (absent === undefined) return `\`${name}\``;
    return absent === "none" ? `\`${name}?\`` : `\`${name} = ${absent}\``;
  }).join(", ");
}

function servedTable(): string {
  const rows = knownTypes().map((type) => {
    const name = layerOf(type);
    const layer = name === undefined ? undefined : LAYERS[name];
    const words = BECOMES[type];
    if (words === undefined) throw new Error(`say what a ${type} becomes`);
    const gives = layer?.emits ?? GIVES[type] ?? "real";
    const state = layer === undefined
      ? (type === "Delay" ? "ring" : "")
      : layer.state.map((field) => `\`${field.name}\``).join(", ");
    return [type, words, fieldList(type), state, gives];
  });
  rows.push(["NIRGraph", "inlined, its nodes named `outer.inner`", "nodes, edges", "", ""]);
  return markdownTable(["NIR type", "becomes", "fields", "state", "gives"], rows);
}

function peersTable(): string {
  const rows = Object.entries(SUPPORT).map(([type, marks]) => {
    if (marks.length !== PEERS.length) throw new Error(`${type} has not a mark for every peer`);
    const ours = fieldsOf(type) === undefined ? "" : "in";
    return [type, ours, ...[...marks].map((mark) => WORDS[mark]!)];
  });
  const missing = knownTypes().filter((type) =>
    !(type in SUPPORT) && type !== "Input" && type !== "Output"
  );
  if (missing.length > 0) throw new Error(`say who else reads ${missing.join(", ")}`);
  return markdownTable(["", "Ganglion", ...PEERS], rows);
}

/** The page with both tables as they should be. */
export function modelsPage(page: string): string {
  const put = (text: string, name: string, table: string): string => {
    const block = new RegExp(`(<!-- ${name}: [^>]*-->\n)[^]*?(<!-- end -->)`);
    if (!block.test(text)) throw new Error(`${PAGE} has no place for the table "${name}"`);
    return text.replace(block, (_, begin, end) => `${begin}\n${table}\n\n${end}`);
  };
  return put(put(page, "served", servedTable()), "peers", peersTable());
}

if (import.meta.main) keepPage(PAGE, modelsPage(readPage(PAGE)), "tools/gen_models_doc.ts");
