/**
 * Holds: what fits at all, each pool once, statements that act on an enclosing hold name it as it
 * does, indices that do not move while it lasts, `cached` and `reuse` where there is a cache.
 */
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr, HoldStatement, Ref, Statement } from "./ir.ts";
import { realValue } from "./ir.ts";
import type { Lowered } from "./lower.ts";
import { fold, walk } from "./lower_constants.ts";
import { exprsOf } from "./lower_renumber.ts";
import { linkError } from "./messages.ts";
import { checkAmount } from "./check_runs.ts";
import { everyStep, innerBlocks, readsState, refName, sameRef, stepsOf } from "./check_walk.ts";

const EPSILON = 1e-9;

export function checkHolds(lowered: Lowered): void {
  checkBlock(lowered, lowered.program.session, []);
  checkStale(lowered);
}

type Holds = readonly HoldStatement[];

function checkBlock(lowered: Lowered, block: BlockId, holds: Holds): void {
  for (const { statement, at } of stepsOf(lowered, block)) {
    checkCached(lowered, statement, holds, at);
    if (typeof statement === "string") continue;
    if ("Hold" in statement) {
      checkHold(lowered, statement.Hold, at);
      checkBlock(lowered, statement.Hold.body, [...holds, statement.Hold]);
      continue;
    }
    checkInside(lowered, statement, holds, at);
    for (const inner of innerBlocks(statement)) {
      checkBlock(lowered, inner, "Fork" in statement ? [] : holds);
    }
  }
}

function checkInside(
  lowered: Lowered,
  statement: Exclude<Statement, string>,
  holds: Holds,
  at: Span,
): void {
  const { pools } = lowered.program;
  if ("Grow" in statement || "Load" in statement) {
    const grow = "Grow" in statement;
    const [ref, amount] = grow ? statement.Grow : statement.Load;
    const what = grow ? "grow" : "load";
    enclosing(lowered, ref, holds, what, at);
    checkAmount(amount, `\`${what} ${refName(pools, ref)}\``, at);
  } else if ("Release" in statement) {
    const ref = statement.Release;
    const named = holds.some(({ pools: held }) => held.some(([each]) => sameRef(each, ref)));
    if (!named && !leased(lowered, ref)) enclosing(lowered, ref, holds, "release", at);
    if (named) enclosing(lowered, ref, holds, "release", at);
  } else if ("Run" in statement && statement.Run.growing !== null) {
    enclosing(lowered, statement.Run.growing, holds, "growing", at);
  }
}

/** The innermost hold of the pool, which the statement must name as the hold does. */
function enclosing(lowered: Lowered, ref: Ref, holds: Holds, what: string, at: Span): void {
  const { pools } = lowered.program;
  const held = holds.flatMap((hold) => hold.pools.map(([each]) => each));
  const name = refName(pools, ref);
  const same = held.findLast((each) => sameRef(each, ref));
  if (same === undefined) {
    if (held.some(({ base }) => base === ref.base)) {
      throw linkError("hold_other_index", at, what, name);
    }
    throw linkError("outside_hold", at, what, name);
  }
  if (same.index !== null && readsState(same.index)) throw linkError("hold_index_moves", at, name);
}

function leased(lowered: Lowered, { base }: Ref): boolean {
  for (const { statement } of everyStep(lowered, lowered.program.session)) {
    if (typeof statement === "string" || !("Hold" in statement)) continue;
    if (statement.Hold.lease?.[0].base === base) return true;
  }
  return false;
}

function checkHold(lowered: Lowered, hold: HoldStatement, at: Span): void {
  const { pools } = lowered.program;
  const { pools: parts, lease, reuse, cache, body } = hold;
  parts.forEach(([ref, units, reserve], i) => {
    const name = refName(pools, ref);
    if (parts.slice(0, i).some(([each]) => sameRef(each, ref))) {
      throw linkError("hold_twice", at, name);
    }
    checkAmount(units, `\`hold ${name}\``, at);
    checkFits(pools[ref.base]!, [units, reserve], at);
    checkIndexKept(lowered, ref, body, at);
  });
  if (lease !== null && !parts.some(([each]) => sameRef(each, lease[0]))) {
    throw linkError("lease_other", at, refName(pools, lease[0]));
  }
  if (reuse !== null && cache === null) throw linkError("reuse_without_cache", at);
}

function checkFits(
  { cap, block }: Lowered["program"]["pools"][number],
  amounts: readonly (Expr | null)[],
  at: Span,
): void {
  for (const amount of amounts) {
    const units = amount === null ? null : fold(amount);
    if (units === null) continue;
    const size = block ?? null;
    const needed = size === null ? units : Math.ceil(units / size - EPSILON) * size;
    if (needed > realValue(cap) + EPSILON) {
      throw linkError("hold_over_cap", at, units, size, realValue(cap));
    }
  }
}

/** The body may not change an attribute that the hold's index reads. */
function checkIndexKept(lowered: Lowered, ref: Ref, body: BlockId, at: Span): void {
  if (ref.index === null) return;
  const { attrs, pools } = lowered.program;
  const read = new Set<number>();
  walk(ref.index, (each) => {
    if ("Attr" in each) read.add(each.Attr);
  });
  for (const { statement } of everyStep(lowered, body)) {
    if (typeof statement === "string") continue;
    const slot = "Set" in statement
      ? statement.Set[0]
      : "Choose" in statement
      ? statement.Choose.var
      : -1;
    if (!read.has(slot)) continue;
    throw linkError("hold_index_changes", at, refName(pools, ref), attrs[slot]!);
  }
}

/** `cached` means the innermost hold's prefix, which a hold without `cache` does not take. */
function checkCached(lowered: Lowered, statement: Statement, holds: Holds, at: Span): void {
  const innermost = holds.at(-1);
  if (innermost === undefined || innermost.cache !== null) return;
  const { slot_cached: slot } = lowered.program;
  for (const expr of exprsOf(statement)) {
    walk(expr, (each) => {
      if ("Attr" in each && each.Attr === slot) {
        throw linkError("cached_without_cache", lowered.tables.spans.get(each) ?? at);
      }
    });
  }
}

/** A header is read at admission: what was set from live state before is stale there. */
function checkStale(lowered: Lowered): void {
  const { program, tables } = lowered;
  const live = new Map<number, string>();
  const settled = new Set<number>();
  for (const { statement } of everyStep(lowered, program.session)) {
    if (typeof statement === "string") continue;
    if ("Set" in statement) {
      const [slot, expr] = statement.Set;
      const call = liveCall(lowered, expr);
      if (call === null) settled.add(slot);
      else live.set(slot, call);
    } else if ("Choose" in statement) settled.add(statement.Choose.var);
    else if ("Hold" in statement) {
      const { pools, reuse, cache } = statement.Hold;
      for (
        const expr of [...pools.flatMap(([, units, reserve]) => [units, reserve]), reuse, cache]
      ) {
        if (expr !== null) walk(expr, (each) => stale(each));
      }
    }
  }
  function stale(each: Expr): void {
    if (!("Attr" in each) || !live.has(each.Attr) || settled.has(each.Attr)) return;
    const name = program.attrs[each.Attr]!;
    throw linkError("stale_header", tables.spans.get(each) ?? null, name, live.get(each.Attr)!);
  }
}

function liveCall({ program, tables }: Lowered, expr: Expr): string | null {
  let found: string | null = null;
  walk(expr, (each) => {
    if (!("Call" in each) || found !== null) return;
    const arg = each.Call[1][0]!;
    if ("Expr" in arg) return;
    const at = tables.spans.get(each);
    const members = "Pool" in arg ? program.pools : program.stages;
    const written = `${each.Call[0].toLowerCase()}(${
      refName(members, "Pool" in arg ? arg.Pool : arg.Stage)
    })`;
    found = at === undefined ? written : at.source.text.slice(at.start, at.end);
  });
  return found;
}
