/**
 * `parseProgram` and `parseLibrary`: a text to its tree, or the first error. Knows the grammar and the
 * words that a place takes; what names mean is lowering's.
 */
import type { DefNode, Item, LetNode, ProgramNode, UseNode, WorkloadItem } from "./ast.ts";
import { closest } from "../base/closest.ts";
import { Source, type Span } from "./diagnostic.ts";
import { lex } from "./lexer.ts";
import { linkError, parseError } from "./messages.ts";
import { Cursor } from "./parser.ts";
import {
  parseCount,
  parseDef,
  parseDevice,
  parseLet,
  parsePool,
  parseStageKind,
  parseUse,
} from "./parser_declarations.ts";
import { parseEngine } from "./parser_engine.ts";
import { parseExpr, parseParenthesized, parseRef } from "./parser_expressions.ts";
import { parsePolicy, parseQueue, parseRelation } from "./parser_queue.ts";
import { parseBlock } from "./parser_statements.ts";

/** Throws a SerqError. */
export function parseProgram(text: string, name = "program.sq"): ProgramNode {
  const cursor = new Cursor(lex(new Source(name, text)));
  const before: (UseNode | DefNode | LetNode)[] = [];
  for (;;) {
    if (cursor.is("fn")) return { before, items: parseMain(cursor) };
    if (cursor.token.kind === "end") throw linkError("missing_main", cursor.token.at);
    before.push(parseOutside(cursor));
  }
}

/** A library holds `use` and `def` only. */
export function parseLibrary(text: string, name: string): (UseNode | DefNode)[] {
  const cursor = new Cursor(lex(new Source(name, text)));
  const items: (UseNode | DefNode)[] = [];
  while (cursor.token.kind !== "end") {
    if (cursor.is("use")) items.push(parseUse(cursor));
    else if (cursor.is("def")) items.push(parseDef(cursor));
    else throw parseError("library_item", cursor.token.at);
  }
  return items;
}

function parseOutside(cursor: Cursor): UseNode | DefNode | LetNode {
  if (cursor.is("use")) return parseUse(cursor);
  if (cursor.is("def")) return parseDef(cursor);
  if (cursor.is("let")) return parseLet(cursor);
  throw parseError("outside_main", cursor.token.at);
}

function parseMain(cursor: Cursor): Item[] {
  cursor.expect("fn");
  cursor.expect("main");
  cursor.expect("(");
  cursor.expect(")");
  const items = cursor.braces(() => parseItem(cursor));
  if (cursor.is("fn")) throw parseError("second_main", cursor.token.at);
  if (cursor.token.kind !== "end") throw parseError("outside_main", cursor.token.at);
  return items;
}

type ParseItem = (cursor: Cursor, first: Span) => Item;

const ITEMS: Readonly<Record<string, ParseItem>> = {
  use: parseUse,
  def: parseDef,
  let: parseLetOrArgument,
  pool: parsePool,
  stage: parseStage,
  device: parseDevice,
  engine: (cursor) => parseEngine(cursor, null),
  queue: parseQueue,
  share: (cursor, first) => {
    cursor.next();
    const policy = parsePolicy(cursor);
    cursor.expect(";");
    return { kind: "share", policy, at: cursor.since(first) };
  },
  workload: (cursor, first) => {
    cursor.next();
    const items = cursor.braces(() => parseWorkloadItem(cursor));
    return { kind: "workload", items, at: cursor.since(first) };
  },
  server: (cursor, first) => {
    cursor.next();
    return { kind: "server", body: parseBlock(cursor), at: cursor.since(first) };
  },
  gauge: (cursor, first) => {
    cursor.next();
    const name = cursor.name();
    cursor.expect("=");
    const value = parseExpr(cursor);
    cursor.expect(";");
    return { kind: "gauge", name, value, at: cursor.since(first) };
  },
  claim: parseClaim,
};

function parseItem(cursor: Cursor): Item {
  const { kind, text, at } = cursor.token;
  if (kind !== "name") throw cursor.expected("a declaration");
  if (["pull", "push"].includes(cursor.peek().text)) return parseRelation(cursor);
  if (text === "fn") throw parseError("second_main", at);
  if (text === "run") throw parseError("settings_in_model", at);
  if (["session", "turn", "init", "arrive", "trace", "hidden"].includes(text)) {
    throw parseError("belongs_in_workload", at, text);
  }
  const parse = Object.hasOwn(ITEMS, text) ? ITEMS[text] : undefined;
  if (parse === undefined) {
    throw parseError("unknown_item", at, text, closest(text, Object.keys(ITEMS)));
  }
  return parse(cursor, at);
}

/** `let N = args.number("name", default);` is an input from outside, else a constant. */
function parseLetOrArgument(cursor: Cursor, first: Span): Item {
  const [after, dot, what] = [cursor.peek(3), cursor.peek(4), cursor.peek(5)];
  if (after.text !== "args" || dot.text !== "." || what.kind !== "name") return parseLet(cursor);
  cursor.expect("let");
  const name = cursor.name();
  cursor.expect("=");
  cursor.expect("args");
  cursor.expect(".");
  if (!cursor.is("number")) throw parseError("args_type", cursor.token.at, cursor.token.text);
  cursor.next();
  cursor.expect("(");
  const input = cursor.string();
  cursor.expect(",");
  const value = parseExpr(cursor);
  cursor.expect(")");
  if (!cursor.is(";")) throw parseError("args_whole", after.at);
  cursor.next();
  const at = cursor.since(first);
  return { kind: "argument", name, input: input.text, inputAt: input.at, value, at };
}

function parseStage(cursor: Cursor, first: Span): Item {
  cursor.next();
  const name = cursor.name();
  const count = parseCount(cursor);
  cursor.expect(":");
  const stage = parseStageKind(cursor);
  if (cursor.is("latency")) throw parseError("latency_elsewhere", cursor.token.at);
  cursor.expect(";");
  return { kind: "stage", name, count, stage, at: cursor.since(first) };
}

function parseClaim(cursor: Cursor, first: Span): Item {
  cursor.next();
  const name = cursor.name();
  const given = cursor.take("given") ? parseParenthesized(cursor) : null;
  cursor.expect(":");
  const head = { kind: "claim", name, given } as const;
  const finish = () => {
    const value = parseParenthesized(cursor);
    cursor.expect(";");
    return { value, at: cursor.since(first) };
  };
  if (cursor.take("at")) {
    cursor.expect("end");
    return { ...head, when: "end", engine: null, ...finish() };
  }
  const when = cursor.is("every") ? "every" : cursor.is("some") ? "some" : null;
  if (when === null) throw cursor.expected("`every`, `some` or `at end`");
  cursor.next();
  cursor.expect("iteration");
  cursor.expect("of");
  const engine = parseRef(cursor);
  return { ...head, when, engine, ...finish() };
}

const WORKLOAD_WORDS = ["arrive", "trace", "init", "turn", "session", "hidden"];
const ARRIVALS = ["poisson", "renewal", "closed", "batch", "none"];

function parseWorkloadItem(cursor: Cursor): WorkloadItem {
  const { kind, text, at: first } = cursor.token;
  if (kind !== "name") throw cursor.expected("a workload item");
  if (!WORKLOAD_WORDS.includes(text)) {
    throw parseError("unknown_workload_item", first, text, closest(text, WORKLOAD_WORDS));
  }
  cursor.next();
  if (text === "init" || text === "turn" || text === "session") {
    return { kind: text, body: parseBlock(cursor), at: cursor.since(first) };
  }
  const item = plainWorkloadItem(cursor, text, first);
  cursor.expect(";");
  return item;
}

function plainWorkloadItem(cursor: Cursor, text: string, first: Span): WorkloadItem {
  if (text === "trace") {
    const path = cursor.string().text;
    const ordered = cursor.take("ordered");
    return { kind: "trace", path, ordered, at: cursor.since(first) };
  }
  if (text === "hidden") {
    const names = [cursor.name()];
    while (cursor.take(",")) names.push(cursor.name());
    return { kind: "hidden", names, at: cursor.since(first) };
  }
  const law = cursor.name();
  if (!ARRIVALS.includes(law.text)) {
    throw parseError("unknown_arrival", law.at, law.text, closest(law.text, ARRIVALS));
  }
  if (law.text === "none") {
    return { kind: "arrive", arrive: { kind: "none" }, at: cursor.since(first) };
  }
  const value = parseParenthesized(cursor);
  const kind = law.text as "poisson" | "renewal" | "closed" | "batch";
  return { kind: "arrive", arrive: { kind, value }, at: cursor.since(first) };
}
