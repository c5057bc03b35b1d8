/**
 * A recorded workload: a CSV file with a line for each turn, `session,turn,new,out,think[,forced]`
 * under a header. Sessions come in the order of their first line, turns in the order of their number.
 */
import type { TraceTurn } from "./ir.ts";
import { argumentError } from "./messages.ts";

const COLUMNS = ["session", "turn", "new", "out", "think"];

export function readTrace(text: string): TraceTurn[][] {
  const [head = "", ...lines] = text.split(/\r?\n/);
  const names = head.split(",").map((name) => name.trim());
  const columns = COLUMNS.map((name) => names.indexOf(name));
  const missing = COLUMNS.filter((_, i) => columns[i]! < 0);
  if (missing.length > 0) throw argumentError("trace_header", missing.join(", "));
  const forced = names.indexOf("forced");
  const sessions = new Map<string, { turn: number; values: TraceTurn }[]>();
  lines.forEach((line, i) => {
    if (line.trim() === "") return;
    const cells = line.split(",").map((cell) => cell.trim());
    const number = (column: number): number => {
      const cell = cells[column] ?? "";
      const value = cell === "" ? NaN : Number(cell);
      if (!Number.isFinite(value)) throw argumentError("trace_line", `${i + 2}: ${line}`);
      return value;
    };
    const [session, turn, fresh, out, think] = columns as [number, number, number, number, number];
    const values = {
      new: number(fresh),
      out: number(out),
      think: number(think),
      forced: forced < 0 ? 0 : number(forced),
    };
    const key = cells[session] ?? "";
    const turns = sessions.get(key) ?? [];
    turns.push({ turn: number(turn), values });
    sessions.set(key, turns);
  });
  return [...sessions.values()].map((turns) =>
    turns.sort((a, b) => a.turn - b.turn).map(({ values }) => values)
  );
}
