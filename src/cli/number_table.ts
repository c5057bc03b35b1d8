/**
 * Numbers in text: a row a line, columns apart by commas, semicolons, tabs or spaces, names of the columns
 * in the first line if there are any, `#` before remarks. Every refusal names the line.
 */
import { GanglionError } from "../base/errors.ts";

export interface NumberTable {
  /** In lower case; null where the first line holds numbers. */
  readonly names: readonly string[] | null;
  readonly columns: number;
  readonly rows: number;
  /** Row-major. */
  readonly values: Float64Array;
  /** Line of a row, from 1. */
  readonly lineOf: (row: number) => number;
}

/** Throws `input_unreadable`. */
export function parseNumberTable(path: string, text: string): NumberTable {
  const fail = (line: number, what: string): never => {
    throw new GanglionError("input_unreadable", `${path}, line ${line}: ${what}`, { path });
  };
  const values: number[] = [];
  const lines: number[] = [];
  let names: string[] | null = null;
  let columns = 0;
  let line = 0;
  for (const raw of text.split("\n")) {
    line++;
    const row = raw.replace(/#.*$/, "").trim();
    if (row === "") continue;
    const cells = row.split(/\s*[,;\t]\s*|\s+/);
    if (columns === 0) {
      columns = cells.length;
      if (cells.every((cell) => !isNumber(cell))) {
        names = cells.map((cell) => cell.toLowerCase().replace(/^"(.*)"$/, "$1"));
        continue;
      }
    }
    if (cells.length !== columns) {
      fail(line, `${cells.length} columns where ${columns} belong, as in the first line`);
    }
    for (const [i, cell] of cells.entries()) {
      if (!isNumber(cell)) {
        fail(line, `"${cell.slice(0, 40)}" in column ${i + 1} is no number`);
      }
      values.push(Number(cell));
    }
    lines.push(line);
  }
  if (columns === 0) throw new GanglionError("input_unreadable", `${path} is empty`, { path });
  if (lines.length === 0) {
    throw new GanglionError(
      "input_unreadable",
      `${path} holds one line of names (${names!.join(", ").slice(0, 80)}) and no row of numbers`,
      { path },
    );
  }
  return {
    names,
    columns,
    rows: lines.length,
    values: Float64Array.from(values),
    lineOf: (row) => lines[row]!,
  };
}

const isNumber = (cell: string): boolean => /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(cell);
