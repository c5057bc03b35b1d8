/**
 * The serving vocabulary and the queues' calls, each written out in kernel statements: `tool`,
 * `transfer`, and `Q[i].verb (args) from S[k] to P (n);`.
 */
import type { ExprNode, Placement, RefNode, StmtNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr } from "./ir.ts";
import { parseError } from "./messages.ts";
import { jointTarget, noting, targetOf } from "./lower_calls.ts";
import type { Env, Family, Local, QueueContext, QueueInfo, Tables } from "./lower_context.ts";
import { draws } from "./lower_constants.ts";
import { findFamily, type Found, lowerRef, refOf, substitute } from "./lower_refs.ts";
import { type Add, runStatement } from "./lower_runs.ts";

type Of<K extends StmtNode["kind"]> = Extract<StmtNode, { kind: K }>;

/** Names that play a role when a form names no stage. */
const ROLE_NAMES = { tool: ["tool"], transfer: ["link", "transfer"] } as const;
type Form = keyof typeof ROLE_NAMES;

export function lowerTool(tables: Tables, node: Of<"tool">, env: Env, add: Add): void {
  const stages = stagesOf(tables, "tool", node.place, node.at, env);
  runAll(tables, stages, node.work, node.at, env, add);
}

export function lowerTransfer(tables: Tables, node: Of<"transfer">, env: Env, add: Add): void {
  const related = relatedStages(tables, node, env, add);
  const stages = related ?? stagesOf(tables, "transfer", node.place, node.at, env);
  if (related === null) waitLatencies(tables, stages, node.at, env, add);
  runAll(tables, stages, node.work, node.at, env, add);
  finishTransfer(tables, node, env, add);
}

/** `load Q (cost(Q, n)); release P;`. */
function finishTransfer(
  tables: Tables,
  { from, to }: { from: RefNode; to: { pool: RefNode; amount: ExprNode } },
  env: Env,
  add: Add,
): void {
  const pool = lowerRef(tables, "pool", to.pool, env);
  const { family } = findFamily(tables, "pool", substitute(to.pool, env));
  add({ Load: [pool, costOf(tables, [family], to.amount, env)] });
  add({ Release: lowerRef(tables, "pool", from, env) });
}

function costOf(tables: Tables, families: readonly Family[], node: ExprNode, env: Env): Expr {
  const target = jointTarget(families.map(targetOf));
  return tables.at({ Cost: [target, tables.lowerExpr(node, env)] }, node.at);
}

function runAll(
  tables: Tables,
  stages: readonly Found[],
  work: ExprNode,
  at: Span,
  env: Env,
  add: Add,
): void {
  const refs = stages.map((stage) => refOf(tables, stage, at, env));
  const cost = costOf(tables, stages.map(({ family }) => family), work, env);
  add(runStatement(tables, refs, "Plain", cost, null, at));
}

/** Stages named with `on`, else the one above that plays the role. */
function stagesOf(
  tables: Tables,
  form: Form,
  { index, on }: Placement,
  at: Span,
  env: Env,
): Found[] {
  if (on.length > 0) return on.map((ref) => namedStage(tables, ref, env));
  const names: readonly string[] = ROLE_NAMES[form];
  const found = tables.stageFamilies.filter((family) =>
    names.includes(family.name) && isAbove(family, env)
  );
  const closed = index === null ? null : { node: index, env };
  if (found.length > 1) {
    throw parseError("several_play", at, form, found.map(({ name }) => name).join(", "));
  }
  if (found.length === 1) return [{ family: found[0]!, index: closed }];
  if (form === "tool" && env.place === "session" && tables.impliedTool !== null && index === null) {
    return [{ family: tables.impliedTool!, index: null }];
  }
  throw parseError("none_plays", at, form, names.map((name) => `\`${name}\``).join(" or "));
}

function isAbove({ order, queue }: Family, env: Env): boolean {
  return order < env.order || (queue !== null && queue === env.queue?.queue.name);
}

function namedStage(tables: Tables, ref: RefNode, env: Env): Found {
  const plain = substitute(ref, env);
  const name = plain.member === null ? plain.base : `${plain.base}.${plain.member}`;
  const above = tables.stageFamilies.filter((family) => isAbove(family, env));
  const own = env.queue?.queue.name === plain.base;
  if (!own && !above.some((family) => family.name === name)) {
    const near = closest(name, above.map((family) => family.name));
    throw parseError("stage_not_above", ref.at, name, near);
  }
  return findFamily(tables, "stage", plain);
}

/** Each named link with a latency is waited for first, in the order named. */
function waitLatencies(
  tables: Tables,
  stages: readonly Found[],
  at: Span,
  env: Env,
  add: Add,
): void {
  for (const { family, index } of stages) {
    const queue = family.queue === null ? undefined : tables.queues.get(family.queue);
    if (queue?.latency === null || queue === undefined || queue.stage !== family) continue;
    const stage = refOf(tables, { family: queue.latency, index }, at, env);
    const inQueue: Env = { ...env, queue: null, locals: new Map() };
    const work = costOf(tables, [queue.latency], queue.latencyValue!, inQueue);
    add(runStatement(tables, [stage], "Plain", work, null, at));
  }
}

/** In an entry taken `from` a queue that stands in a relation: the wait, and both NICs. */
function relatedStages(tables: Tables, node: Of<"transfer">, env: Env, add: Add): Found[] | null {
  const context = env.queue;
  if (node.place.on.length > 0 || node.place.index !== null) return null;
  if (context?.from === null || context === null) return null;
  const relation = tables.relations.find((each) =>
    each.reader === context.queue && each.source === context.from!.queue
  );
  if (relation === undefined) return null;
  const source: Found = indexed(relation.source, relation.source.nic!, context.from.index);
  const reader: Found = indexed(relation.reader, relation.reader.nic!, context.index);
  if (relation.wait !== null && relation.latency !== null) {
    const waiter = relation.verb === "pull" ? context.index : context.from.index;
    const owner = relation.verb === "pull" ? relation.reader : relation.source;
    const stage = refOf(tables, indexed(owner, relation.wait, waiter), node.at, env);
    const outside: Env = { ...env, queue: null, locals: new Map() };
    const work = costOf(tables, [relation.wait], relation.latency, outside);
    add(runStatement(tables, [stage], "Plain", work, null, node.at));
  }
  return [source, reader];
}

function indexed(queue: QueueInfo, family: Family, index: QueueContext["index"]): Found {
  return { family, index: queue.many ? index : null };
}

/** A call of a queue's entry, in place. */
export function enterQueue(tables: Tables, block: BlockId, node: Of<"enter">, env: Env): void {
  const plain = substitute(
    { base: node.queue, index: node.index, member: null, at: node.queue.at },
    env,
  );
  const { verb, at } = node;
  const queue = tables.queues.get(plain.base);
  if (queue === undefined) {
    const near = closest(plain.base, tables.queues.keys());
    throw parseError("unknown_queue", node.queue.at, plain.base, near);
  }
  if (env.place !== "server") throw parseError("entry_in_workload", at);
  const context = callContext(tables, queue, node, plain.index, env);
  const entry = entryOf(queue, node, context.from !== null);
  if (entry.params.length !== node.args.length) {
    const { name } = queue;
    throw parseError("call_arity", at, name, verb.text, entry.params.length, node.args.length);
  }
  tables.called.add(entry);
  const locals = new Map<string, Local>();
  entry.params.forEach((param, i) => {
    const arg = node.args[i]!;
    if (draws(tables.lowerExpr(arg, env))) {
      throw parseError("entry_argument_draws", arg.at, queue.name, verb.text, param.text);
    }
    locals.set(param.text, { kind: "expr", node: arg, env });
  });
  const inner: Env = { ...env, locals, queue: context, order: queue.order, depth: env.depth + 1 };
  if (inner.depth > 64) throw parseError("def_recursive", at);
  noting({ text: `${queue.name}.${verb.text}`, at }, () => {
    tables.lowerInto(block, entry.body, inner);
  });
  if (node.verb.text !== "transfer") return;
  const ends = { from: node.from!, to: node.to! };
  finishTransfer(tables, ends, env, (statement) => tables.append(block, statement, env.side, at));
}

function entryOf(queue: QueueInfo, { verb, from, to, at }: Of<"enter">, taken: boolean) {
  const same = queue.entries.filter((entry) => entry.verb.text === verb.text);
  if (same.length === 0) {
    const near = closest(verb.text, queue.entries.map((entry) => entry.verb.text));
    throw parseError("no_entry", at, queue.name, verb.text, near);
  }
  if (verb.text === "transfer") {
    if (from === null || to === null) throw parseError("transfer_call_ends", at, queue.name);
    return same[0]!;
  }
  if (to !== null) throw parseError("call_to", to.pool.at, queue.name, verb.text);
  const found = same.find((entry) => (entry.from !== null) === taken);
  if (found === undefined) throw parseError("call_from", at, queue.name, verb.text, taken);
  return found;
}

function callContext(
  tables: Tables,
  queue: QueueInfo,
  { from, verb, at }: Of<"enter">,
  index: QueueContext["index"],
  env: Env,
): QueueContext {
  if (queue.many && index === null && queue.count > 1) {
    throw parseError("queue_unindexed", at, queue.name, queue.count);
  }
  if (!queue.many && index !== null) throw parseError("queue_indexed", at, queue.name);
  const zero: ExprNode = { kind: "number", value: 0, at };
  const own = queue.many ? index ?? { node: zero, env } : null;
  if (queue.many && queue.stage !== null) {
    refOf(tables, { family: queue.stage, index: own }, at, env);
  }
  if (from === null || verb.text === "transfer") return { queue, index: own, from: null, to: null };
  const plain = substitute(from, env);
  const source = tables.queues.get(plain.base);
  if (source === undefined) {
    throw parseError(
      "unknown_queue",
      from.at,
      plain.base,
      closest(plain.base, tables.queues.keys()),
    );
  }
  const entry = queue.entries.find((each) => each.verb.text === verb.text && each.from !== null);
  const name = entry?.from?.text ?? plain.base;
  if (source.many && plain.index === null && source.count > 1) {
    throw parseError("queue_unindexed", from.at, source.name, source.count);
  }
  const relation = tables.relations.find((each) => each.reader === queue);
  if (relation !== undefined && relation.source !== source) {
    throw parseError("call_other_source", from.at, queue.name, relation.source.name);
  }
  const sourceIndex = source.many ? plain.index ?? { node: zero, env } : null;
  return { queue, index: own, from: { name, queue: source, index: sourceIndex }, to: null };
}
