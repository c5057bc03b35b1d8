/** Expressions and references, by recursive descent over the precedence levels. */
import type { BinaryText, ExprNode, RefNode } from "./ast.ts";
import { parseError } from "./messages.ts";
import type { Cursor } from "./parser.ts";

/** Binary operators from the loosest to the tightest; comparisons do not chain. */
const LEVELS: readonly (readonly BinaryText[])[] = [
  ["||"],
  ["&&"],
  ["<", "<=", ">", ">=", "==", "!="],
  ["+", "-"],
  ["*", "/"],
];
const COMPARISON = 2;
/** Terms of one sum or product: a chain is a tree as deep as it is long. */
const TERMS_MAX = 1000;

export function parseExpr(cursor: Cursor): ExprNode {
  return cursor.nested(() => {
    const first = cursor.token.at;
    const test = parseLevel(cursor, 0);
    if (!cursor.take("?")) return test;
    const then = parseExpr(cursor);
    cursor.expect(":");
    const otherwise = parseExpr(cursor);
    return { kind: "cond", test, then, otherwise, at: cursor.since(first) };
  });
}

/** `( E )`. */
export function parseParenthesized(cursor: Cursor): ExprNode {
  cursor.expect("(");
  const inner = parseExpr(cursor);
  cursor.expect(")");
  return inner;
}

/** `( E { "," E } )`. */
export function parseKeys(cursor: Cursor): ExprNode[] {
  cursor.expect("(");
  return cursor.list(")", () => parseExpr(cursor));
}

function parseLevel(cursor: Cursor, level: number): ExprNode {
  const operators = LEVELS[level];
  if (operators === undefined) return parseUnary(cursor);
  const first = cursor.token.at;
  let left = parseLevel(cursor, level + 1);
  for (let terms = 1;; terms += 1) {
    const op = operators.find((each) => cursor.is(each));
    if (op === undefined) return left;
    if (terms >= TERMS_MAX) throw parseError("too_many_terms", cursor.token.at, TERMS_MAX);
    cursor.next();
    const right = parseLevel(cursor, level + 1);
    left = { kind: "binary", op, left, right, at: cursor.since(first) };
    if (level === COMPARISON) return left;
  }
}

function parseUnary(cursor: Cursor): ExprNode {
  const first = cursor.token.at;
  for (const op of ["-", "!"] as const) {
    if (!cursor.take(op)) continue;
    const operand = cursor.nested(() => parseUnary(cursor));
    return { kind: "unary", op, operand, at: cursor.since(first) };
  }
  if (cursor.take("~")) {
    const name = cursor.name();
    cursor.expect("(");
    const args = cursor.list(")", () => parseExpr(cursor), true);
    return { kind: "draw", name, args, at: cursor.since(first) };
  }
  const left = parseAtom(cursor);
  if (!cursor.take("^")) return left;
  const right = cursor.nested(() => parseUnary(cursor));
  return { kind: "binary", op: "^", left, right, at: cursor.since(first) };
}

function parseAtom(cursor: Cursor): ExprNode {
  const { token } = cursor;
  if (token.kind === "number") {
    cursor.next();
    return { kind: "number", value: token.value, at: token.at };
  }
  if (cursor.is("(")) return parseParenthesized(cursor);
  if (token.kind !== "name") throw cursor.expected("an expression");
  const over = parseOver(cursor);
  if (over !== null) return over;
  const name = cursor.name();
  if (cursor.take("(")) {
    const args = cursor.list(")", () => parseArgument(cursor), true);
    return { kind: "call", name, args, at: cursor.since(name.at) };
  }
  const member = cursor.is(".") && cursor.peek().kind === "name" ? takeMember(cursor) : null;
  const at = cursor.since(name.at);
  return { kind: "ref", ref: { base: name, index: null, member, at }, at };
}

function takeMember(cursor: Cursor): RefNode["member"] {
  cursor.expect(".");
  return cursor.name();
}

/** `max j in n (e)`. */
function parseOver(cursor: Cursor): ExprNode | null {
  const { text, at } = cursor.token;
  if (text !== "max" && text !== "min" && text !== "sum") return null;
  if (cursor.peek().kind !== "name") return null;
  cursor.next();
  const variable = cursor.name();
  cursor.expect("in");
  const count = parseCount(cursor);
  const body = parseParenthesized(cursor);
  return { kind: "over", op: text, variable, count, body, at: cursor.since(at) };
}

/** A number, a name, or an expression in parentheses: the body's parenthesis follows. */
function parseCount(cursor: Cursor): ExprNode {
  if (cursor.token.kind !== "name") {
    return cursor.token.kind === "number" ? parseAtom(cursor) : parseParenthesized(cursor);
  }
  const base = cursor.name();
  return { kind: "ref", ref: { base, index: null, member: null, at: base.at }, at: base.at };
}

/** An argument: a reference when one stands there alone (`kv[j]`), else an expression. */
export function parseArgument(cursor: Cursor): ExprNode {
  if (cursor.token.kind === "name" && cursor.peek().text === "[") {
    const ref = parseRef(cursor);
    if (!cursor.is(",") && !cursor.is(")")) throw cursor.expected("`,` or `)`");
    return { kind: "ref", ref, at: ref.at };
  }
  return parseExpr(cursor);
}

export function parseRef(cursor: Cursor): RefNode {
  const base = cursor.name();
  let index: ExprNode | null = null;
  if (cursor.take("[")) {
    index = parseExpr(cursor);
    cursor.expect("]");
  }
  const member = cursor.take(".") ? cursor.name() : null;
  return { base, index, member, at: cursor.since(base.at) };
}

export function parseRefs(cursor: Cursor): RefNode[] {
  const refs = [parseRef(cursor)];
  while (cursor.take(",")) refs.push(parseRef(cursor));
  return refs;
}
