/** Declarations that stand in `fn main()` and partly in queues: pools, stages, devices, definitions. */
import type {
  DefNode,
  DeviceNode,
  ExprNode,
  LetNode,
  Name,
  PoolNode,
  PoolOption,
  Resource,
  StageKindNode,
  UseNode,
} from "./ast.ts";
import { closest } from "../base/closest.ts";
import type { Span } from "./diagnostic.ts";
import { parseError } from "./messages.ts";
import { type Cursor, refuseReserved } from "./parser.ts";
import { parseExpr, parseKeys, parseParenthesized } from "./parser_expressions.ts";
import { parseBlock } from "./parser_statements.ts";

/** `[N]` after the name of a family. */
export function parseCount(cursor: Cursor): ExprNode | null {
  if (!cursor.take("[")) return null;
  const count = parseExpr(cursor);
  cursor.expect("]");
  return count;
}

export function parseUse(cursor: Cursor): UseNode {
  const first = cursor.expect("use").at;
  const { text } = cursor.string();
  cursor.expect(";");
  return { kind: "use", path: text, at: cursor.since(first) };
}

export function parseLet(cursor: Cursor): LetNode {
  const first = cursor.expect("let").at;
  const name = cursor.name();
  cursor.expect("=");
  const value = parseExpr(cursor);
  cursor.expect(";");
  return { kind: "let", name, value, at: cursor.since(first) };
}

/** A body with no `;` and no `{` is an expression, else statements. */
export function parseDef(cursor: Cursor): DefNode {
  const first = cursor.expect("def").at;
  const name = cursor.name();
  refuseReserved(name, "definition");
  cursor.expect("(");
  const params = cursor.list(")", () => {
    const param = cursor.name();
    refuseReserved(param, "parameter");
    return param;
  }, true);
  if (hasExpressionBody(cursor)) {
    cursor.expect("{");
    const value = parseExpr(cursor);
    cursor.expect("}");
    const at = cursor.since(first);
    return { kind: "def", name, params, body: { kind: "expression", value }, at };
  }
  const block = parseBlock(cursor);
  const at = cursor.since(first);
  return { kind: "def", name, params, body: { kind: "statements", block }, at };
}

function hasExpressionBody(cursor: Cursor): boolean {
  if (!cursor.is("{") || cursor.peek().text === "}") return false;
  for (let ahead = 1;; ahead += 1) {
    const { kind, text } = cursor.peek(ahead);
    if (kind === "end" || (kind === "operator" && (text === ";" || text === "{"))) return false;
    if (kind === "operator" && text === "}") return true;
  }
}

export function parseStageKind(cursor: Cursor): StageKindNode {
  const { kind, text, at } = cursor.token;
  if (kind !== "name") throw cursor.expected("`fifo`, `ps (φ)` or `delay`");
  if (text === "step") throw parseError("step_stage", at);
  if (text !== "fifo" && text !== "ps" && text !== "delay") {
    throw parseError("unknown_stage_kind", at, text, closest(text, ["fifo", "ps", "delay"]));
  }
  cursor.next();
  if (text === "delay") return { kind: "delay" };
  if (text === "ps") return { kind: "ps", capacity: parseParenthesized(cursor) };
  return { kind: "fifo", servers: cursor.is("(") ? parseParenthesized(cursor) : null };
}

const POOL_OPTIONS = ["cap", "block", "evict", "preempt", "queue", "reserve", "spill"];

/** `pool N [count] { … }` or `pool N on HOST[.DEVICE] { … }`. */
export function parsePool(cursor: Cursor): PoolNode {
  const first = cursor.expect("pool").at;
  const name = cursor.name();
  const count = parseCount(cursor);
  let host: PoolNode["host"] = null;
  if (cursor.take("on")) {
    const hostName = cursor.name();
    host = { name: hostName, device: cursor.take(".") ? cursor.name() : null };
  }
  if (host !== null && count !== null) throw parseError("hosted_pool_count", name.at);
  if (cursor.is("admit")) throw parseError("retired_admit_via", cursor.token.at);
  const options = cursor.braces(() => parsePoolOption(cursor, host !== null));
  return { kind: "pool", name, count, host, options, at: cursor.since(first) };
}

function parsePoolOption(cursor: Cursor, hosted: boolean): PoolOption {
  const { text, at: first } = cursor.token;
  const option = poolOption(cursor, text, first, hosted);
  cursor.expect(";");
  return option;
}

function poolOption(cursor: Cursor, text: string, first: Span, hosted: boolean): PoolOption {
  if (cursor.token.kind !== "name") throw cursor.expected("a pool option");
  if (text === "admit") throw parseError("retired_admit_via", first);
  if (!POOL_OPTIONS.includes(text)) {
    throw parseError("unknown_pool_option", first, text, closest(text, POOL_OPTIONS));
  }
  if (hosted && text === "cap") throw parseError("hosted_pool_cap", first);
  cursor.next();
  if (text === "cap" || text === "block") {
    return { kind: text, value: parseExpr(cursor), at: cursor.since(first) };
  }
  if (text === "evict" || text === "queue") {
    const plain = text === "evict" ? "lru" : "fifo";
    const keys = cursor.take("by") ? parseKeys(cursor) : null;
    if (keys === null) cursor.expect(plain);
    return { kind: text, keys, at: cursor.since(first) };
  }
  if (text === "reserve") {
    cursor.expect("held");
    return { kind: "reserve", at: cursor.since(first) };
  }
  return text === "preempt" ? parsePreempt(cursor, first) : parseSpill(cursor, first);
}

function parsePreempt(cursor: Cursor, first: Span): PoolOption {
  for (const rule of ["none", "lifo"] as const) {
    if (cursor.take(rule)) return { kind: "preempt", rule, at: cursor.since(first) };
  }
  if (!cursor.take("by")) throw cursor.expected("`none`, `lifo` or `by (keys)`");
  const keys = parseKeys(cursor);
  let requeue: "head" | "tail" | null = null;
  if (cursor.take("requeue")) {
    if (cursor.take("head")) requeue = "head";
    else if (cursor.take("tail")) requeue = "tail";
    else throw cursor.expected("`head` or `tail`");
  }
  return { kind: "preempt", rule: "by", keys, requeue, at: cursor.since(first) };
}

function parseSpill(cursor: Cursor, first: Span): PoolOption {
  const tier = cursor.name();
  cursor.expect("via");
  const stage = cursor.name();
  const work = parseParenthesized(cursor);
  cursor.expect("when");
  const when = parseParenthesized(cursor);
  return { kind: "spill", tier, stage, work, when, at: cursor.since(first) };
}

export function parseDevice(cursor: Cursor): DeviceNode {
  const first = cursor.expect("device").at;
  const name = cursor.name();
  refuseReserved(name, "device");
  const count = parseCount(cursor);
  const resources = cursor.braces(() => parseResource(cursor));
  return { kind: "device", name, count, resources, at: cursor.since(first) };
}

function parseResource(cursor: Cursor): Resource {
  const name: Name = cursor.name();
  let resource: Resource;
  if (cursor.take("(")) {
    const params = cursor.list(")", () => cursor.name(), true);
    cursor.expect("=");
    resource = { kind: "time", name, params, body: parseExpr(cursor) };
  } else if (cursor.take("cap")) {
    resource = { kind: "capacity", name, cap: parseExpr(cursor) };
  } else throw cursor.expected("`cap c;` or `(x) = time;`");
  cursor.expect(";");
  return resource;
}
