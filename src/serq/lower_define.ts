/** The second pass over declarations: what stages, pools and gauges are made of. */
import { assert } from "../base/assert.ts";
import type { ExprNode, PoolOption, StageKindNode } from "./ast.ts";
import { type Expr, type Pool, realOf, type StageKind } from "./ir.ts";
import { linkError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import type { Env, Family, PoolInfo, Tables } from "./lower_context.ts";
import { lowerExpr } from "./lower_expressions.ts";
import { type Moment, MOMENTS } from "./lower_moments.ts";
import { findFamily } from "./lower_refs.ts";

/** A constant for `what`; NaN is refused. */
export function constant(tables: Tables, node: ExprNode, env: Env, what: string): number {
  const expr = lowerExpr(tables, node, { ...env, moment: MOMENTS.constant });
  const value = fold(expr);
  assert(value !== null, "a constant reads nothing that moves");
  if (Number.isNaN(value)) throw linkError("constant_nan", node.at, what);
  return value;
}

export function lowerKeys(
  tables: Tables,
  keys: readonly ExprNode[],
  env: Env,
  moment: Moment,
): Expr[] {
  return keys.map((key) => lowerExpr(tables, key, { ...env, moment }));
}

export function defineStage(
  tables: Tables,
  family: Family,
  node: StageKindNode,
  env: Env,
): void {
  for (let k = 0; k < family.count; k += 1) {
    tables.stages[family.base + k]!.kind = stageKind(tables, family, node, env);
  }
}

function stageKind(tables: Tables, { name }: Family, node: StageKindNode, env: Env): StageKind {
  if (node.kind === "delay") return { Ps: { Ctx: "N" } };
  if (node.kind === "ps") {
    return { Ps: lowerExpr(tables, node.capacity, { ...env, moment: MOMENTS.ps }) };
  }
  if (node.servers === null) return { Fifo: 1 };
  const servers = constant(tables, node.servers, env, `stage \`${name}\`: fifo servers`);
  if (!Number.isInteger(servers) || servers < 1) {
    throw linkError("fifo_servers", node.servers.at, name);
  }
  return { Fifo: servers };
}

export function definePool(tables: Tables, info: PoolInfo, env: Env): void {
  const { family, capOf, admittedBy } = info;
  for (let k = 0; k < family.count; k += 1) {
    const pool = tables.pools[family.base + k]!;
    if (capOf !== null) {
      pool.cap = realOf(constant(tables, capOf, env, `pool \`${family.name}\`: cap`));
    }
    if (admittedBy !== null) {
      const { base, count } = admittedBy.family;
      pool.admit_via = base + (count === family.count ? k : 0);
    }
    for (const option of info.node.options) definePoolOption(tables, info, pool, option, env);
  }
}

function definePoolOption(
  tables: Tables,
  { family }: PoolInfo,
  pool: Pool,
  option: PoolOption,
  env: Env,
): void {
  const keys = (nodes: readonly ExprNode[], moment: Moment) =>
    lowerKeys(tables, nodes, env, moment);
  switch (option.kind) {
    case "cap":
      pool.cap = realOf(constant(tables, option.value, env, `pool \`${family.name}\`: cap`));
      return;
    case "block": {
      const block = constant(tables, option.value, env, `pool \`${family.name}\`: block`);
      if (!(block > 0 && block < Infinity)) {
        throw linkError("block_positive", option.at, family.name);
      }
      pool.block = block;
      return;
    }
    case "evict":
      pool.evict = option.keys === null ? "Lru" : { By: keys(option.keys, MOMENTS.evict) };
      return;
    case "queue":
      pool.queue = option.keys === null ? null : keys(option.keys, MOMENTS.select);
      return;
    case "preempt":
      pool.preempt = preempt(option, keys);
      return;
    case "reserve":
      pool.reserve_held = true;
      return;
    case "spill":
      pool.spill = spill(tables, option, env);
  }
}

function preempt(
  option: Extract<PoolOption, { kind: "preempt" }>,
  keys: (nodes: readonly ExprNode[], moment: Moment) => Expr[],
): Pool["preempt"] {
  if (option.rule !== "by") {
    if (option.rule === "none") return "None";
    return { By: { keys: [{ Unary: ["Neg", { Ctx: "Admission" }] }] } };
  }
  const tail = option.requeue === "tail" ? { tail: true } : {};
  return { By: { keys: keys(option.keys, MOMENTS.victim), ...tail } };
}

function spill(
  tables: Tables,
  { tier, stage, work, when }: Extract<PoolOption, { kind: "spill" }>,
  env: Env,
): Pool["spill"] {
  const named = (name: typeof tier) => ({
    base: name.text,
    index: null,
    member: null,
    at: name.at,
    env,
  });
  const to = findFamily(tables, "pool", named(tier)).family;
  const via = findFamily(tables, "stage", named(stage)).family;
  if (to.many) throw linkError("family_unindexed", tier.at, to.name, to.count);
  if (via.many) throw linkError("family_unindexed", stage.at, via.name, via.count);
  if ("Step" in tables.stages[via.base]!.kind) throw linkError("spill_engine", stage.at, via.name);
  const spillEnv = { ...env, moment: MOMENTS.spill };
  return {
    to: to.base,
    via: via.base,
    work: lowerExpr(tables, work, spillEnv),
    when: lowerExpr(tables, when, spillEnv),
  };
}
