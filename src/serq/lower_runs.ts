/** `run`: one job on one stage, or a flow over several. */
import type { Span } from "./diagnostic.ts";
import type { Expr, Ref, RunMode, Statement } from "./ir.ts";
import { linkError } from "./messages.ts";
import type { Tables } from "./lower_context.ts";

/** Appends a statement where one is being lowered. */
export type Add = (statement: Statement) => void;

/** One job on one stage, or a flow over several. */
export function runStatement(
  tables: Tables,
  stages: readonly Ref[],
  mode: RunMode,
  work: Expr,
  growing: Ref | null,
  at: Span,
): Statement {
  const [stage, ...also] = stages;
  if (also.length === 0) return { Run: { stage: stage!, mode, work, growing } };
  if (mode !== "Plain") throw linkError("flow_mode", at);
  tables.flows += 1;
  const bases = stages.map(({ base }) => base);
  const twice = bases.find((base, i) => bases.indexOf(base) < i);
  if (twice !== undefined) throw linkError("flow_twice", at, tables.stages[twice]!.name);
  if (tables.share === null) throw linkError("share_missing", at);
  return { Run: { stage: stage!, mode, work, growing, also, share: tables.share } };
}
