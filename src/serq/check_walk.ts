/** Walking the blocks of the IR: each statement with its side, its place, and its inner blocks. */
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr, Ref, Side, Statement } from "./ir.ts";
import type { Lowered } from "./lower.ts";

export interface Step {
  readonly statement: Statement;
  readonly side: Side;
  readonly at: Span;
}

export function stepsOf({ program, tables }: Lowered, block: BlockId): Step[] {
  return program.blocks[block]!.map((statement, i) => ({
    statement,
    side: program.sides[block]![i]!,
    at: tables.statementAt[block]![i]!,
  }));
}

export function innerBlocks(statement: Statement): BlockId[] {
  if (typeof statement === "string") return [];
  if ("Hold" in statement) return [statement.Hold.body];
  if ("Branch" in statement) return [statement.Branch[1], statement.Branch[2]];
  if ("While" in statement) return [statement.While[1]];
  if ("Loop" in statement) return [statement.Loop];
  if ("Fork" in statement) return [statement.Fork];
  return [];
}

/** Every statement below a block, in order, inner ones after the one they belong to. */
export function* everyStep(lowered: Lowered, block: BlockId): Generator<Step> {
  for (const step of stepsOf(lowered, block)) {
    yield step;
    for (const inner of innerBlocks(step.statement)) yield* everyStep(lowered, inner);
  }
}

/** `kv`, `kv[0]`, or `kv[…]` for a computed index. */
export function refName(members: readonly { name: string }[], { base, index }: Ref): string {
  const { name } = members[base]!;
  if (index === null) return name;
  return "Num" in index ? `${name}[${index.Num}]` : `${name}[…]`;
}

/** Whether two references name the same member as written. */
export function sameRef(a: Ref, b: Ref): boolean {
  return a.base === b.base && JSON.stringify(a.index) === JSON.stringify(b.index);
}

/** Whether the expression reads pools, stages or the clock, which move while a session waits. */
export function readsState(expr: Expr): boolean {
  return JSON.stringify(expr).match(/"(Pool|Stage|Ctx|Sample)":/) !== null;
}
