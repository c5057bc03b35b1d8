/**
 * Size, Value and Cost: sizes belong to the workload, values to the server, and a cost is of the
 * resources that it was converted for. Fills `attr_types`.
 */
import type { Span } from "./diagnostic.ts";
import type { CostTarget, Expr, Program, Ref, Side, Statement, ValueType } from "./ir.ts";
import type { Lowered } from "./lower.ts";
import { jointTarget } from "./lower_calls.ts";
import { linkError } from "./messages.ts";
import { everyStep, type Step } from "./check_walk.ts";

/** null: an ordinary quantity. */
type Type = CostTarget | null;

export function checkTypes(lowered: Lowered): void {
  const { program } = lowered;
  program.attr_types = infer(lowered);
  const resources = serverResources(lowered);
  for (const block of [program.init, program.turn, program.session]) {
    for (const step of everyStep(lowered, block)) {
      checkStep(lowered, step);
      checkOwner(lowered, step, block !== program.session, resources);
    }
  }
  const plain = (expr: Expr | null | undefined): void => {
    if (expr !== null && expr !== undefined) requirePlain(lowered, expr, null);
  };
  for (const pool of program.pools) {
    if (pool.evict !== "Lru") pool.evict.By.forEach(plain);
    if (pool.preempt !== "None") pool.preempt.By.keys.forEach(plain);
    pool.queue?.forEach(plain);
    plain(pool.spill?.work);
    plain(pool.spill?.when);
  }
  for (const { given } of program.claims ?? []) plain(given);
}

/** Sizes are what the workload assigns; then costs, as far as assignments of costs reach. */
function infer(lowered: Lowered): ValueType[] {
  const { program, tables } = lowered;
  const types: ValueType[] = program.attrs.map((_, slot) =>
    slot < BUILT_IN && slot !== program.slot_cached && slot !== program.slot_computed
      ? "Size"
      : "Value"
  );
  const sets: { slot: number; expr: Expr; at: Span }[] = [];
  for (const block of [program.init, program.turn, program.session]) {
    for (const { statement, side, at } of everyStep(lowered, block)) {
      if (typeof statement === "string") continue;
      if ("Choose" in statement && side === "Workload") types[statement.Choose.var] = "Size";
      if (!("Set" in statement)) continue;
      if (side === "Workload") types[statement.Set[0]] = "Size";
      sets.push({ slot: statement.Set[0], expr: statement.Set[1], at });
    }
  }
  for (let changed = true; changed;) {
    changed = false;
    for (const { slot, expr, at } of sets) {
      const cost = quickType(expr, types);
      if (cost === null) continue;
      const before = types[slot]!;
      if (typeof before === "object") {
        if (!equal(before.Cost, cost)) throw linkError("cost_two", at, program.attrs[slot]!);
      } else {
        types[slot] = { Cost: cost };
        changed = true;
      }
    }
  }
  for (const [name, at] of tables.declaredCosts) {
    const slot = program.attrs.indexOf(name);
    if (slot >= 0 && typeof types[slot] !== "object") {
      throw linkError("type_assertion", at, name, types[slot] === "Size" ? "a size" : "a value");
    }
  }
  return types;
}

const BUILT_IN = 9;

/** The cost that an expression is, as far as it is one, without complaint. */
function quickType(expr: Expr, types: readonly ValueType[]): Type {
  if ("Cost" in expr) return expr.Cost[0];
  if ("Attr" in expr) {
    const type = types[expr.Attr]!;
    return typeof type === "object" ? type.Cost : null;
  }
  if ("Unary" in expr) return expr.Unary[0] === "Neg" ? quickType(expr.Unary[1], types) : null;
  if ("Cond" in expr) return quickType(expr.Cond[1], types) ?? quickType(expr.Cond[2], types);
  if ("Binary" in expr) {
    const [op, left, right] = expr.Binary;
    if (!["Add", "Sub", "Mul", "Div"].includes(op)) return null;
    return quickType(left, types) ?? quickType(right, types);
  }
  if ("Call" in expr && ["Min", "Max", "Abs", "Floor", "Ceil"].includes(expr.Call[0])) {
    for (const arg of expr.Call[1]) {
      const type = "Expr" in arg ? quickType(arg.Expr, types) : null;
      if (type !== null) return type;
    }
  }
  return null;
}

function equal(a: Type, b: Type): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The type of an expression; throws where costs and quantities mix. */
function typeOf(lowered: Lowered, expr: Expr, near: Span | null): Type {
  const { program, tables } = lowered;
  const at = tables.spans.get(expr) ?? near;
  const inner = (each: Expr): Type => typeOf(lowered, each, at);
  const plain = (each: Expr): void => requirePlain(lowered, each, at);
  if ("Num" in expr || "Ctx" in expr || "Reg" in expr || "Agg" in expr) return null;
  if ("Attr" in expr) {
    const type = program.attr_types[expr.Attr]!;
    return typeof type === "object" ? type.Cost : null;
  }
  if ("Cost" in expr) {
    plain(expr.Cost[1]);
    return expr.Cost[0];
  }
  if ("Sample" in expr) {
    expr.Sample[1].forEach(plain);
    return null;
  }
  if ("Unary" in expr) {
    if (expr.Unary[0] === "Neg") return inner(expr.Unary[1]);
    plain(expr.Unary[1]);
    return null;
  }
  if ("Cond" in expr) {
    plain(expr.Cond[0]);
    return same(inner(expr.Cond[1]), inner(expr.Cond[2]), at);
  }
  if ("Binary" in expr) return binaryType(lowered, expr.Binary, at);
  return callType(lowered, expr.Call, at);
}

function same(a: Type, b: Type, at: Span | null): Type {
  if (!equal(a, b)) throw linkError("cost_mixed", at);
  return a;
}

function binaryType(
  lowered: Lowered,
  [op, left, right]: Extract<Expr, { Binary: unknown }>["Binary"],
  at: Span | null,
): Type {
  const inner = (each: Expr): Type => typeOf(lowered, each, at);
  switch (op) {
    case "Add":
    case "Sub":
      return same(inner(left), inner(right), at);
    case "Mul": {
      const [a, b] = [inner(left), inner(right)];
      if (a !== null && b !== null) throw linkError("cost_product", at);
      return a ?? b;
    }
    case "Div": {
      const a = inner(left);
      if (inner(right) !== null) throw linkError("cost_product", at);
      return a;
    }
    case "Pow":
    case "And":
    case "Or":
      requirePlain(lowered, left, at);
      requirePlain(lowered, right, at);
      return null;
    default:
      same(inner(left), inner(right), at);
      return null;
  }
}

function callType(
  lowered: Lowered,
  [name, args]: Extract<Expr, { Call: unknown }>["Call"],
  at: Span | null,
): Type {
  const exprs = args.flatMap((arg) => "Expr" in arg ? [arg.Expr] : []);
  for (const arg of args) {
    const ref = "Pool" in arg ? arg.Pool : "Stage" in arg ? arg.Stage : null;
    if (ref?.index) requirePlain(lowered, ref.index, at);
  }
  if (name === "Min" || name === "Max") {
    return same(typeOf(lowered, exprs[0]!, at), typeOf(lowered, exprs[1]!, at), at);
  }
  if (["Abs", "Floor", "Ceil"].includes(name)) return typeOf(lowered, exprs[0]!, at);
  for (const each of exprs) requirePlain(lowered, each, at);
  return null;
}

function requirePlain(lowered: Lowered, expr: Expr, near: Span | null): void {
  if (typeOf(lowered, expr, near) === null) return;
  throw linkError("cost_as_number", lowered.tables.spans.get(expr) ?? near);
}

/** An amount of exactly these resources. */
function requireCost(lowered: Lowered, expr: Expr, wanted: CostTarget, at: Span): void {
  const found = typeOf(lowered, expr, at);
  if (equal(found, wanted)) return;
  const { program } = lowered;
  const text = found === null ? "an ordinary quantity" : `Cost(${targetName(program, found)})`;
  throw linkError("cost_required", at, targetName(program, wanted), text);
}

function targetName(program: Program, target: CostTarget): string {
  if ("Joint" in target) return target.Joint.map((each) => targetName(program, each)).join(", ");
  if ("Pool" in target) return program.pools[target.Pool.base]!.name;
  return program.stages[target.Stage.base]!.name;
}

const poolTarget = ({ base, count }: Ref): CostTarget => ({ Pool: { base, count } });
const stageTarget = ({ base, count }: Ref): CostTarget => ({ Stage: { base, count } });

function checkStep(lowered: Lowered, { statement, at }: Step): void {
  if (typeof statement === "string") return;
  const plain = (expr: Expr | null | undefined): void => {
    if (expr) requirePlain(lowered, expr, at);
  };
  for (const ref of refsOf(statement)) plain(ref.index);
  if ("Set" in statement) {
    const [slot, expr] = statement.Set;
    const type = typeOf(lowered, expr, at);
    const declared = lowered.program.attr_types[slot]!;
    if (typeof declared === "object" && !equal(type, declared.Cost)) {
      throw linkError("cost_two", at, lowered.program.attrs[slot]!);
    }
  } else if ("Observe" in statement) typeOf(lowered, statement.Observe[1], at);
  else if ("Run" in statement) {
    const { stage, also, work } = statement.Run;
    requireCost(lowered, work, jointTarget([stage, ...(also ?? [])].map(stageTarget)), at);
  } else if ("Hold" in statement) checkHoldTypes(lowered, statement.Hold, at);
  else if ("Grow" in statement) {
    requireCost(lowered, statement.Grow[1], poolTarget(statement.Grow[0]), at);
  } else if ("Load" in statement) {
    requireCost(lowered, statement.Load[1], poolTarget(statement.Load[0]), at);
  } else if ("Branch" in statement || "While" in statement) {
    const guard = "Branch" in statement ? statement.Branch[0] : statement.While[0];
    if (typeOf(lowered, guard, at) !== null) throw linkError("guard_cost", at);
  } else if ("Choose" in statement) {
    plain(statement.Choose.count);
    statement.Choose.key.forEach(plain);
  }
}

function checkHoldTypes(
  lowered: Lowered,
  { pools, reuse, cache, lease }: Extract<Exclude<Statement, string>, { Hold: unknown }>["Hold"],
  at: Span,
): void {
  for (const [ref, units, reserve] of pools) {
    requireCost(lowered, units, poolTarget(ref), at);
    if (reserve !== null) requireCost(lowered, reserve, poolTarget(ref), at);
  }
  const all = jointTarget(pools.map(([ref]) => poolTarget(ref)));
  if (reuse !== null) requireCost(lowered, reuse, all, at);
  if (cache !== null) requireCost(lowered, cache, all, at);
  if (lease !== null && typeOf(lowered, lease[1], at) !== null) throw linkError("lease_cost", at);
}

function refsOf(statement: Exclude<Statement, string>): Ref[] {
  if ("Run" in statement) {
    const { stage, growing, also } = statement.Run;
    return [stage, ...(growing === null ? [] : [growing]), ...(also ?? [])];
  }
  if ("Hold" in statement) return statement.Hold.pools.map(([ref]) => ref);
  if ("Grow" in statement) return [statement.Grow[0]];
  if ("Load" in statement) return [statement.Load[0]];
  if ("Drop" in statement) return [statement.Drop];
  return "Release" in statement ? [statement.Release] : [];
}

/** Families that the server holds, grows, loads or runs on: keys `pool 0`, `stage 3`. */
function serverResources(lowered: Lowered): Set<string> {
  const resources = new Set<string>();
  for (const { statement, side } of everyStep(lowered, lowered.program.session)) {
    if (side !== "Server" || typeof statement === "string") continue;
    if ("Run" in statement) {
      const { stage, growing, also } = statement.Run;
      for (const { base } of [stage, ...(also ?? [])]) resources.add(`stage ${base}`);
      if (growing !== null) resources.add(`pool ${growing.base}`);
    } else if ("Drop" in statement || "Release" in statement) continue;
    else for (const { base } of refsOf(statement)) resources.add(`pool ${base}`);
  }
  return resources;
}

function checkOwner(
  { program, tables }: Lowered,
  { statement, side, at }: Step,
  sizesOnly: boolean,
  resources: ReadonlySet<string>,
): void {
  if (typeof statement === "string") return;
  if (side === "Server") return checkServerSets(program, statement, side, at);
  const text = JSON.stringify(withoutBlocks(statement));
  if (sizesOnly && text.includes('{"Cost":')) throw linkError("workload_sizes", at);
  JSON.stringify(withoutBlocks(statement), function (_key, value: unknown) {
    const each = value as Record<string, { base: number } | undefined> | null;
    const cost = (value as { Cost?: [CostTarget, Expr] } | null)?.Cost;
    if (cost !== undefined && targets(cost[0]).some((key) => resources.has(key))) {
      throw linkError("workload_cost", tables.spans.get(value as object) ?? at);
    }
    const slot = (each as { Attr?: number } | null)?.Attr;
    const type = slot === undefined ? undefined : program.attr_types[slot];
    if (typeof type === "object" && targets(type.Cost).some((key) => resources.has(key))) {
      throw linkError("workload_cost", tables.spans.get(value as object) ?? at);
    }
    return value;
  });
}

function checkServerSets(program: Program, statement: Statement, _side: Side, at: Span): void {
  if (typeof statement === "string") return;
  const slot = "Set" in statement
    ? statement.Set[0]
    : "Choose" in statement
    ? statement.Choose.var
    : -1;
  if (slot >= 0 && program.attr_types[slot] === "Size") {
    throw linkError("server_sets_size", at, program.attrs[slot]!);
  }
}

function targets(target: CostTarget): string[] {
  if ("Joint" in target) return target.Joint.flatMap(targets);
  return "Pool" in target ? [`pool ${target.Pool.base}`] : [`stage ${target.Stage.base}`];
}

/** A statement without what stands in its inner blocks (they are walked on their own). */
function withoutBlocks(statement: Exclude<Statement, string>): unknown {
  return statement;
}
