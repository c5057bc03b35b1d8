/**
 * Expressions to IR: names resolved at the moment of the expression, constants and definitions put in,
 * aggregates over an index written out.
 */
import type { BinaryText, EngineNode, ExprNode, RefNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import type { Span } from "./diagnostic.ts";
import { type BinaryOp, type Distribution, type Expr, realOf } from "./ir.ts";
import { linkError, parseError } from "./messages.ts";
import { lowerCall } from "./lower_calls.ts";
import { fold } from "./lower_constants.ts";
import { type Env, type Local, type Tables, TERMS_MAX } from "./lower_context.ts";
import {
  CONTEXT,
  ENGINE_VALUES,
  ENGINE_WORDS,
  type Moment,
  momentsOf,
  readerOf,
} from "./lower_moments.ts";
import { substitute } from "./lower_refs.ts";
import { SUPPLIED } from "./tokens.ts";

const BINARY: Readonly<Record<BinaryText, BinaryOp>> = {
  "+": "Add",
  "-": "Sub",
  "*": "Mul",
  "/": "Div",
  "^": "Pow",
  "<": "Lt",
  "<=": "Le",
  ">": "Gt",
  ">=": "Ge",
  "==": "Eq",
  "!=": "Ne",
  "&&": "And",
  "||": "Or",
};

const DRAWS: Readonly<Record<string, readonly [Distribution, number]>> = {
  exp: ["Exp", 1],
  det: ["Det", 1],
  uniform: ["Uniform", 2],
  erlang: ["Erlang", 2],
  h2: ["H2", 2],
  bernoulli: ["Bernoulli", 1],
};

export function lowerExpr(tables: Tables, node: ExprNode, env: Env): Expr {
  return tables.at(lower(tables, node, env), node.at);
}

function lower(tables: Tables, node: ExprNode, env: Env): Expr {
  switch (node.kind) {
    case "number":
      return { Num: realOf(node.value) };
    case "ref":
      return lowerName(tables, node.ref, env);
    case "call":
      return lowerCall(tables, node, env);
    case "draw":
      return lowerDraw(tables, node, env);
    case "unary":
      return {
        Unary: [node.op === "-" ? "Neg" : "Not", lowerExpr(tables, node.operand, env)],
      };
    case "binary":
      return {
        Binary: [
          BINARY[node.op],
          lowerExpr(tables, node.left, env),
          lowerExpr(tables, node.right, env),
        ],
      };
    case "cond":
      return {
        Cond: [
          lowerExpr(tables, node.test, env),
          lowerExpr(tables, node.then, env),
          lowerExpr(tables, node.otherwise, env),
        ],
      };
    case "over":
      return lowerOver(tables, node, env);
  }
}

function lowerDraw(
  tables: Tables,
  { name, args, at }: Extract<ExprNode, { kind: "draw" }>,
  env: Env,
): Expr {
  const law = Object.hasOwn(DRAWS, name.text) ? DRAWS[name.text] : undefined;
  if (law === undefined) {
    const near = closest(name.text, Object.keys(DRAWS));
    throw linkError("unknown_distribution", name.at, name.text, near);
  }
  const [distribution, count] = law;
  if (args.length !== count) throw linkError("arity", name.at, `~${name.text}`, count, args.length);
  if (!env.moment.draws) throw drawError(env.moment, at);
  return { Sample: [distribution, args.map((arg) => lowerExpr(tables, arg, env))] };
}

function drawError(moment: Moment, at: Span): Error {
  if (moment.name === "binding") return parseError("binding_draws", at);
  return linkError("may_not_draw", at, moment.words);
}

/** Written out, k = 0 … n−1, folded from the left. */
function lowerOver(
  tables: Tables,
  node: Extract<ExprNode, { kind: "over" }>,
  env: Env,
): Expr {
  const { op, variable, count: countNode, body, at } = node;
  const count = fold(lowerExpr(tables, countNode, env));
  if (count === null || !Number.isInteger(count) || count < 1) {
    throw linkError("aggregate_count", countNode.at, op, count);
  }
  tables.terms += count;
  if (tables.terms > TERMS_MAX) throw linkError("aggregate_terms", at, TERMS_MAX);
  const { text } = variable;
  if (env.constants.has(text) || tables.families.has(text) || SUPPLIED.has(text)) {
    throw linkError("aggregate_variable", variable.at, text);
  }
  tables.indexAt.set(text, variable.at);
  let result: Expr | null = null;
  for (let k = 0; k < count; k += 1) {
    const locals = new Map<string, Local>(env.locals);
    locals.set(variable.text, { kind: "value", value: k });
    const term = lowerExpr(tables, body, { ...env, locals });
    result = result === null ? term : combine(op, result, term);
  }
  return result!;
}

function combine(op: "max" | "min" | "sum", left: Expr, right: Expr): Expr {
  if (op === "sum") return { Binary: ["Add", left, right] };
  return { Call: [op === "max" ? "Max" : "Min", [{ Expr: left }, { Expr: right }]] };
}

/** A bare name, or `base.member`. */
function lowerName(tables: Tables, ref: RefNode, env: Env): Expr {
  const { base, index, member, at } = ref;
  const local = env.locals.get(base.text);
  if (local !== undefined && index === null && member === null) {
    return lowerLocal(tables, local, at, env);
  }
  if (index !== null) throw linkError("reference_as_number", at, base.text);
  if (member !== null) return lowerMember(tables, ref, env);
  return lowerBare(tables, base.text, at, env);
}

function lowerLocal(tables: Tables, local: Local, at: Span, env: Env): Expr {
  if (local.kind === "value") return { Num: realOf(local.value) };
  if (local.kind === "attribute") return readAttribute(tables, local.name, at, env);
  return lowerExpr(tables, local.node, { ...local.env, moment: env.moment });
}

function lowerBare(tables: Tables, name: string, at: Span, env: Env): Expr {
  const { moment, queue } = env;
  if (queue !== null && name === "self") {
    if (queue.index === null) throw parseError("self_single", at, queue.queue.name);
    return lowerExpr(tables, queue.index.node, { ...queue.index.env, moment });
  }
  if (queue !== null && queue.queue.owned.has(name)) {
    return readAttribute(tables, ownName(queue.queue, name), at, env);
  }
  if (env.engine !== null && isScheduleLet(env.engine.node, name)) {
    throw parseError("schedule_let", at, name);
  }
  const constant = env.constants.get(name);
  if (constant !== undefined) return { Num: realOf(constant) };
  const register = findRegister(tables, name, at, env);
  if (register !== null) return register;
  if (Object.hasOwn(CONTEXT, name)) {
    if (moment.variables.has(name)) {
      if (env.engine === null || !Object.hasOwn(ENGINE_WORDS, name)) return { Ctx: CONTEXT[name]! };
    }
    throw contextError(name, at, env);
  }
  if (name === "inf") return { Num: "inf" };
  return readAttribute(tables, name, at, env);
}

function isScheduleLet({ items }: EngineNode, name: string): boolean {
  return items.some((item) =>
    item.kind === "schedule" && item.lets.some((each) => each.name.text === name)
  );
}

function contextError(name: string, at: Span, env: Env): Error {
  if (env.engine !== null && Object.hasOwn(ENGINE_WORDS, name)) {
    return parseError("engine_word", at, name, ENGINE_WORDS[name]!);
  }
  return linkError("context_elsewhere", at, name, env.moment.words, momentsOf(name));
}

/** A queue's names are its own; a gateway's are the program's. */
export function ownName(
  queue: { name: string; node: { roles: readonly { text: string }[] } },
  name: string,
): string {
  return queue.node.roles.some(({ text }) => text === "gateway") ? name : `${queue.name}.${name}`;
}

function findRegister(tables: Tables, name: string, at: Span, env: Env): Expr | null {
  const own = env.engine?.registers.get(name);
  if (own !== undefined) return { Reg: own.slot };
  for (const engine of tables.engines.values()) {
    const register = engine.registers.get(name);
    if (register === undefined) continue;
    const readers = ["select", "admit", "reserve", "reuse", "binding", "gauge", "iteration", "end"];
    if (env.engine !== null || !readers.includes(env.moment.name)) {
      throw linkError("register_elsewhere", at, name, engine.family.name, env.moment.words);
    }
    return { Reg: register.slot };
  }
  return null;
}

function readAttribute(tables: Tables, name: string, at: Span, env: Env): Expr {
  const { moment } = env;
  if (!moment.attributes) {
    if (moment.name === "constant" || moment.name === "gap") {
      throw linkError("not_a_constant", at, name, nearName(tables, name, env));
    }
    throw linkError("attribute_without_session", at, name, moment.words);
  }
  checkVisible(tables, name, at, env);
  return { Attr: tables.read(name, at) };
}

/** An entry sees its parameters and its queue's names; a gateway what the server sees. */
function checkVisible(tables: Tables, name: string, at: Span, { queue, moment }: Env): void {
  if (queue === null || name === "cached" || name === "computed") return;
  const { queue: { name: own, node, owned } } = queue;
  if (node.roles.some(({ text }) => text === "gateway")) return;
  if (name.startsWith(`${own}.`) || owned.has(name)) return;
  if (["admit", "reserve", "reuse", "binding"].includes(moment.name)) {
    throw parseError("entry_header", at, own, name);
  }
  if (!tables.hidden.has(name)) throw parseError("entry_reads", at, own, name);
}

/** What an unknown name probably meant. */
export function nearName(tables: Tables, name: string, env: Env | null): string | undefined {
  const attributes = tables.attributes.filter((_, slot) => tables.sets.has(slot));
  const constants = env === null ? [] : [...env.constants.keys()];
  return closest(name, [...attributes, ...constants].filter((each) => each !== name));
}

function lowerMember(tables: Tables, ref: RefNode, env: Env): Expr {
  const plain = substitute(ref, env);
  const [base, member] = [plain.base, plain.member!];
  if (["running", "batch", "waiting"].includes(base)) {
    return lowerEngineValue(tables, `${base}.${member}`, ref.at, env);
  }
  const owner = plain.env.queue?.queue;
  if (owner?.owned.has(base)) {
    return readAttribute(tables, `${ownName(owner, base)}.${member}`, ref.at, env);
  }
  const queue = tables.queues.get(base);
  if (queue !== undefined) {
    if (!queue.owned.has(member) && !queue.marks.has(member)) {
      const near = closest(member, [...queue.owned, ...queue.marks]);
      throw parseError("unknown_queue_name", ref.at, base, member, near);
    }
    return readAttribute(tables, `${base}.${member}`, ref.at, env);
  }
  if (tables.records.has(base)) {
    const { fields } = tables.records.get(base)!;
    if (!fields.includes(member)) {
      throw parseError("unknown_field", ref.at, base, member, closest(member, fields));
    }
    return readAttribute(tables, `${base}.${member}`, ref.at, env);
  }
  throw parseError("unknown_member", ref.at, base, member);
}

/** `running.count` and its like, in an engine's own expressions. */
function lowerEngineValue(tables: Tables, value: string, at: Span, env: Env): Expr {
  const { engine, moment } = env;
  const known = Object.hasOwn(ENGINE_VALUES, value) ? ENGINE_VALUES[value] : undefined;
  if (known === undefined) {
    throw parseError("unknown_engine_value", at, value, closest(value, Object.keys(ENGINE_VALUES)));
  }
  if (engine === null) throw parseError("engine_value_elsewhere", at, value, moment.words);
  if (!known.readers.includes(readerOf(moment))) {
    throw parseError("engine_value_moment", at, value, moment.words, readerOf(moment) === "cap");
  }
  if (value !== "waiting.count") return { Ctx: CONTEXT[known.kernel]! };
  if (engine.family.many && engine.family.count > 1) {
    throw parseError("waiting_in_family", at, engine.family.name);
  }
  const counts = tables.poolInfos.filter(({ admittedBy }) => admittedBy === engine).flatMap(
    ({ family: { base, count, many } }) =>
      Array.from({ length: count }, (_, k): Expr => ({
        Call: ["Queued", [{ Pool: { base, count, index: many ? { Num: k } : null } }]],
      })),
  );
  if (counts.length === 0) return { Num: 0 };
  return counts.reduce((left, right) => ({ Binary: ["Add", left, right] }));
}
