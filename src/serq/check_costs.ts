/** A cost is assigned on every path before it is read; a loop's body may not run. */
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr, Statement } from "./ir.ts";
import type { Lowered } from "./lower.ts";
import { walk } from "./lower_constants.ts";
import { exprsOf } from "./lower_renumber.ts";
import { linkError } from "./messages.ts";
import { stepsOf } from "./check_walk.ts";

/** Slots assigned on every path; null: no path comes here. */
type Assigned = ReadonlySet<number> | null;

export function checkCosts(lowered: Lowered): void {
  after(lowered, lowered.program.session, new Set());
}

function after(lowered: Lowered, block: BlockId, before: Assigned): Assigned {
  let assigned = before;
  for (const { statement, at } of stepsOf(lowered, block)) {
    if (assigned === null) return null;
    for (const expr of exprsOf(statement)) requireAssigned(lowered, expr, assigned, at);
    assigned = step(lowered, statement, assigned);
  }
  return assigned;
}

function step(lowered: Lowered, statement: Statement, assigned: ReadonlySet<number>): Assigned {
  if (statement === "End") return null;
  if (typeof statement === "string") return assigned;
  if ("Set" in statement) return new Set([...assigned, statement.Set[0]]);
  if ("Choose" in statement) return new Set([...assigned, statement.Choose.var]);
  if ("Hold" in statement) return after(lowered, statement.Hold.body, assigned);
  if ("Loop" in statement) {
    after(lowered, statement.Loop, assigned);
    return null;
  }
  if ("While" in statement) {
    after(lowered, statement.While[1], assigned);
    return assigned;
  }
  if ("Fork" in statement) {
    after(lowered, statement.Fork, assigned);
    return assigned;
  }
  if (!("Branch" in statement)) return assigned;
  const then = after(lowered, statement.Branch[1], assigned);
  const otherwise = after(lowered, statement.Branch[2], assigned);
  if (then === null || otherwise === null) return then ?? otherwise;
  return new Set([...then].filter((slot) => otherwise.has(slot)));
}

function requireAssigned(
  { program, tables }: Lowered,
  expr: Expr,
  assigned: ReadonlySet<number>,
  at: Span,
): void {
  walk(expr, (each) => {
    if (!("Attr" in each) || assigned.has(each.Attr)) return;
    if (typeof program.attr_types[each.Attr] !== "object") return;
    throw linkError("cost_unassigned", tables.spans.get(each) ?? at, program.attrs[each.Attr]!);
  });
}
