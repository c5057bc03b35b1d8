/**
 * The text of `inspect`: columns aligned, at most 100 wide where names allow. Every assumption stands
 * there with its reason.
 */
import { describePlan, type NodeSummary, type PlanSummary } from "./describe_plan.ts";
import { DIALECTS } from "./dialects.ts";
import type { Plan } from "./plan.ts";

const WIDTH = 100;

export function printPlan(plan: Plan): string {
  const summary = describePlan(plan);
  const sections = [
    head(summary),
    section("Nodes, in the order of a step", graph(summary)),
    section("Parameters", parameters(summary)),
    section("Blocks", blocks(summary)),
    section("Cut edges: the reader sees the step before", cuts(summary)),
    section("Choices of the dialect", choices(summary)),
    section("Assumptions and warnings", notes(summary)),
    section("Names for record", wrap(summary.probes, "  ")),
  ];
  return sections.filter((text) => text !== "").join("\n\n") + "\n";
}

function section(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? "" : [title, ...lines].join("\n");
}

function head(summary: PlanSummary): string {
  const { options } = summary;
  const dialect = options.dialect === "none" ? null : DIALECTS[options.dialect];
  const rings = summary.ringBytes === 0 ? "" : ` + ${bytes(summary.ringBytes)} in delay rings`;
  const rows = [
    ["model", summary.name],
    ["digest", summary.digest],
    ["input", shape(summary.sampleShape)],
    ["output", `${shape(summary.outputShape)} ${summary.outputKind}`],
    ["time step", `${summary.dt} s (${DT_WORDS[summary.dtSource]})`],
    ...(dialect === null ? [] : [
      ["dialect", `${options.dialect}: as ${dialect.title} ${dialect.version} computes`],
    ]),
    [
      "reading",
      `${summary.discretization}, fires at v ${options.compare === "gt" ? ">" : ">="} ` +
      `threshold, reset ${options.reset}, IF gain ${options.ifGain}, CubaLIF ${options.cubaOrder} ` +
      "current",
    ],
    ...extras(options),
    ["numbers", `${summary.parameters} (weights, biases, coefficients)`],
    ["state", `${bytes(summary.stateBytes)} a session${rings}`],
  ];
  return table(rows, "").join("\n");
}

/** Options that the frameworks seldom differ in, where they are not the usual. */
function extras(options: PlanSummary["options"]): string[][] {
  const { flattenBatch, gain, form, spikes, late, synapse, rest, clamp } = options;
  const words = [
    flattenBatch ? "Flatten counts the batch" : "",
    gain === "file" ? "" : `gain ${gain}`,
    form === "decay" ? "" : `form ${form}`,
    spikes === "one" ? "" : "several spikes a step",
    late === "none" ? "" : `${late} a step late`,
    synapse === "after" ? "" : "inputs decay with the current",
    rest === "zero" ? "" : `starts at ${rest}`,
    clamp ? "IF stops at -threshold" : "",
  ].filter(Boolean);
  return words.length === 0 ? [] : [["", words.join(", ")]];
}

const DT_WORDS = {
  flag: "as given",
  metadata: "from the file's metadata",
  dialect: "the dialect's",
  inferred: "inferred from the file's gains",
  default: "the default, for the file does not say",
} as const;

function graph({ nodes }: PlanSummary): string[] {
  const rows = nodes.map((node) => [
    node.name,
    node.type,
    shape(node.shape),
    node.kind,
    node.stateBytes === 0 ? "" : bytes(node.stateBytes),
    sources(node),
  ]);
  return table(
    [["name", "type", "shape", "gives", "state", "from (~ one step late)"], ...rows],
    "  ",
  );
}

function sources({ from, late }: NodeSummary): string {
  return from.map((name) => late.includes(name) ? `~${name}` : name).join(" + ");
}

function parameters({ nodes }: PlanSummary): string[] {
  const shown = nodes.filter(({ details }) => details !== "");
  const margin = Math.min(30, Math.max(0, ...shown.map(({ name }) => width(name)))) + 4;
  return shown.flatMap(({ name, details }) => {
    const lines = wrap(details.split(/(?<=,) /), " ".repeat(margin));
    lines[0] = `  ${pad(name, margin - 4)}  ${lines[0]!.trimStart()}`;
    return lines;
  });
}

function blocks(summary: PlanSummary): string[] {
  return summary.blocks.flatMap(({ kind, nodes }, index) => {
    const lines = wrap(nodes, " ".repeat(20));
    lines[0] = `  ${pad(String(index), 3)} ${pad(kind, 13)} ${lines[0]!.trimStart()}`;
    return lines;
  });
}

function cuts(summary: PlanSummary): string[] {
  return table(summary.cuts.map(({ from, to }) => [from, `to ${to}`, `--cut ${from}:${to}`]), "  ");
}

function choices(summary: PlanSummary): string[] {
  return summary.notes.filter(({ code }) => code === "dialect").flatMap(({ text }) =>
    wrap(text.split(" "), "      ").map((line, n) => n === 0 ? `  - ${line.trimStart()}` : line)
  );
}

/** Notes that say the same of several nodes stand together. */
function notes(summary: PlanSummary): string[] {
  const groups = new Map<string, { mark: string; code: string; text: string; nodes: string[] }>();
  for (const { level, code, node, text } of summary.notes) {
    if (code === "cut_edge" || code === "dialect") continue; // these have sections of their own
    const key = `${level} ${code} ${text}`;
    const mark = level === "warning" ? "!" : "-";
    const group = groups.get(key) ?? { mark, code, text, nodes: [] };
    groups.set(key, group);
    if (node !== undefined) group.nodes.push(node);
  }
  return [...groups.values()].flatMap(({ mark, code, text, nodes }) => {
    const where = nodes.length === 0 ? "" : ` (${nodes.join(", ")})`;
    return [
      ...wrap(`${mark} ${code}${where}`.split(" "), "  "),
      ...wrap(text.split(" "), "      "),
    ];
  });
}

/** Words or names in lines of at most `WIDTH`. */
function wrap(words: readonly string[], indent: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && width(indent) + width(line) + 1 + width(word) > WIDTH) {
      lines.push(indent + line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  if (line !== "") lines.push(indent + line);
  return lines;
}

function table(rows: readonly (readonly string[])[], indent: string): string[] {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => width(row[column]!)))) ??
    [];
  return rows.map((row) =>
    (indent + row.map((cell, column) => pad(cell, widths[column]!)).join("  ")).trimEnd()
  );
}

function pad(text: string, to: number): string {
  return text + " ".repeat(Math.max(0, to - width(text)));
}

/** Code points, not UTF-16 units. */
function width(text: string): number {
  return [...text].length;
}

function shape(axes: readonly number[]): string {
  return `[${axes.join(",")}]`;
}

function bytes(count: number): string {
  if (count < 1024) return `${count} B`;
  if (count < 1024 ** 2) return `${Number((count / 1024).toPrecision(3))} KiB`;
  return `${Number((count / 1024 ** 2).toPrecision(3))} MiB`;
}
