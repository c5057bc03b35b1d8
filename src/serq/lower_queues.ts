/** Queues and relations in the first pass: their pools, stages and NICs, entries and own names. */
import type { Block, EntryNode, Item, Name, QueueItem, QueueNode, StmtNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import { parseError } from "./messages.ts";
import type { Declaring } from "./lower_declaring.ts";
import { declareDevice, declareEngine, declarePool } from "./lower_hosts.ts";
import type { QueueInfo, Tables } from "./lower_context.ts";

/** What a role's entries are called, and how many parameters each takes. */
const ENTRIES: Readonly<Record<string, { role: string; params: number }>> = {
  route: { role: "gateway", params: 0 },
  prefill: { role: "prefill", params: 1 },
  decode: { role: "decode", params: 1 },
  transfer: { role: "link", params: 1 },
};

export function declareQueue(declaring: Declaring, node: QueueNode): void {
  const { tables } = declaring;
  const name = node.name.text;
  if (["link", "tool", "transfer", "prefill", "decode"].includes(name)) {
    throw parseError("queue_name", node.name.at, name);
  }
  declaring.declare(node.name, "queue");
  const count = declaring.count(node.count);
  const roles = node.roles.map(({ text }) => text);
  if (roles.includes("gateway") && count !== null) {
    throw parseError("gateway_family", node.name.at, name);
  }
  const queue: QueueInfo = {
    ...{ node, name, count: count ?? 1, many: count !== null, order: declaring.order },
    ...{ owned: new Set(), marks: new Set(), pools: new Map(), entries: [] },
    ...{ stage: null, nic: null, latency: null, latencyValue: null },
  };
  tables.queues.set(name, queue);
  for (const item of node.items) declareQueueItem(declaring, queue, item);
  checkEntries(queue, roles);
  for (const entry of queue.entries) collectNames(tables, entry.body, queue, new Set());
  if (queue.latencyValue !== null) {
    const size = queue.many ? queue.count : null;
    queue.latency = declaring.family("stage", `${name}.latency`, size, node.name.at, name);
  }
}

function declareQueueItem(declaring: Declaring, queue: QueueInfo, item: QueueItem): void {
  if (item.kind !== "entry" && queue.entries.length > 0) {
    const what = item.kind === "engine" ? "engine" : item.kind;
    throw parseError("queue_order", item.at, queue.name, what);
  }
  const size = queue.many ? queue.count : null;
  declaring.mark(item);
  switch (item.kind) {
    case "pool":
      if (item.count !== null) throw parseError("queue_pool_count", item.at, item.name.text);
      declarePool(declaring, item, queue);
      return;
    case "device":
      if (item.count !== null) throw parseError("queue_pool_count", item.at, item.name.text);
      declareDevice(declaring, item, queue);
      return;
    case "engine":
      if (queue.stage !== null) throw parseError("queue_two_stages", item.at, queue.name);
      return declareEngine(declaring, item, queue);
    case "serve":
      if (queue.stage !== null) throw parseError("queue_two_stages", item.at, queue.name);
      queue.stage = declaring.family("stage", queue.name, size, queue.node.name.at, queue.name);
      if (item.latency !== null && !hasRole(queue, "link")) {
        throw parseError("latency_elsewhere", item.latency.at);
      }
      queue.latencyValue = item.latency;
      return;
    case "nic":
      if (queue.nic !== null) throw parseError("nic_twice", item.at, queue.name);
      queue.nic = declaring.family("stage", `${queue.name}.nic`, size, item.at, queue.name);
      return;
    case "entry":
      return declareEntry(queue, item);
  }
}

export function hasRole({ node }: QueueInfo, role: string): boolean {
  return node.roles.some(({ text }) => text === role);
}

function declareEntry(queue: QueueInfo, entry: EntryNode): void {
  const { verb, params, from } = entry;
  const known = Object.hasOwn(ENTRIES, verb.text) ? ENTRIES[verb.text] : undefined;
  if (known === undefined) {
    const near = closest(verb.text, Object.keys(ENTRIES));
    throw parseError("unknown_entry", verb.at, verb.text, near);
  }
  if (!hasRole(queue, known.role)) {
    throw parseError("entry_without_role", verb.at, verb.text, known.role, queue.name);
  }
  if (params.length !== known.params) {
    const { name } = queue;
    throw parseError("entry_params", verb.at, name, verb.text, known.params, params.length);
  }
  if (from !== null && verb.text !== "decode") throw parseError("entry_from", from.at, verb.text);
  const twice = queue.entries.some((each) =>
    each.verb.text === verb.text && (each.from === null) === (from === null)
  );
  if (twice) throw parseError("entry_twice", verb.at, queue.name, verb.text);
  queue.entries.push(entry);
}

function checkEntries(queue: QueueInfo, roles: readonly string[]): void {
  const { name, entries, node, latencyValue } = queue;
  const verbs = new Set(entries.map(({ verb }) => verb.text));
  for (const [verb, { role }] of Object.entries(ENTRIES)) {
    if (!roles.includes(role) || verbs.has(verb)) continue;
    if (role === "link" && queue.stage !== null) continue;
    throw parseError("role_without_entry", node.name.at, name, role, verb);
  }
  if (verbs.has("transfer") && latencyValue !== null) {
    throw parseError("latency_and_entry", latencyValue.at, name);
  }
}

/** Names that statements assign, definitions looked into. */
export function collectNames(
  tables: Tables,
  block: Block,
  into: { readonly owned: Set<string>; readonly marks: Set<string> },
  seen: Set<string>,
): void {
  for (const statement of block) {
    assignedBy(statement, into);
    for (const inner of blocksOf(statement)) collectNames(tables, inner, into, seen);
    if (statement.kind !== "expand" || seen.has(statement.name.text)) continue;
    seen.add(statement.name.text);
    const def = tables.defs.get(statement.name.text);
    if (def?.node.body.kind === "statements") {
      collectNames(tables, def.node.body.block, into, seen);
    }
  }
}

function assignedBy(
  statement: StmtNode,
  { owned, marks }: { readonly owned: Set<string>; readonly marks: Set<string> },
): void {
  switch (statement.kind) {
    case "set":
    case "choose":
    case "record":
      owned.add(statement.name.text);
      break;
    case "mark":
      marks.add(statement.name.text);
      break;
    case "hold":
      for (const { name } of statement.bindings) owned.add(name.text);
      break;
    default:
  }
}

export function blocksOf(statement: StmtNode): Block[] {
  switch (statement.kind) {
    case "hold":
    case "while":
    case "loop":
    case "fork":
      return [statement.body];
    case "branch":
      return statement.otherwise === null
        ? [statement.then]
        : [statement.then, statement.otherwise];
    default:
      return [];
  }
}

/** `D pull P …`, `P push D …`: both queues stand above and have a NIC. */
export function declareRelation(
  declaring: Declaring,
  item: Extract<Item, { kind: "relation" }>,
): void {
  const { tables } = declaring;
  const left = relationQueue(tables, item.left);
  const right = relationQueue(tables, item.right);
  const [reader, source] = item.verb === "pull" ? [left, right] : [right, left];
  const taken = tables.relations.find((each) => each.reader === reader);
  if (taken !== undefined) throw parseError("one_relation", item.at, reader.name);
  const poster = tables.relations.find((each) => waiterOf(each) === left);
  const size = left.many ? left.count : null;
  let wait = poster?.wait ?? null;
  if (item.latency !== null) {
    if (poster !== undefined) throw parseError("one_latency", item.at, left.name);
    wait = declaring.family("stage", `${left.name}.nic.latency`, size, item.at, left.name);
  }
  tables.relations.push({ verb: item.verb, source, reader, wait, latency: item.latency });
}

function waiterOf(
  { verb, source, reader }: { verb: string; source: QueueInfo; reader: QueueInfo },
): QueueInfo {
  return verb === "pull" ? reader : source;
}

function relationQueue(tables: Tables, name: Name): QueueInfo {
  const queue = tables.queues.get(name.text);
  if (queue === undefined) {
    throw parseError(
      "relation_unknown",
      name.at,
      name.text,
      closest(name.text, tables.queues.keys()),
    );
  }
  if (queue.nic === null) throw parseError("relation_nic", name.at, name.text);
  return queue;
}
