/** References to pools and stages: expansions undone, a queue's own names found, members counted. */
import type { ExprNode, RefNode } from "./ast.ts";
import type { Span } from "./diagnostic.ts";
import type { Expr, Ref } from "./ir.ts";
import { linkError, parseError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import type { Env, Family, QueueInfo, Tables } from "./lower_context.ts";

/** An expression and where its names are looked up. */
export interface Closed {
  readonly node: ExprNode;
  readonly env: Env;
}

/** A reference with parameters replaced by what was given for them. */
export interface Plain {
  readonly base: string;
  readonly index: Closed | null;
  readonly member: string | null;
  readonly at: Span;
  readonly env: Env;
}

export function substitute(ref: RefNode, env: Env): Plain {
  const own = ref.index === null ? null : { node: ref.index, env };
  const local = env.locals.get(ref.base.text);
  if (local?.kind !== "expr" || local.node.kind !== "ref") {
    const { base, member, at } = ref;
    return { base: base.text, index: own, member: member?.text ?? null, at, env };
  }
  const inner = substitute(local.node.ref, local.env);
  if (own !== null && inner.index !== null) throw linkError("indexed_twice", ref.at, inner.base);
  const member = ref.member?.text ?? inner.member;
  return { ...inner, index: own ?? inner.index, member, at: ref.at };
}

export interface Found {
  readonly family: Family;
  /** As written, or that of the queue's member. */
  readonly index: Closed | null;
}

/** The family that a reference names; `kind` null: either, as in `cost(R, …)`. */
export function findFamily(
  tables: Tables,
  kind: Family["kind"] | null,
  plain: Plain,
): Found {
  const own = findOwn(kind, plain);
  if (own !== null) return own;
  const name = plain.member === null ? plain.base : `${plain.base}.${plain.member}`;
  const found = tables.families.get(name);
  if (found !== undefined && (kind === null || found.kind === kind)) {
    return { family: found, index: plain.index };
  }
  return { family: tables.family(kind ?? "pool", name, plain.at), index: plain.index };
}

/** Names of the queue whose entry this is: its pools, itself, its NIC, and the pool leased to it. */
function findOwn(kind: Family["kind"] | null, { base, member, index, env }: Plain): Found | null {
  const context = env.queue;
  if (context === null) return null;
  const { queue, from } = context;
  const mine = (family: Family | null) =>
    family === null || (kind !== null && family.kind !== kind)
      ? null
      : { family, index: index ?? (queue.many ? context.index : null) };
  if (from !== null && member === null && base === from.name && kind !== "stage") {
    return { family: leasedPool(from.queue), index: from.queue.many ? from.index : null };
  }
  if (member === null) {
    const pool = queue.pools.get(base);
    if (pool !== undefined) return mine(pool.family);
    return base === queue.name ? mine(queue.stage) : null;
  }
  if (base !== queue.name) return null;
  if (member === "nic") return mine(queue.nic);
  return mine(queue.pools.get(member)?.family ?? null);
}

/** The pool that a queue's entries lease: what a reader reads from. */
export function leasedPool(queue: QueueInfo): Family {
  for (const { body } of queue.entries) {
    for (const statement of body) {
      if (statement.kind !== "hold" || statement.lease === null) continue;
      const pool = queue.pools.get(statement.lease.pool.base.text);
      if (pool !== undefined) return pool.family;
    }
  }
  throw parseError("no_lease", queue.node.name.at, queue.name);
}

export function lowerRef(
  tables: Tables,
  kind: Family["kind"],
  ref: RefNode,
  env: Env,
): Ref {
  return refOf(tables, findFamily(tables, kind, substitute(ref, env)), ref.at, env);
}

/** A family and an index, checked: as the IR writes it. */
export function refOf(tables: Tables, { family, index }: Found, at: Span, env: Env): Ref {
  const { base, count } = family;
  if (!family.many) {
    if (index === null) return { base, count, index: null };
    // The only member may be called by its index.
    const lowered = tables.lowerExpr(index.node, { ...index.env, moment: env.moment });
    checkIndex(family, lowered, at);
    return { base, count, index: lowered };
  }
  if (index === null) {
    if (family.queue !== null && count === 1) return { base, count, index: { Num: 0 } };
    throw linkError("family_unindexed", at, family.name, count);
  }
  const lowered = tables.lowerExpr(index.node, { ...index.env, moment: env.moment });
  checkIndex(family, lowered, at);
  return { base, count, index: lowered };
}

export function checkIndex({ name, count }: Family, index: Expr, at: Span): void {
  const value = fold(index);
  if (value === null) return;
  if (!Number.isInteger(value)) throw linkError("index_fraction", at, name, value);
  if (value < 0 || value >= count) throw linkError("index_out_of_range", at, name, value, count);
}
