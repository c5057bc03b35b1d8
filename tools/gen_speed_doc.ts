/**
 * Writes the tables of measured speed, from bench/results, into README.md and docs/performance.md. With
 * `--check` it writes nothing and exits with 1 when a page is stale. What was not measured has no table.
 */
import { existsSync, readFileSync } from "node:fs";
import { markdownTable } from "./markdown_table.ts";
import { keepPage, readPage } from "./page.ts";

const RESULTS = new URL("../bench/results/", import.meta.url);
const MODELS = ["digits", "mlp", "recurrent", "conv", "big"];
const BASE = "plain js, events";

interface Row {
  readonly slots: number;
  readonly density: number;
  readonly executor: string;
  readonly "frames/s": number;
  readonly "÷ plain events": number;
}

interface EngineResult {
  readonly date: string;
  readonly machine: string;
  readonly setting: {
    readonly adapter: string;
    readonly runtime: string;
    readonly "geometric mean ÷ plain events": Readonly<Record<string, number>>;
    readonly "one active row of 64": { readonly ratio: number };
  };
  readonly rows: readonly Row[];
}

function engineResult(runtime: string, model: string): EngineResult | null {
  const file = new URL(`engine.${runtime}.${model}.json`, RESULTS);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) as EngineResult : null;
}

const number = (value: number): string => value.toLocaleString("en-US");

/** Slots down, executors across: frames a second of one model at one density. */
function framesTable({ rows }: EngineResult, density: number, executors: readonly string[]) {
  const at = rows.filter((row) => row.density === density);
  const slots = [...new Set(at.map((row) => row.slots))];
  return markdownTable(
    ["slots", ...executors],
    slots.map((count) => [
      String(count),
      ...executors.map((executor) => {
        const row = at.find((each) => each.slots === count && each.executor === executor);
        return row === undefined ? "" : number(row["frames/s"]);
      }),
    ]),
  );
}

/** Models down: geometric means over slots and densities of the ratio to the plain loop. */
function meansTable(runtime: string): string {
  const rows = MODELS.flatMap((model) => {
    const result = engineResult(runtime, model);
    if (result === null) return [];
    const { setting } = result;
    const means = setting["geometric mean ÷ plain events"];
    return [[
      model,
      ...["webgpu", "cpu executor", "cpu executor, 2 threads", "plain js, dense"]
        .map((executor) => String(means[executor] ?? "")),
      String(setting["one active row of 64"].ratio),
    ]];
  });
  return markdownTable(
    [
      "model",
      "WebGPU",
      "CPU executor",
      "with 2 threads",
      "plain JS, dense",
      "1 of 64 rows ÷ 1 slot",
    ],
    rows,
  );
}

function tables(): [name: string, text: string][] {
  const found: [string, string][] = [];
  for (const runtime of ["deno", "bun"]) {
    const mlp = engineResult(runtime, "mlp");
    if (mlp === null) continue;
    const executors = ["webgpu", "cpu executor", BASE, "plain js, dense"];
    const about = `${mlp.date}, ${mlp.machine}, ${mlp.setting.runtime}, ${mlp.setting.adapter}:`;
    for (const percent of [1, 5, 20]) {
      const table = framesTable(mlp, percent / 100, executors);
      found.push([`mlp ${percent} ${runtime}`, `${about}\n\n${table}`]);
    }
    found.push([`means ${runtime}`, `${about}\n\n${meansTable(runtime)}`]);
  }
  return found;
}

interface Report {
  readonly date: string;
  readonly machine: string;
  readonly setting: Readonly<Record<string, unknown>>;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** Any bench's rows as they are kept, with the columns that are named after a colon, or all of them. */
function rowsTable(what: string): string {
  const [file, names] = what.split(": ", 2);
  const text = readFileSync(new URL(`${file}.json`, RESULTS), "utf8");
  const { date, machine, setting, rows } = JSON.parse(text) as Report;
  const columns = names?.split(", ") ?? Object.keys(rows[0]!);
  const cell = (value: unknown) => typeof value === "number" ? number(value) : String(value ?? "");
  const table = markdownTable(columns, rows.map((row) => columns.map((name) => cell(row[name]))));
  const about = [date, machine, setting["runtime"], setting["device"]]
    .filter((each) => each !== undefined).join(", ");
  return `${about}:\n\n${table}`;
}

/** The page with each `<!-- speed: NAME -->` … `<!-- end -->` filled, `rows FILE` from any result; throws where a name has no table. */
export function speedPage(page: string): string {
  const byName = new Map(tables());
  return page.replaceAll(
    /(<!-- speed: (.+?) -->\n)[^]*?(<!-- end -->)/g,
    (_, open: string, name: string, close: string) => {
      const text = name.startsWith("rows ") ? rowsTable(name.slice(5)) : byName.get(name);
      if (text === undefined) throw new Error(`bench/results has nothing for "${name}"`);
      return `${open}\n${text}\n\n${close}`;
    },
  );
}

if (import.meta.main) {
  for (const page of ["README.md", "docs/performance.md"]) {
    keepPage(page, speedPage(readPage(page)), "tools/gen_speed_doc.ts");
  }
}
