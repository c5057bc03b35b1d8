/** Attributes get their slots in the order in which statements first assign them, the built-in first. */
import type { Expr, Program, Statement } from "./ir.ts";
import { linkError } from "./messages.ts";
import { walk } from "./lower_constants.ts";
import type { Tables } from "./lower_context.ts";

export function renumber(tables: Tables, program: Program): void {
  const order = tables.assigned;
  const slots = new Map(order.map((old, slot) => [old, slot]));
  const seen = new Set<Expr>();
  const visit = (expr: Expr | null | undefined): void => {
    if (expr === null || expr === undefined) return;
    walk(expr, (each) => {
      if (!("Attr" in each) || seen.has(each)) return;
      seen.add(each);
      each.Attr = slots.get(each.Attr)!;
    });
  };
  for (const block of program.blocks) {
    for (const statement of block) {
      for (const expr of exprsOf(statement)) visit(expr);
      if (typeof statement === "string") continue;
      if ("Set" in statement) statement.Set[0] = slots.get(statement.Set[0])!;
      if ("Choose" in statement) statement.Choose.var = slots.get(statement.Choose.var)!;
    }
  }
  for (const pool of program.pools) {
    if (pool.evict !== "Lru") pool.evict.By.forEach(visit);
    if (pool.preempt !== "None") pool.preempt.By.keys.forEach(visit);
    pool.queue?.forEach(visit);
    visit(pool.spill?.work);
    visit(pool.spill?.when);
  }
  for (const { kind } of program.stages) if ("Step" in kind) visitStep(kind.Step, visit);
  for (const { given } of program.claims ?? []) visit(given);
  program.attrs = order.map((slot) => tables.attributes[slot]!);
  for (const [name, at] of tables.hidden) {
    const slot = program.attrs.indexOf(name);
    if (slot < 0) throw linkError("hidden_unknown", at, name);
    if (name === "cached" || name === "computed") throw linkError("hidden_built_in", at, name);
    program.hidden.push(slot);
  }
}

type StepOf = Extract<Program["stages"][number]["kind"], { Step: unknown }>["Step"];

function visitStep(step: StepOf, visit: (expr: Expr | null | undefined) => void): void {
  if (step.serve !== "ExclusivePrefill") step.serve.By.forEach(visit);
  const body = (statements: NonNullable<StepOf["iteration"]>): void => {
    for (const each of statements) {
      if ("Serve" in each) {
        visit(each.Serve.only);
        each.Serve.by?.forEach(visit);
      } else if ("Admit" in each) visit(each.Admit.only);
      else if ("Branch" in each) {
        body(each.Branch[1]);
        body(each.Branch[2]);
      }
    }
  };
  body(step.iteration ?? []);
}

/** Every expression of a statement, indices of its references included. */
export function exprsOf(statement: Statement): Expr[] {
  if (typeof statement === "string") return [];
  if ("Set" in statement) return [statement.Set[1]];
  if ("Observe" in statement) return [statement.Observe[1]];
  if ("Hold" in statement) {
    const { pools, reuse, cache, lease } = statement.Hold;
    return present([
      ...pools.flatMap(([ref, units, reserve]) => [ref.index, units, reserve]),
      ...[reuse, cache, lease?.[0].index, lease?.[1]],
    ]);
  }
  if ("Grow" in statement) return present([statement.Grow[0].index, statement.Grow[1]]);
  if ("Load" in statement) return present([statement.Load[0].index, statement.Load[1]]);
  if ("Drop" in statement) return present([statement.Drop.index]);
  if ("Release" in statement) return present([statement.Release.index]);
  if ("Run" in statement) {
    const { stage, work, growing, also } = statement.Run;
    return present([stage.index, work, growing?.index, ...(also ?? []).map(({ index }) => index)]);
  }
  if ("Branch" in statement) return [statement.Branch[0]];
  if ("While" in statement) return [statement.While[0]];
  if ("Choose" in statement) return [statement.Choose.count, ...statement.Choose.key];
  return [];
}

function present(list: readonly (Expr | null | undefined)[]): Expr[] {
  return list.filter((each): each is Expr => each !== null && each !== undefined);
}
