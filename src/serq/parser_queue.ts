/** Queues: a name for pools, a stage and the entries through which requests use them; relations. */
import type { EntryNode, ExprNode, Item, Name, Policy, QueueItem, QueueNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import { parseError } from "./messages.ts";
import type { Cursor } from "./parser.ts";
import { parseCount, parseDevice, parsePool, parseStageKind } from "./parser_declarations.ts";
import { parseEngine } from "./parser_engine.ts";
import { parseExpr } from "./parser_expressions.ts";
import { parseBlock } from "./parser_statements.ts";

export const ROLES: readonly string[] = ["gateway", "prefill", "decode", "link"];

export function parseQueue(cursor: Cursor): QueueNode {
  const first = cursor.expect("queue").at;
  const name = cursor.name();
  const count = parseCount(cursor);
  const roles: Name[] = [];
  if (cursor.take(":")) {
    do roles.push(parseRole(cursor)); while (cursor.take(","));
  }
  const items = cursor.braces(() => parseQueueItem(cursor, name));
  return { kind: "queue", name, count, roles, items, at: cursor.since(first) };
}

function parseRole(cursor: Cursor): Name {
  const role = cursor.name();
  if (ROLES.includes(role.text)) return role;
  throw parseError("unknown_role", role.at, role.text, closest(role.text, ROLES));
}

function parseQueueItem(cursor: Cursor, queue: Name): QueueItem {
  const { kind, text, at: first } = cursor.token;
  if (kind !== "name") throw cursor.expected("a queue item");
  if (text === "pool") return parsePool(cursor);
  if (text === "device") return parseDevice(cursor);
  if (text === "engine" && cursor.peek().text === "on") return parseEngine(cursor, queue);
  if (text === "nic") {
    cursor.next();
    const stage = parseStageKind(cursor);
    cursor.expect(";");
    return { kind: "nic", stage, at: cursor.since(first) };
  }
  if (text === "serve") {
    cursor.next();
    const stage = parseStageKind(cursor);
    const latency = cursor.take("latency") ? parseExpr(cursor) : null;
    cursor.expect(";");
    return { kind: "serve", stage, latency, at: cursor.since(first) };
  }
  if (["(", "{", "from"].includes(cursor.peek().text)) return parseEntry(cursor);
  throw parseError("unknown_queue_item", first, text);
}

/** `verb (params) from NAME { … }`. */
function parseEntry(cursor: Cursor): EntryNode {
  const verb = cursor.name();
  const params = cursor.take("(") ? cursor.list(")", () => cursor.name(), true) : [];
  const from = cursor.take("from") ? cursor.name() : null;
  const body = parseBlock(cursor);
  return { kind: "entry", verb, params, from, body, at: cursor.since(verb.at) };
}

/** `D pull P latency x share maxmin;`. */
export function parseRelation(cursor: Cursor): Item {
  const left = cursor.name();
  const verb = cursor.next().text as "pull" | "push";
  const right = cursor.name();
  const latency: ExprNode | null = cursor.take("latency") ? parseExpr(cursor) : null;
  if (!cursor.take("share")) throw parseError("relation_without_share", cursor.token.at);
  const policy = parsePolicy(cursor);
  cursor.expect(";");
  return { kind: "relation", left, verb, right, latency, policy, at: cursor.since(left.at) };
}

export function parsePolicy(cursor: Cursor): Policy {
  for (const policy of ["maxmin", "bottleneck"] as const) if (cursor.take(policy)) return policy;
  throw cursor.expected("`maxmin` or `bottleneck`");
}
