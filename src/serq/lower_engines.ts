/** Engines: their budget, their schedule as the default procedure or a body, what an iteration costs. */
import type { Binding, EngineItem, ExprNode, Order, ScheduleStmt } from "./ast.ts";
import type { Span } from "./diagnostic.ts";
import type { Expr, IterationStatement, Step } from "./ir.ts";
import { linkError, parseError } from "./messages.ts";
import { fold, walk } from "./lower_constants.ts";
import type { EngineInfo, Env, Local, Tables } from "./lower_context.ts";
import { constant, lowerKeys } from "./lower_define.ts";
import { lowerExpr } from "./lower_expressions.ts";
import { MOMENTS } from "./lower_moments.ts";

type Schedule = Extract<EngineItem, { kind: "schedule" }>;

export function defineEngine(tables: Tables, engine: EngineInfo, surroundings: Env): void {
  const env: Env = { ...surroundings, engine };
  const items = collectItems(engine);
  checkCapacities(engine);
  for (let k = 0; k < engine.family.count; k += 1) {
    const step: Step = {
      budget: budget(tables, engine, items.tokens!, env),
      cost: lowerExpr(tables, items.execute!, { ...env, moment: MOMENTS.step }),
      chunk: { Num: 0 },
      serve: { By: [] },
      memory: memoryOf(engine, k),
    };
    if (items.granule !== undefined) step.granule = granule(tables, engine, items.granule, env);
    schedule(tables, engine, items.schedule!, step, env);
    checkGranule(engine, step, items.schedule!.at);
    tables.stages[engine.family.base + k]!.kind = { Step: step };
  }
}

interface Items {
  tokens?: ExprNode;
  execute?: ExprNode;
  granule?: ExprNode;
  schedule?: Schedule;
}

function collectItems({ node }: EngineInfo): Items {
  const items: Items = {};
  for (const item of node.items) {
    if (item.kind === "state" || item.kind === "capacity") continue;
    const words = { tokens: "tokens cap", execute: "execute" }[item.kind as string] ?? item.kind;
    if (items[item.kind] !== undefined) throw parseError("engine_item_twice", item.at, words);
    if (item.kind === "schedule") items.schedule = item;
    else items[item.kind] = item.value;
  }
  const name = node.name.text;
  if (items.tokens === undefined) {
    throw parseError("engine_needs", node.name.at, name, "tokens cap B;");
  }
  if (items.schedule === undefined) {
    throw parseError("engine_needs", node.name.at, name, "schedule { … }");
  }
  if (items.execute === undefined) {
    throw parseError("engine_needs", node.name.at, name, "execute (time);");
  }
  return items;
}

/** Every capacity of the engine and its device is some pool's, or nothing can hold it. */
function checkCapacities({ node, device, pools }: EngineInfo): void {
  for (const item of node.items) {
    if (item.kind === "capacity" && !pools.has(item.name.text)) {
      throw parseError("capacity_without_pool", item.name.at, item.name.text, node.name.text);
    }
  }
  checkDevice(device);
}

export function checkDevice({ node, pools }: EngineInfo["device"]): void {
  for (const resource of node.resources) {
    if (resource.kind === "capacity" && !pools.has(resource.name.text)) {
      throw parseError(
        "capacity_without_pool",
        resource.name.at,
        resource.name.text,
        node.name.text,
      );
    }
  }
}

function memoryOf({ device }: EngineInfo, k: number): number | null {
  const [pool] = device.pools.values();
  return pool === undefined ? null : pool.family.base + (pool.family.many ? k : 0);
}

function budget(tables: Tables, engine: EngineInfo, node: ExprNode, env: Env): Expr {
  const expr = lowerExpr(tables, node, { ...env, moment: MOMENTS.budget });
  const value = fold(expr);
  if (value !== null && !(value > 0)) {
    throw parseError("tokens_cap_positive", node.at, engine.family.name, value);
  }
  return expr;
}

function granule(tables: Tables, { family }: EngineInfo, node: ExprNode, env: Env): Expr {
  const value = constant(tables, node, env, `engine \`${family.name}\`: granule`);
  if (!(value > 0)) throw linkError("granule_positive", node.at, family.name);
  return lowerExpr(tables, node, { ...env, moment: MOMENTS.constant });
}

function checkGranule({ family }: EngineInfo, { granule, serve, chunk }: Step, at: Span): void {
  const size = granule === undefined || granule === null ? null : fold(granule);
  if (size === null) return;
  if (serve === "ExclusivePrefill") throw linkError("granule_exclusive", at, family.name);
  const most = fold(chunk);
  if (most !== null && most > 0 && size > most && size !== Infinity) {
    throw linkError("granule_large", at, family.name, size, most);
  }
}

function schedule(
  tables: Tables,
  engine: EngineInfo,
  { lets, body, at }: Schedule,
  step: Step,
  env: Env,
): void {
  step.chunk = chunkOf(tables, lets, body, env);
  const [first, second] = body;
  const exclusive = body.find(({ kind }) => kind === "exclusive") ?? nestedExclusive(body);
  const shaped = body.length === 2 && second!.kind === "admit" && whilePreempted(second!.test);
  if (exclusive !== undefined) {
    if (!(shaped && first === exclusive && second!.kind === "admit" && second!.only === null)) {
      throw parseError("exclusive_elsewhere", exclusive.at);
    }
    step.serve = "ExclusivePrefill";
    return;
  }
  if (shaped && first!.kind === "advance" && second!.kind === "admit") {
    if (first!.only === null && second!.only === null) {
      step.serve = { By: orderKeys(tables, first!.order, env) };
      return;
    }
    if (first!.only !== null && second!.only !== null && same(first!.only, second!.only)) {
      step.serve = { By: orderKeys(tables, first!.order, env) };
      const only = () => lowerExpr(tables, first!.only!, { ...env, moment: MOMENTS.only });
      const gate: Expr = { Unary: ["Not", { Ctx: "Preempted" }] };
      step.iteration = [{ Serve: { only: only() } }, { Admit: { only: only(), gate } }];
      return;
    }
  }
  step.iteration = lowerBody(tables, body, env);
  const idle = idlePath(step.iteration);
  if (idle) throw linkError("schedule_idle_path", at, engine.family.name);
}

function nestedExclusive(body: readonly ScheduleStmt[]): ScheduleStmt | undefined {
  for (const each of body) {
    if (each.kind === "exclusive") return each;
    if (each.kind !== "branch") continue;
    const inner = nestedExclusive([...each.then, ...(each.otherwise ?? [])]);
    if (inner !== undefined) return inner;
  }
  return undefined;
}

/** `running.preempted == 0` or `!running.preempted`. */
function whilePreempted(test: ExprNode | null): boolean {
  if (test === null) return false;
  if (test.kind === "unary") return test.op === "!" && isPreempted(test.operand);
  if (test.kind !== "binary" || test.op !== "==") return false;
  return isPreempted(test.left) && test.right.kind === "number" && test.right.value === 0;
}

function isPreempted(node: ExprNode): boolean {
  return node.kind === "ref" && node.ref.base.text === "running" &&
    node.ref.member?.text === "preempted";
}

function same(a: ExprNode, b: ExprNode): boolean {
  const text = (node: ExprNode) =>
    JSON.stringify(node, (key, value) => key === "at" ? undefined : value);
  return text(a) === text(b);
}

function orderKeys(tables: Tables, order: Order | null, env: Env): Expr[] {
  if (order === null || order.kind === "admission") return [];
  if (order.kind === "by") return lowerKeys(tables, order.keys, env, MOMENTS.serve);
  return [{ Cond: [{ Ctx: "Decoding" }, { Num: 0 }, { Num: 1 }] }];
}

function lowerBody(
  tables: Tables,
  body: readonly ScheduleStmt[],
  env: Env,
): IterationStatement[] {
  return body.map((statement) => lowerScheduleStmt(tables, statement, env));
}

function lowerScheduleStmt(tables: Tables, statement: ScheduleStmt, env: Env): IterationStatement {
  const plan = { ...env, moment: MOMENTS.plan };
  const only = (node: ExprNode | null) =>
    node === null ? {} : { only: lowerExpr(tables, node, { ...env, moment: MOMENTS.only }) };
  switch (statement.kind) {
    case "advance": {
      const { order } = statement;
      const by = order === null ? {} : { by: orderKeys(tables, order, env) };
      return { Serve: { ...only(statement.only), ...by } };
    }
    case "admit": {
      const { test } = statement;
      const gate = test === null ? {} : { gate: lowerExpr(tables, test, plan) };
      return { Admit: { ...only(statement.only), ...gate } };
    }
    case "exclusive":
      throw parseError("exclusive_elsewhere", statement.at);
    case "branch": {
      const test = lowerExpr(tables, statement.test, plan);
      const value = fold(test);
      if (value !== null && value !== 0 && value !== 1) {
        throw linkError("guard_constant", statement.test.at, value);
      }
      return {
        Branch: [
          test,
          lowerBody(tables, statement.then, env),
          lowerBody(tables, statement.otherwise ?? [], env),
        ],
      };
    }
    case "set": {
      const register = env.engine!.registers.get(statement.name.text);
      if (register === undefined) {
        const { at, text } = statement.name;
        throw parseError("unknown_register", at, text, env.engine!.family.name);
      }
      return { Set: [register.slot, lowerExpr(tables, statement.value, plan)] };
    }
  }
}

/** Whether some path neither serves nor admits. */
function idlePath(body: readonly IterationStatement[]): boolean {
  return !body.some((each) => {
    if ("Serve" in each || "Admit" in each) return true;
    return "Branch" in each && !idlePath(each.Branch[1]) && !idlePath(each.Branch[2]);
  });
}

/** `each at most (e)`, the same wherever tokens are given; `{Num: 0}` for no cap. */
function chunkOf(
  tables: Tables,
  lets: readonly Binding[],
  body: readonly ScheduleStmt[],
  env: Env,
): Expr {
  const locals = new Map<string, Local>(env.locals);
  for (const { name, value } of lets) {
    locals.set(name.text, { kind: "expr", node: value, env: { ...env, locals: new Map(locals) } });
  }
  const letEnv = { ...env, locals, moment: MOMENTS.at_most };
  for (const { value } of lets) lowerExpr(tables, value, letEnv);
  const givers = giversOf(body);
  const said = givers.filter(({ atMost }) => atMost !== null);
  const [first] = said;
  if (first === undefined) return { Num: 0 };
  if (said.length < givers.length) {
    throw parseError("at_most_everywhere", givers.find(({ atMost }) => atMost === null)!.at);
  }
  const other = said.find(({ atMost }) => !same(atMost!, first.atMost!));
  if (other !== undefined) throw parseError("at_most_differs", other.atMost!.at);
  const node = first.atMost!;
  const expr = lowerExpr(tables, node, letEnv);
  checkAtMost(node, expr);
  return unlimited(expr);
}

interface Giver {
  readonly atMost: ExprNode | null;
  readonly at: Span;
}

function giversOf(body: readonly ScheduleStmt[]): Giver[] {
  return body.flatMap((each) => {
    if (each.kind === "branch") return giversOf([...each.then, ...(each.otherwise ?? [])]);
    return each.kind === "set" ? [] : [each];
  });
}

/** `inf`, a constant above 0, a choice among such, or `max(k, x)` with a constant k above 0. */
function checkAtMost(node: ExprNode, expr: Expr): void {
  const value = fold(expr);
  if (value !== null) {
    if (!(value > 0)) throw linkError("at_most_positive", node.at, value);
    return;
  }
  if ("Cond" in expr) {
    checkAtMost(node, expr.Cond[1]);
    checkAtMost(node, expr.Cond[2]);
    return;
  }
  if ("Call" in expr && expr.Call[0] === "Max") {
    const floor = expr.Call[1].map((arg) => "Expr" in arg ? fold(arg.Expr) : null);
    if (floor.some((each) => each !== null && each > 0)) return;
  }
  throw linkError("at_most_form", node.at);
}

/** No cap is 0 in the IR. */
function unlimited(expr: Expr): Expr {
  if (fold(expr) === Infinity) return { Num: 0 };
  walk(expr, (each) => {
    if (!("Cond" in each)) return;
    each.Cond = [each.Cond[0], unlimited(each.Cond[1]), unlimited(each.Cond[2])];
  });
  return expr;
}
