/** Engines and their schedules. */
import type {
  Binding,
  EngineItem,
  EngineNode,
  ExprNode,
  Name,
  Order,
  ScheduleStmt,
} from "./ast.ts";
import { closest } from "../base/closest.ts";
import type { Span } from "./diagnostic.ts";
import { parseError } from "./messages.ts";
import { type Cursor, refuseReserved } from "./parser.ts";
import { parseExpr, parseKeys, parseParenthesized } from "./parser_expressions.ts";
import { parseCount } from "./parser_declarations.ts";
import { parseBinding } from "./parser_statements.ts";

const RETIRED_ITEMS: Readonly<Record<string, string>> = {
  budget: "tokens cap B;",
  memory: "pool NAME on DEVICE { … }",
  serve: "schedule { advance running …; admit waiting …; }",
  iteration: "schedule { … }",
  chunk: "each at most (c)",
  cost: "execute (time);",
  execution: "execute (time);",
};

/** Items of later versions of the language, which mean the same as ours on the right. */
const LATER_ITEMS: Readonly<Record<string, string>> = {
  scheduler: "schedule { … }",
  worker: "execute (time);",
  request: "run E prefill (…); run E decode (…); in the server",
};

/** `engine NAME[count] on DEVICE { … }`; in a queue the name is the queue's and not written. */
export function parseEngine(cursor: Cursor, queue: Name | null): EngineNode {
  const first = cursor.expect("engine").at;
  const name = queue ?? cursor.name();
  if (queue === null) refuseReserved(name, "engine");
  const count = queue === null ? parseCount(cursor) : null;
  cursor.expect("on");
  const device = cursor.name();
  const items = cursor.braces(() => parseItem(cursor));
  return { kind: "engine", name, count, device, items, at: cursor.since(first) };
}

function parseItem(cursor: Cursor): EngineItem {
  const { kind, text, at: first } = cursor.token;
  if (kind !== "name") throw cursor.expected("an engine item");
  if (text === "schedule" && cursor.peek().text === "{") return parseSchedule(cursor);
  const later = Object.hasOwn(LATER_ITEMS, text) && ["{", "("].includes(cursor.peek().text);
  if (later) throw parseError("later_spelling", first, text, LATER_ITEMS[text]!);
  const item = oneItem(cursor, text, first);
  cursor.expect(";");
  return item;
}

function oneItem(cursor: Cursor, text: string, first: Span): EngineItem {
  if (text === "execute" && cursor.peek().text === "(") {
    cursor.next();
    return { kind: "execute", value: parseParenthesized(cursor), at: cursor.since(first) };
  }
  if (text === "granule" && cursor.peek().text !== "cap") {
    cursor.next();
    return { kind: "granule", value: parseExpr(cursor), at: cursor.since(first) };
  }
  if (text === "state") {
    cursor.next();
    const { name, value } = parseBinding(cursor);
    return { kind: "state", name, value, at: cursor.since(first) };
  }
  const name = cursor.name();
  if (text === "tokens" && cursor.take("cap")) {
    return { kind: "tokens", value: parseExpr(cursor), at: cursor.since(first) };
  }
  const count = parseCount(cursor);
  if (cursor.take("cap")) {
    refuseReserved(name, "capacity");
    return { kind: "capacity", name, count, cap: parseExpr(cursor), at: cursor.since(first) };
  }
  if (Object.hasOwn(RETIRED_ITEMS, text)) {
    throw parseError("retired_engine_item", first, text, RETIRED_ITEMS[text]!);
  }
  const known = ["tokens", "granule", "state", "schedule", "execute"];
  throw parseError("unknown_engine_item", first, text, closest(text, known));
}

function parseSchedule(cursor: Cursor): EngineItem {
  const first = cursor.expect("schedule").at;
  cursor.expect("{");
  const lets: Binding[] = [];
  while (cursor.take("let")) {
    const binding = parseBinding(cursor);
    refuseReserved(binding.name, "schedule `let`");
    lets.push(binding);
    cursor.expect(";");
  }
  const body: ScheduleStmt[] = [];
  while (!cursor.take("}")) {
    if (cursor.is("let")) throw parseError("schedule_late_let", cursor.token.at);
    body.push(parseScheduleStmt(cursor));
  }
  if (body.length === 0) throw parseError("schedule_empty", first);
  return { kind: "schedule", lets, body, at: cursor.since(first) };
}

const SCHEDULE_WORDS = ["advance", "admit", "exclusive", "branch", "set"];

function parseScheduleStmt(cursor: Cursor): ScheduleStmt {
  const { kind, text, at: first } = cursor.token;
  if (kind !== "name") throw cursor.expected("a schedule statement");
  if (!SCHEDULE_WORDS.includes(text)) {
    throw parseError("unknown_schedule_statement", first, text, closest(text, SCHEDULE_WORDS));
  }
  cursor.next();
  if (text === "branch") return parseBranch(cursor, first);
  const statement = text === "advance"
    ? parseAdvance(cursor, first)
    : text === "admit"
    ? parseAdmit(cursor, first)
    : text === "exclusive"
    ? parseExclusive(cursor, first)
    : parseSet(cursor, first);
  cursor.expect(";");
  return statement;
}

function parseAdvance(cursor: Cursor, first: Span): ScheduleStmt {
  if (!cursor.take("running")) throw parseError("advance_what", cursor.token.at);
  const only = parseOnly(cursor);
  let order: Order | null = null;
  if (cursor.take("admission")) order = { kind: "admission" };
  else if (cursor.take("by")) order = { kind: "by", keys: parseKeys(cursor) };
  else if (cursor.take("decode")) {
    cursor.expect("first");
    order = { kind: "decode_first" };
  }
  const atMost = parseAtMost(cursor);
  return { kind: "advance", only, order, atMost, at: cursor.since(first) };
}

function parseAdmit(cursor: Cursor, first: Span): ScheduleStmt {
  if (!cursor.take("waiting")) throw parseError("admit_what", cursor.token.at);
  const only = parseOnly(cursor);
  const test = cursor.take("while") ? parseParenthesized(cursor) : null;
  return { kind: "admit", only, test, atMost: parseAtMost(cursor), at: cursor.since(first) };
}

function parseExclusive(cursor: Cursor, first: Span): ScheduleStmt {
  cursor.expect("prefill");
  return { kind: "exclusive", atMost: parseAtMost(cursor), at: cursor.since(first) };
}

function parseSet(cursor: Cursor, first: Span): ScheduleStmt {
  const { name, value } = parseBinding(cursor);
  return { kind: "set", name, value, at: cursor.since(first) };
}

function parseBranch(cursor: Cursor, first: Span): ScheduleStmt {
  const test = parseParenthesized(cursor);
  const then = cursor.braces(() => parseScheduleStmt(cursor));
  const otherwise = cursor.take("else") ? cursor.braces(() => parseScheduleStmt(cursor)) : null;
  return { kind: "branch", test, then, otherwise, at: cursor.since(first) };
}

function parseOnly(cursor: Cursor): ExprNode | null {
  return cursor.take("only") ? parseParenthesized(cursor) : null;
}

function parseAtMost(cursor: Cursor): ExprNode | null {
  if (!cursor.take("each")) return null;
  cursor.expect("at");
  cursor.expect("most");
  return parseParenthesized(cursor);
}
