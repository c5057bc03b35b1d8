/** Statements: of the server, the workload's blocks, queue entries and definitions. */
import type {
  Binding,
  Block,
  Endpoint,
  ExprNode,
  HoldPart,
  Placement,
  RefNode,
  StmtNode,
} from "./ast.ts";
import type { Span } from "./diagnostic.ts";
import { parseError } from "./messages.ts";
import { closest } from "../base/closest.ts";
import type { Cursor } from "./parser.ts";
import {
  parseArgument,
  parseExpr,
  parseKeys,
  parseParenthesized,
  parseRef,
  parseRefs,
} from "./parser_expressions.ts";

type Parse = (cursor: Cursor, first: Span) => StmtNode;

const STATEMENTS: Readonly<Record<string, Parse>> = {
  turn: simple("turn"),
  end: simple("end"),
  join: simple("join"),
  set: (cursor, at) => assignment(cursor, at, "set"),
  Size: (cursor, at) => assignment(cursor, at, "Size"),
  Cost: parseCost,
  observe: (cursor, first) => {
    const { name, value } = parseBinding(cursor);
    return { kind: "observe", name, value, at: finish(cursor, first) };
  },
  hold: parseHold,
  grow: amount("grow"),
  load: amount("load"),
  drop: onPool("drop"),
  release: onPool("release"),
  run: parseRun,
  branch: parseBranch,
  while: (cursor, first) => {
    const test = parseParenthesized(cursor);
    const body = parseBlock(cursor);
    return { kind: "while", test, body, at: cursor.since(first) };
  },
  loop: (cursor, first) => ({ kind: "loop", body: parseBlock(cursor), at: cursor.since(first) }),
  fork: (cursor, first) => ({ kind: "fork", body: parseBlock(cursor), at: cursor.since(first) }),
  choose: parseChoose,
  mark: (cursor, first) => {
    const name = cursor.name();
    return { kind: "mark", name, at: finish(cursor, first) };
  },
  tool: parseTool,
  transfer: parseTransfer,
};

export function parseBlock(cursor: Cursor): Block {
  return cursor.braces(() => parseStatement(cursor));
}

function parseStatement(cursor: Cursor): StmtNode {
  const { kind, text, at } = cursor.token;
  if (kind !== "name") throw cursor.expected("a statement");
  const following = cursor.peek().text;
  if (following === "." || (following === "[" && !Object.hasOwn(STATEMENTS, text))) {
    return parseEnter(cursor);
  }
  const parse = Object.hasOwn(STATEMENTS, text) ? STATEMENTS[text] : undefined;
  if (parse !== undefined) {
    cursor.next();
    return parse(cursor, at);
  }
  refuseFormer(text, at);
  if (following === "(") return parseExpand(cursor);
  throw parseError("unknown_statement", at, text, closest(text, Object.keys(STATEMENTS)));
}

/** Words that were, or are elsewhere, statements. */
function refuseFormer(text: string, at: Span): void {
  if (text === "request") throw parseError("retired_request", at);
  if (text === "enter") throw parseError("retired_enter", at);
  if (text === "admit") throw parseError("retired_admit", at);
  if (text === "keep") throw parseError("retired_keep", at);
  if (text === "where" || text === "fit") throw parseError("retired_where", at, text);
  if (text === "prefill" || text === "decode") throw parseError("mode_as_statement", at, text);
  if (text === "if") throw parseError("later_spelling", at, text, "branch (…) { … } else { … }");
}

function simple(kind: "turn" | "end" | "join"): Parse {
  return (cursor, first) => ({ kind, at: finish(cursor, first) });
}

function amount(kind: "grow" | "load"): Parse {
  return (cursor, first) => {
    const pool = parseRef(cursor);
    const units = parseParenthesized(cursor);
    return { kind, pool, amount: units, at: finish(cursor, first) };
  };
}

function onPool(kind: "drop" | "release"): Parse {
  return (cursor, first) => {
    const pool = parseRef(cursor);
    return { kind, pool, at: finish(cursor, first) };
  };
}

/** Takes the semicolon; the statement ends before it. */
function finish(cursor: Cursor, first: Span): Span {
  const at = cursor.since(first);
  cursor.expect(";");
  return at;
}

/** `N = E`. */
export function parseBinding(cursor: Cursor): Binding {
  const name = cursor.name();
  cursor.expect("=");
  return { name, value: parseExpr(cursor) };
}

function assignment(cursor: Cursor, first: Span, how: "set" | "Size" | "Cost"): StmtNode {
  const { name, value } = parseBinding(cursor);
  return { kind: "set", how, name, value, at: finish(cursor, first) };
}

function parseCost(cursor: Cursor, first: Span): StmtNode {
  if (!(cursor.peek().text === "=" && cursor.peek(2).text === "{")) {
    return assignment(cursor, first, "Cost");
  }
  const name = cursor.name();
  cursor.expect("=");
  cursor.expect("{");
  const fields: Binding[] = [];
  do {
    if (cursor.is("}")) break;
    const field = cursor.name();
    cursor.expect(":");
    fields.push({ name: field, value: parseExpr(cursor) });
  } while (cursor.take(","));
  cursor.expect("}");
  if (fields.length === 0) throw parseError("record_empty", name.at, name.text);
  return { kind: "record", name, fields, at: finish(cursor, first) };
}

function parseHold(cursor: Cursor, first: Span): StmtNode {
  const parts: HoldPart[] = [];
  do {
    const pool = parseRef(cursor);
    const units = parseParenthesized(cursor);
    const reserve = cursor.take("reserve") ? parseParenthesized(cursor) : null;
    parts.push({ pool, units, reserve });
  } while (cursor.take(","));
  const reuse = cursor.take("reuse") ? parseParenthesized(cursor) : null;
  let bindings: Binding[] = [];
  if (cursor.take("at")) {
    cursor.expect("admission");
    cursor.expect("(");
    bindings = cursor.list(")", () => parseBinding(cursor));
  }
  if (cursor.is("where") || cursor.is("fit")) {
    throw parseError("retired_where", cursor.token.at, cursor.token.text);
  }
  const body = parseBlock(cursor);
  if (cursor.is("keep")) throw parseError("retired_keep", cursor.token.at);
  const cache = cursor.take("cache") ? parseParenthesized(cursor) : null;
  const lease = cursor.take("lease") ? parseEndpoint(cursor) : null;
  const at = cursor.since(first);
  cursor.take(";");
  return { kind: "hold", parts, reuse, bindings, body, cache, lease, at };
}

/** `P (n)`. */
function parseEndpoint(cursor: Cursor): Endpoint {
  const pool = parseRef(cursor);
  return { pool, amount: parseParenthesized(cursor) };
}

function parseRun(cursor: Cursor, first: Span): StmtNode {
  if (cursor.is("{")) throw parseError("settings_in_model", cursor.token.at);
  const stages = cursor.is("(") ? [] : parseRefs(cursor);
  const mode = cursor.is("prefill") || cursor.is("decode") ? cursor.next().text : null;
  const work = parseParenthesized(cursor);
  const growing = cursor.take("growing") ? parseRef(cursor) : null;
  const at = finish(cursor, first);
  return { kind: "run", stages, mode: mode as "prefill" | "decode" | null, work, growing, at };
}

function parseBranch(cursor: Cursor, first: Span): StmtNode {
  const chance = cursor.take("with");
  const test = parseParenthesized(cursor);
  const then = parseBlock(cursor);
  const otherwise = cursor.take("else") ? parseBlock(cursor) : null;
  return { kind: "branch", chance, test, then, otherwise, at: cursor.since(first) };
}

function parseChoose(cursor: Cursor, first: Span): StmtNode {
  const name = cursor.name();
  cursor.expect("in");
  const count = parseExpr(cursor);
  cursor.expect("by");
  const keys = parseKeys(cursor);
  return { kind: "choose", name, count, keys, at: finish(cursor, first) };
}

/** A call of a queue's entry: `Q[i].verb (args) from S[k] to P (n);`. */
function parseEnter(cursor: Cursor): StmtNode {
  const { base: queue, index, member } = parseRef(cursor);
  if (member === null) throw cursor.expected("`.` and the entry of a queue");
  cursor.expect("(");
  const args = cursor.list(")", () => parseArgument(cursor), true);
  const from = cursor.take("from") ? parseRef(cursor) : null;
  const to = cursor.take("to") ? parseEndpoint(cursor) : null;
  const at = finish(cursor, queue.at);
  return { kind: "enter", queue, index, verb: member, args, from, to, at };
}

function parseExpand(cursor: Cursor): StmtNode {
  const name = cursor.name();
  cursor.expect("(");
  const args = cursor.list(")", () => parseArgument(cursor), true);
  return { kind: "expand", name, args, at: finish(cursor, name.at) };
}

/** `[ "[" E "]" | "on" ref { "," ref } ]`. */
function parsePlacement(cursor: Cursor): Placement {
  if (cursor.take("on")) return { index: null, on: parseRefs(cursor) };
  if (!cursor.take("[")) return { index: null, on: [] };
  const index = parseExpr(cursor);
  cursor.expect("]");
  return { index, on: [] };
}

function refuseGrowing(cursor: Cursor, form: string): void {
  if (cursor.is("growing")) throw parseError("form_growing", cursor.token.at, form);
}

function parseTool(cursor: Cursor, first: Span): StmtNode {
  const place = parsePlacement(cursor);
  const work: ExprNode = parseExpr(cursor);
  refuseGrowing(cursor, "tool");
  return { kind: "tool", place, work, at: finish(cursor, first) };
}

function parseTransfer(cursor: Cursor, first: Span): StmtNode {
  const place = parsePlacement(cursor);
  const work: ExprNode = parseExpr(cursor);
  refuseGrowing(cursor, "transfer");
  if (!cursor.take("from")) throw parseError("transfer_without_ends", first);
  const from: RefNode = parseRef(cursor);
  if (!cursor.take("to")) throw parseError("transfer_without_ends", first);
  const to = parseEndpoint(cursor);
  refuseGrowing(cursor, "transfer");
  return { kind: "transfer", place, work, from, to, at: finish(cursor, first) };
}
