/** Control flow: loops let time pass, constant guards are tests, legs are joined. */
import type { BlockId, Expr } from "./ir.ts";
import type { Span } from "./diagnostic.ts";
import type { Lowered } from "./lower.ts";
import { fold } from "./lower_constants.ts";
import { linkError } from "./messages.ts";
import { everyStep, stepsOf } from "./check_walk.ts";

export function checkFlow(lowered: Lowered): void {
  let [forks, joins]: [Span | null, Span | null] = [null, null];
  for (const { statement, at } of everyStep(lowered, lowered.program.session)) {
    if (statement === "Join") joins ??= at;
    if (typeof statement === "string") continue;
    if ("Fork" in statement) {
      forks ??= at;
      checkLeg(lowered, statement.Fork);
    } else if ("Branch" in statement) {
      checkBranchGuard(lowered, statement.Branch[0], at);
    } else if ("While" in statement) {
      const value = fold(statement.While[0]);
      if (value !== null && value !== 0 && value !== 1) {
        throw linkError("guard_constant", guardAt(lowered, statement.While[0], at), value);
      }
      if (!passes(lowered, statement.While[1])) throw linkError("no_time", at, "while");
    } else if ("Loop" in statement && !passes(lowered, statement.Loop)) {
      throw linkError("no_time", at, "loop");
    }
  }
  if (forks !== null && joins === null) throw linkError("fork_without_join", forks);
  if (joins !== null && forks === null) throw linkError("join_without_fork", joins);
  checkPreemptible(lowered, lowered.program.session, null);
}

function guardAt({ tables }: Lowered, guard: Expr, at: Span): Span {
  return tables.spans.get(guard) ?? at;
}

function checkBranchGuard(lowered: Lowered, guard: Expr, at: Span): void {
  const value = fold(guard);
  if (value === null || value === 0 || value === 1) return;
  const code = value > 0 && value < 1 ? "guard_fraction" : "guard_constant";
  throw linkError(code, guardAt(lowered, guard, at), value);
}

/** Whether every path through a block lets time pass or ends the session. */
function passes(lowered: Lowered, block: BlockId): boolean {
  return lowered.program.blocks[block]!.some((statement) => {
    if (statement === "End") return true;
    if (typeof statement === "string") return false;
    if ("Run" in statement) {
      const work = fold(statement.Run.work);
      return work === null || work > 0;
    }
    if ("Hold" in statement) return passes(lowered, statement.Hold.body);
    if ("Loop" in statement) return passes(lowered, statement.Loop);
    if (!("Branch" in statement)) return false;
    const [, then, otherwise] = statement.Branch;
    return passes(lowered, then) && passes(lowered, otherwise);
  });
}

function checkLeg(lowered: Lowered, block: BlockId): void {
  for (const { statement, at } of everyStep(lowered, block)) {
    const word = statement === "Turn"
      ? "turn"
      : statement === "End"
      ? "end"
      : statement === "Join"
      ? "join"
      : typeof statement === "object" && "Fork" in statement
      ? "fork"
      : null;
    if (word !== null) throw linkError("leg_statement", at, word);
  }
}

/** A session that is preempted starts its hold again, and would fork again. */
function checkPreemptible(lowered: Lowered, block: BlockId, pool: string | null): void {
  for (const { statement, at } of stepsOf(lowered, block)) {
    if (typeof statement === "string") continue;
    if ("Fork" in statement) {
      if (pool !== null) throw linkError("fork_in_preemptible", at, pool);
    } else if ("Hold" in statement) {
      const { pools: all } = lowered.program;
      const taken = statement.Hold.pools.find(([{ base }]) => all[base]!.preempt !== "None");
      const name = taken === undefined ? pool : all[taken[0].base]!.name;
      checkPreemptible(lowered, statement.Hold.body, name);
    } else if ("Branch" in statement) {
      checkPreemptible(lowered, statement.Branch[1], pool);
      checkPreemptible(lowered, statement.Branch[2], pool);
    } else if ("While" in statement) checkPreemptible(lowered, statement.While[1], pool);
    else if ("Loop" in statement) checkPreemptible(lowered, statement.Loop, pool);
  }
}
