/** Calls in expressions: functions of numbers, of stages and pools, `cost`, definitions, resources. */
import type { ExprNode, Name, RefNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import { SerqError, type Span } from "./diagnostic.ts";
import type { Aggregate, CostTarget, Expr, FunctionName } from "./ir.ts";
import { linkError, parseError } from "./messages.ts";
import { draws } from "./lower_constants.ts";
import {
  type Env,
  EXPANSIONS_MAX,
  type Family,
  type Local,
  NESTING_MAX,
  type Tables,
} from "./lower_context.ts";
import { placeText } from "./diagnostic.ts";
import type { Moment } from "./lower_moments.ts";
import { findFamily, refOf, substitute } from "./lower_refs.ts";
import { FUNCTIONS } from "./tokens.ts";

type CallNode = Extract<ExprNode, { kind: "call" }>;

/** Parameters: e an expression, s a stage, p a pool. */
const SIGNATURES: Readonly<Record<string, readonly [FunctionName, string]>> = {
  min: ["Min", "ee"],
  max: ["Max", "ee"],
  abs: ["Abs", "e"],
  floor: ["Floor", "e"],
  ceil: ["Ceil", "e"],
  sqrt: ["Sqrt", "e"],
  exp: ["Exp", "e"],
  ln: ["Ln", "e"],
  queue: ["Queue", "s"],
  busy: ["Busy", "s"],
  work: ["Work", "s"],
  est_lambda: ["EstLambda", "s"],
  est_rho: ["EstRho", "s"],
  est_wait: ["EstWait", "s"],
  price: ["Price", "see"],
  budget_left: ["BudgetLeft", "s"],
  used: ["Used", "p"],
  free: ["Free", "p"],
  cachedin: ["CachedIn", "p"],
  holders: ["Holders", "p"],
  queued: ["Queued", "p"],
};

const AGGREGATES: Readonly<Record<string, Aggregate>> = {
  total: "Total",
  count: "Count",
  largest: "Largest",
  smallest: "Smallest",
  prefix_total: "PrefixTotal",
};

export function lowerCall(tables: Tables, node: CallNode, env: Env): Expr {
  const { name, args, at } = node;
  const expansion = expandCall(tables, node, env);
  if (expansion !== null) return expansion;
  if (name.text === "cost") return lowerCost(tables, node, env);
  if (name.text === "blocksize") return lowerBlockSize(tables, node, env);
  if (name.text === "pow") {
    if (args.length !== 2) throw linkError("arity", name.at, "pow", 2, args.length);
    return { Binary: ["Pow", tables.lowerExpr(args[0]!, env), tables.lowerExpr(args[1]!, env)] };
  }
  if (Object.hasOwn(AGGREGATES, name.text)) return lowerAggregate(tables, node, env);
  const signature = Object.hasOwn(SIGNATURES, name.text) ? SIGNATURES[name.text] : undefined;
  if (signature === undefined) {
    const near = closest(name.text, [...FUNCTIONS, ...tables.defs.keys()]);
    throw linkError("unknown_function", name.at, name.text, near);
  }
  const [fn, kinds] = signature;
  if (args.length !== kinds.length) {
    throw linkError("arity", name.at, name.text, kinds.length, args.length);
  }
  if (kinds[0] !== "e") checkReader(name, env.moment, at);
  return {
    Call: [
      fn,
      args.map((arg, i) => {
        if (kinds[i] === "e") return { Expr: tables.lowerExpr(arg, env) };
        const kind = kinds[i] === "s" ? "stage" : "pool";
        if (arg.kind !== "ref") throw linkError("expects_family", arg.at, name.text, kind);
        const ref = refOf(tables, findFamily(tables, kind, substitute(arg.ref, env)), arg.at, env);
        checkReference(tables, name.text, ref, arg.at, env);
        return kind === "stage" ? { Stage: ref } : { Pool: ref };
      }),
    ],
  };
}

const READABLE: Readonly<Partial<Record<Moment["name"], readonly string[]>>> = {
  constant: [],
  gap: [],
  given: [],
  end: [],
  gauge: [
    ..."queue busy used free holders queued est_lambda est_rho est_wait".split(" "),
  ],
  plan: [
    ..."queue busy used free cachedin holders queued budget_left".split(" "),
    ...["est_lambda", "est_rho", "est_wait", "price"],
  ],
  iteration: ["queue", "busy", "used", "free", "holders", "queued"],
};

/** Functions of the deployment exist where there is one to look at. */
function checkReader(name: Name, moment: Moment, at: Span): void {
  const readable = READABLE[moment.name];
  if (readable !== undefined && !readable.includes(name.text)) {
    throw linkError("function_elsewhere", at, name.text, moment.words);
  }
  if (name.text === "budget_left" && moment.name === "budget") {
    throw linkError("budget_reads_itself", at);
  }
}

function checkReference(
  tables: Tables,
  name: string,
  { base, index }: { base: number; index: Expr | null },
  at: Span,
  env: Env,
): void {
  const { moment } = env;
  if ((moment.name === "gauge" || moment.name === "iteration") && index !== null) {
    if (!("Num" in index)) throw linkError("index_number", at, moment.words);
  }
  if (name !== "budget_left" || "Step" in tables.stages[base]!.kind) return;
  throw linkError("budget_left_stage", at, tables.stages[base]!.name);
}

function lowerAggregate(tables: Tables, { name, args, at }: CallNode, env: Env): Expr {
  if (env.moment.name !== "end") {
    throw linkError("function_elsewhere", at, name.text, env.moment.words);
  }
  if (args.length !== 1) throw linkError("arity", name.at, name.text, 1, args.length);
  const [arg] = args;
  if (arg!.kind !== "ref") throw linkError("expects_observation", arg!.at, name.text);
  const { base, member } = substitute(arg!.ref, env);
  const observation = member === null ? base : `${base}.${member}`;
  const index = tables.observes.indexOf(observation);
  if (index < 0) {
    const near = closest(observation, tables.observes);
    throw linkError("unknown_observation", arg!.at, observation, near);
  }
  return { Agg: [AGGREGATES[name.text]!, index] };
}

function lowerBlockSize(tables: Tables, { name, args, at }: CallNode, env: Env): Expr {
  if (args.length !== 1) throw linkError("arity", name.at, "blocksize", 1, args.length);
  if (env.moment.name === "constant") {
    throw linkError("function_elsewhere", at, "blocksize", "a constant");
  }
  const [arg] = args;
  if (arg!.kind !== "ref") throw linkError("expects_family", arg!.at, "blocksize", "pool");
  const { family } = findFamily(tables, "pool", substitute(arg!.ref, env));
  const { block } = tables.pools[family.base]!;
  if (block === null || block === undefined) throw linkError("no_block", arg!.at, family.name);
  return { Num: block };
}

/** `cost(R, …, e)`: `e` as units or work of R. */
function lowerCost(tables: Tables, { name, args, at }: CallNode, env: Env): Expr {
  if (args.length < 2) throw linkError("cost_arity", name.at);
  const targets = args.slice(0, -1).map((arg) => {
    if (arg.kind !== "ref") throw linkError("cost_resource", arg.at);
    return costTarget(tables, arg.ref, env);
  });
  return tables.at(
    { Cost: [jointTarget(targets), tables.lowerExpr(args.at(-1)!, env)] },
    at,
  );
}

/** The family that a cost is of; an index is checked and means the family. */
export function costTarget(tables: Tables, ref: RefNode, env: Env): CostTarget {
  const plain = substitute(ref, env);
  const name = plain.member === null ? plain.base : `${plain.base}.${plain.member}`;
  const own = plain.env.queue?.queue;
  const isOwn = own !== undefined && (own.pools.has(name) || own.name === plain.base);
  const isFrom = plain.env.queue?.from?.name === plain.base;
  if (!tables.families.has(name) && !isOwn && !isFrom) {
    const near = closest(name, tables.families.keys());
    throw linkError("unknown_resource", ref.at, name, near);
  }
  const found = findFamily(tables, null, plain);
  if (found.index !== null && found.family.many) {
    const index = refOf(tables, found, ref.at, env).index!;
    if (draws(index)) throw linkError("cost_index_draws", ref.at);
  }
  return targetOf(found.family);
}

export function targetOf({ kind, base, count }: Family): CostTarget {
  return kind === "pool" ? { Pool: { base, count } } : { Stage: { base, count } };
}

/** Several families as one set: sorted, each once; a single one is no set. */
export function jointTarget(targets: readonly CostTarget[]): CostTarget {
  const flat = targets.flatMap((each) => "Joint" in each ? each.Joint : [each]);
  const unique = new Map(flat.map((each) => [JSON.stringify(each), each]));
  const key = (each: CostTarget): number =>
    "Pool" in each ? each.Pool.base : "Stage" in each ? 1e9 + each.Stage.base : 0;
  const sorted = [...unique.values()].sort((a, b) => key(a) - key(b));
  return sorted.length === 1 ? sorted[0]! : { Joint: sorted };
}

/** A definition's or a device resource's body, with the arguments for the parameters. */
function expandCall(tables: Tables, { name, args, at }: CallNode, env: Env): Expr | null {
  const def = tables.defs.get(name.text);
  if (def !== undefined && def.order <= env.order) {
    const { params, body } = def.node;
    if (body.kind !== "expression") throw parseError("def_as_expression", name.at, name.text);
    checkArguments(tables, def.node, args, at, env);
    const inner = expansionEnv(tables, params, args, at, env);
    return noting(name, () => tables.lowerExpr(body.value, inner));
  }
  const resource = env.engine?.device.node.resources.find((each) => each.name.text === name.text);
  if (resource?.kind !== "time") return null;
  if (env.moment.name !== "step") {
    throw parseError("resource_elsewhere", name.at, name.text, env.moment.words);
  }
  if (resource.params.length !== args.length) {
    throw linkError("arity", name.at, name.text, resource.params.length, args.length);
  }
  return tables.lowerExpr(resource.body, expansionEnv(tables, resource.params, args, at, env));
}

/** Parameters bound to arguments; definitions may not run away. */
export function expansionEnv(
  tables: Tables,
  params: readonly Name[],
  args: readonly ExprNode[],
  at: Span,
  env: Env,
): Env {
  tables.expansions += 1;
  if (env.depth >= NESTING_MAX || tables.expansions > EXPANSIONS_MAX) {
    throw parseError("def_recursive", at);
  }
  const locals = new Map<string, Local>(env.locals);
  params.forEach((param, i) => locals.set(param.text, { kind: "expr", node: args[i]!, env }));
  return { ...env, locals, depth: env.depth + 1 };
}

export function checkArguments(
  tables: Tables,
  def: import("./ast.ts").DefNode,
  args: readonly ExprNode[],
  at: Span,
  env: Env,
): void {
  const { name, params } = def;
  if (args.length !== params.length) {
    throw parseError("def_arity", at, name.text, params.length, args.length);
  }
  const uses = countUses(def);
  args.forEach((arg, i) => {
    // A parameter that the body never reads: its argument must mean something all the same.
    if (uses(params[i]!.text) === 0 && !isReference(tables, arg, env)) tables.lowerExpr(arg, env);
    if (!drawsNode(arg, env) || uses(params[i]!.text) <= 1) return;
    throw parseError("def_argument_draws", arg.at, name.text, params[i]!.text);
  });
}

function isReference(tables: Tables, arg: ExprNode, env: Env): boolean {
  if (arg.kind !== "ref") return false;
  const { base, member } = substitute(arg.ref, env);
  return arg.ref.index !== null ||
    tables.families.has(member === null ? base : `${base}.${member}`);
}

function countUses(def: import("./ast.ts").DefNode): (name: string) => number {
  const counts = new Map<string, number>();
  JSON.stringify(def.body, (key, value: unknown) => {
    if (key === "at") return undefined;
    const base = (value as { base?: Name } | null)?.base;
    if (base?.text !== undefined) counts.set(base.text, (counts.get(base.text) ?? 0) + 1);
    return value;
  });
  return (name) => counts.get(name) ?? 0;
}

function drawsNode(node: ExprNode, env: Env): boolean {
  let found = false;
  JSON.stringify(node, (key, value: unknown) => {
    if (key === "at") return undefined;
    const { kind, ref } = (value ?? {}) as { kind?: string; ref?: RefNode };
    if (kind === "draw") found = true;
    const local = kind === "ref" && ref !== undefined ? env.locals.get(ref.base.text) : undefined;
    if (local?.kind === "expr" && drawsNode(local.node, local.env)) found = true;
    return value;
  });
  return found;
}

/** An error inside an expansion says where the definition was used. */
export function noting<T>(name: Name, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof SerqError) {
      error.notes = [...error.notes, `in \`${name.text}\`, used at ${placeText(name.at)}`];
    }
    throw error;
  }
}
