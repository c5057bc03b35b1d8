/**
 * Hidden attributes: a scheduler that has not seen them may not use them. Headers, keys and budgets
 * never read one; the server decides on one only after a run whose work certainly read it has ended.
 */
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr, Ref, Statement } from "./ir.ts";
import type { Lowered } from "./lower.ts";
import { walk } from "./lower_constants.ts";
import { linkError } from "./messages.ts";
import { type Step, stepsOf } from "./check_walk.ts";

/** What is still hidden at a place: a slot, and the hidden slots that its value came from. */
type Secrets = ReadonlyMap<number, ReadonlySet<number>>;
/** null: no path comes here. */
type State = Secrets | null;

export function checkHidden(lowered: Lowered): void {
  const { program } = lowered;
  if (program.hidden.length === 0) return;
  checkDeclarations(lowered);
  const start: Secrets = new Map(program.hidden.map((slot) => [slot, new Set([slot])]));
  after(lowered, program.session, start);
}

function checkDeclarations(lowered: Lowered): void {
  const { program, tables } = lowered;
  const refuse = (exprs: readonly (Expr | null | undefined)[], where: string): void => {
    for (const expr of exprs) {
      if (!expr) continue;
      walk(expr, (each) => {
        if (!("Attr" in each) || !program.hidden.includes(each.Attr)) return;
        const at = tables.spans.get(each) ?? null;
        throw linkError("hidden_header", at, program.attrs[each.Attr]!, where);
      });
    }
  };
  for (const pool of program.pools) {
    if (pool.evict !== "Lru") refuse(pool.evict.By, "an eviction key");
    if (pool.preempt !== "None") refuse(pool.preempt.By.keys, "a preempt key");
    refuse(pool.queue ?? [], "a queue key");
    refuse([pool.spill?.work, pool.spill?.when], "a spill clause");
  }
  for (const { kind } of program.stages) {
    if (!("Step" in kind)) continue;
    if (kind.Step.serve !== "ExclusivePrefill") refuse(kind.Step.serve.By, "a serving key");
    for (const each of kind.Step.iteration ?? []) {
      if ("Serve" in each) refuse([each.Serve.only, ...(each.Serve.by ?? [])], "a schedule");
      else if ("Admit" in each) refuse([each.Admit.only], "a schedule");
    }
  }
  for (const block of program.blocks) {
    for (const statement of block) {
      if (typeof statement === "string" || !("Hold" in statement)) continue;
      const { pools, reuse } = statement.Hold;
      refuse(pools.flatMap(([, units, reserve]) => [units, reserve]), "a hold's header");
      refuse([reuse], "a hold's header");
    }
  }
}

function after(lowered: Lowered, block: BlockId, before: State): State {
  let state = before;
  for (const step of stepsOf(lowered, block)) {
    if (state === null) return null;
    state = through(lowered, step, state);
  }
  return state;
}

function through(lowered: Lowered, { statement, side, at }: Step, state: Secrets): State {
  if (statement === "End") return null;
  // A turn draws its sizes anew: what was hidden is hidden again.
  if (statement === "Turn") return hiddenAgain(lowered, state);
  if (typeof statement === "string") return state;
  if (side === "Server") checkDecision(lowered, statement, state, at);
  if ("Set" in statement) {
    if (side !== "Server") return state;
    const from = sourcesOf(statement.Set[1], state);
    const next = new Map(state);
    if (from.size > 0) next.set(statement.Set[0], from);
    else if (!lowered.program.hidden.includes(statement.Set[0])) next.delete(statement.Set[0]);
    return next;
  }
  if ("Run" in statement) return reveal(state, certainReads(statement.Run.work), state);
  if ("Hold" in statement) return after(lowered, statement.Hold.body, state);
  if ("Loop" in statement) {
    after(lowered, statement.Loop, state);
    return null;
  }
  if ("While" in statement) return join(state, after(lowered, statement.While[1], state));
  if ("Fork" in statement) {
    after(lowered, statement.Fork, state);
    return state;
  }
  if (!("Branch" in statement)) return state;
  const then = after(lowered, statement.Branch[1], state);
  return join(then, after(lowered, statement.Branch[2], state));
}

function hiddenAgain({ program }: Lowered, state: Secrets): Secrets {
  const next = new Map(state);
  for (const slot of program.hidden) next.set(slot, new Set([slot]));
  return next;
}

/** Hidden after if hidden after either. */
function join(a: State, b: State): State {
  if (a === null || b === null) return a ?? b;
  const joined = new Map(a);
  for (const [slot, from] of b) joined.set(slot, new Set([...from, ...(joined.get(slot) ?? [])]));
  return joined;
}

function reveal(state: Secrets, reads: ReadonlySet<number>, before: Secrets): Secrets {
  const revealed = new Set<number>();
  for (const slot of reads) for (const from of before.get(slot) ?? []) revealed.add(from);
  const next = new Map<number, ReadonlySet<number>>();
  for (const [slot, from] of state) {
    const left = new Set([...from].filter((each) => !revealed.has(each)));
    if (left.size > 0) next.set(slot, left);
  }
  return next;
}

/** Slots that evaluating the expression certainly reads: no arm of `? :`, no right of `&&`. */
function certainReads(expr: Expr): Set<number> {
  const reads = new Set<number>();
  const visit = (each: Expr): void => {
    if ("Attr" in each) reads.add(each.Attr);
    else if ("Cond" in each) visit(each.Cond[0]);
    else if ("Cost" in each) visit(each.Cost[1]);
    else if ("Unary" in each) visit(each.Unary[1]);
    else if ("Sample" in each) each.Sample[1].forEach(visit);
    else if ("Binary" in each) {
      visit(each.Binary[1]);
      if (each.Binary[0] !== "And" && each.Binary[0] !== "Or") visit(each.Binary[2]);
    } else if ("Call" in each) {
      for (const arg of each.Call[1]) if ("Expr" in arg) visit(arg.Expr);
    }
  };
  visit(expr);
  return reads;
}

function sourcesOf(expr: Expr, state: Secrets): Set<number> {
  const from = new Set<number>();
  walk(expr, (each) => {
    if ("Attr" in each) { for (const slot of state.get(each.Attr) ?? []) from.add(slot); }
  });
  return from;
}

/** What the server decides with: guards, choices, amounts of `grow` and `load`, durations, indices. */
function checkDecision(
  lowered: Lowered,
  statement: Exclude<Statement, string>,
  state: Secrets,
  at: Span,
): void {
  for (const expr of decisionsOf(statement)) {
    walk(expr, (each) => {
      if (!("Attr" in each) || !state.has(each.Attr)) return;
      const { program, tables } = lowered;
      throw linkError("hidden_early", tables.spans.get(each) ?? at, program.attrs[each.Attr]!);
    });
  }
}

function decisionsOf(statement: Exclude<Statement, string>): Expr[] {
  const index = ({ index: expr }: Ref): Expr[] => expr === null ? [] : [expr];
  if ("Branch" in statement) return [statement.Branch[0]];
  if ("While" in statement) return [statement.While[0]];
  if ("Choose" in statement) return [statement.Choose.count, ...statement.Choose.key];
  if ("Grow" in statement) return [...index(statement.Grow[0]), statement.Grow[1]];
  if ("Load" in statement) return [...index(statement.Load[0]), statement.Load[1]];
  if ("Drop" in statement) return index(statement.Drop);
  if ("Release" in statement) return index(statement.Release);
  if ("Run" in statement) {
    const { stage, also, growing } = statement.Run;
    return [stage, ...(also ?? []), ...(growing === null ? [] : [growing])].flatMap(index);
  }
  if (!("Hold" in statement)) return [];
  const { pools, reuse, lease } = statement.Hold;
  return [
    ...pools.flatMap(([ref, units, reserve]) => [...index(ref), units, reserve]),
    ...[reuse, lease?.[1]],
  ].filter((expr): expr is Expr => expr !== null && expr !== undefined);
}
