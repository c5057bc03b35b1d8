/**
 * Random syntax trees, straight from the grammar: every construct, every option, in any combination
 * that the parser takes. What they mean is not their business.
 */
import fc from "fast-check";
import type {
  ArriveNode,
  Binding,
  Block,
  DefNode,
  EngineItem,
  ExprNode,
  Item,
  Name,
  Order,
  PoolOption,
  ProgramNode,
  QueueItem,
  RefNode,
  Resource,
  ScheduleStmt,
  StageKindNode,
  StmtNode,
  WorkloadItem,
} from "../../src/serq/ast.ts";
import { Source, type Span } from "../../src/serq/diagnostic.ts";

const at: Span = { source: new Source("tree", ""), start: 0, end: 0 };
const NAMES = ["a", "b2", "kv", "reqs", "gpu", "llm", "x_1", "été", "P", "D", "gate", "o"];

export const name: fc.Arbitrary<Name> = fc.constantFrom(...NAMES).map((text) => ({ text, at }));
const maybe = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.option(arbitrary, { freq: 2 });
const few = <T>(arbitrary: fc.Arbitrary<T>, minLength = 0): fc.Arbitrary<T[]> =>
  fc.array(arbitrary, { minLength, maxLength: 3 });

const number = fc.oneof(
  fc.nat(1000),
  fc.double({ min: 0, noNaN: true }).map(Math.abs),
  fc.constantFrom(0, 0.5, 1e21, 1e-7, Infinity),
);

const { expr, ref } = fc.letrec<{ expr: ExprNode; ref: RefNode; argument: ExprNode }>((tie) => ({
  ref: fc.record({
    base: name,
    index: fc.option(tie("expr"), { depthSize: "small" }),
    member: maybe(name),
    at: fc.constant(at),
  }),
  argument: fc.oneof(
    { depthSize: "small" },
    tie("expr"),
    tie("ref").map((each): ExprNode => ({ kind: "ref", ref: each, at })),
  ),
  expr: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    number.map((value): ExprNode => ({ kind: "number", value, at })),
    fc.tuple(name, maybe(name)).map(([base, member]): ExprNode => ({
      kind: "ref",
      ref: { base, index: null, member, at },
      at,
    })),
    fc.record({
      kind: fc.constant("call" as const),
      name,
      args: few(tie("argument")),
      at: fc.constant(at),
    }),
    fc.record({
      kind: fc.constant("draw" as const),
      name,
      args: few(tie("expr")),
      at: fc.constant(at),
    }),
    fc.record({
      kind: fc.constant("unary" as const),
      op: fc.constantFrom("-" as const, "!" as const),
      operand: tie("expr"),
      at: fc.constant(at),
    }),
    fc.record({
      kind: fc.constant("binary" as const),
      op: fc.constantFrom(
        ...(["||", "&&", "<", "<=", ">", ">=", "==", "!=", "+", "-", "*", "/", "^"] as const),
      ),
      left: tie("expr"),
      right: tie("expr"),
      at: fc.constant(at),
    }),
    fc.record({
      kind: fc.constant("cond" as const),
      test: tie("expr"),
      then: tie("expr"),
      otherwise: tie("expr"),
      at: fc.constant(at),
    }),
    fc.record({
      kind: fc.constant("over" as const),
      op: fc.constantFrom("max" as const, "min" as const, "sum" as const),
      variable: name,
      count: tie("expr"),
      body: tie("expr"),
      at: fc.constant(at),
    }),
  ),
}));

export { expr };

const node = <K extends string, T extends object>(
  kind: K,
  fields: { [F in keyof T]: fc.Arbitrary<T[F]> },
) =>
  fc.record({ kind: fc.constant(kind), ...fields, at: fc.constant(at) } as never) as fc.Arbitrary<
    { kind: K; at: Span } & T
  >;
const binding: fc.Arbitrary<Binding> = fc.record({ name, value: expr });
const endpoint = fc.record({ pool: ref, amount: expr });
const keys = few(expr, 1);
const place = fc.oneof(
  fc.constant({ index: null, on: [] }),
  expr.map((index) => ({ index, on: [] })),
  few(ref, 1).map((on) => ({ index: null, on })),
);

const { block } = fc.letrec<{ block: Block; statement: StmtNode }>((tie) => ({
  block: fc.array(tie("statement"), { maxLength: 3, depthIdentifier: "block" }),
  statement: fc.oneof(
    { depthSize: "small", depthIdentifier: "block", maxDepth: 3 },
    fc.constantFrom("turn" as const, "end" as const, "join" as const).map((kind): StmtNode => ({
      kind,
      at,
    })),
    node("set", {
      how: fc.constantFrom("set" as const, "Size" as const, "Cost" as const),
      name,
      value: expr,
    }),
    node("record", { name, fields: few(binding, 1) }),
    node("observe", { name, value: expr }),
    node("grow", { pool: ref, amount: expr }),
    node("load", { pool: ref, amount: expr }),
    node("drop", { pool: ref }),
    node("release", { pool: ref }),
    node("run", {
      stages: few(ref, 1),
      mode: fc.constantFrom("prefill" as const, "decode" as const, null),
      work: expr,
      growing: maybe(ref),
    }),
    node("run", {
      stages: fc.constant([]),
      mode: fc.constant(null),
      work: expr,
      growing: maybe(ref),
    }),
    node("choose", { name, count: expr, keys }),
    node("mark", { name }),
    node("enter", {
      queue: name,
      index: maybe(expr),
      verb: name,
      args: few(expr),
      from: maybe(ref),
      to: maybe(endpoint),
    }),
    node("expand", { name, args: few(expr) }),
    node("tool", { place, work: expr }),
    node("transfer", { place, work: expr, from: ref, to: endpoint }),
    node("hold", {
      parts: few(fc.record({ pool: ref, units: expr, reserve: maybe(expr) }), 1),
      reuse: maybe(expr),
      bindings: few(binding),
      body: tie("block"),
      cache: maybe(expr),
      lease: maybe(endpoint),
    }),
    node("branch", {
      chance: fc.boolean(),
      test: expr,
      then: tie("block"),
      otherwise: fc.option(tie("block")),
    }),
    node("while", { test: expr, body: tie("block") }),
    node("loop", { body: tie("block") }),
    node("fork", { body: tie("block") }),
  ) as fc.Arbitrary<StmtNode>,
}));

const stage: fc.Arbitrary<StageKindNode> = fc.oneof(
  fc.constant({ kind: "delay" as const }),
  expr.map((capacity) => ({ kind: "ps" as const, capacity })),
  maybe(expr).map((servers) => ({ kind: "fifo" as const, servers })),
);

const poolOption = (hosted: boolean): fc.Arbitrary<PoolOption> =>
  fc.oneof(
    ...(hosted ? [] : [node("cap", { value: expr })]),
    node("block", { value: expr }),
    node("evict", { keys: maybe(keys) }),
    node("queue", { keys: maybe(keys) }),
    node("reserve", {}),
    node("preempt", { rule: fc.constantFrom("none" as const, "lifo" as const) }),
    node("preempt", {
      rule: fc.constant("by" as const),
      keys,
      requeue: fc.constantFrom("head" as const, "tail" as const, null),
    }),
    node("spill", { tier: name, stage: name, work: expr, when: expr }),
  ) as fc.Arbitrary<PoolOption>;

const pool = fc.oneof(
  node("pool", {
    name,
    count: maybe(expr),
    host: fc.constant(null),
    options: few(poolOption(false)),
  }),
  node("pool", {
    name,
    count: fc.constant(null),
    host: fc.record({ name, device: maybe(name) }),
    options: few(poolOption(true)),
  }),
);

const resource: fc.Arbitrary<Resource> = fc.oneof(
  fc.record({ kind: fc.constant("capacity" as const), name, cap: expr }),
  fc.record({ kind: fc.constant("time" as const), name, params: few(name), body: expr }),
);
const device = (count: fc.Arbitrary<ExprNode | null>) =>
  node("device", { name, count, resources: few(resource) });

const order: fc.Arbitrary<Order | null> = fc.oneof(
  fc.constantFrom(null, { kind: "admission" as const }, { kind: "decode_first" as const }),
  keys.map((each) => ({ kind: "by" as const, keys: each })),
);

const { scheduled } = fc.letrec<{ scheduled: ScheduleStmt }>((tie) => ({
  scheduled: fc.oneof(
    { depthSize: "small", depthIdentifier: "schedule" },
    node("advance", { only: maybe(expr), order, atMost: maybe(expr) }),
    node("admit", { only: maybe(expr), test: maybe(expr), atMost: maybe(expr) }),
    node("exclusive", { atMost: maybe(expr) }),
    node("set", { name, value: expr }),
    node("branch", {
      test: expr,
      then: few(tie("scheduled")),
      otherwise: fc.option(few(tie("scheduled"))),
    }),
  ) as fc.Arbitrary<ScheduleStmt>,
}));

const engineItem = fc.oneof(
  node("tokens", { value: expr }),
  node("capacity", { name, count: maybe(expr), cap: expr }),
  node("granule", { value: expr }),
  node("state", { name, value: expr }),
  node("execute", { value: expr }),
  node("schedule", { lets: few(binding), body: few(scheduled, 1) }),
) as fc.Arbitrary<EngineItem>;
const engine = node("engine", { name, count: maybe(expr), device: name, items: few(engineItem) });

const queueItem = (queue: Name): fc.Arbitrary<QueueItem> =>
  fc.oneof(
    pool.map((each) => each),
    device(fc.constant(null)),
    node("engine", {
      name: fc.constant(queue),
      count: fc.constant(null),
      device: name,
      items: few(engineItem),
    }),
    node("serve", { stage, latency: maybe(expr) }),
    node("nic", { stage }),
    node("entry", { verb: name, params: few(name), from: maybe(name), body: block }),
  ) as fc.Arbitrary<QueueItem>;

const role = fc.constantFrom("gateway", "prefill", "decode", "link").map((text): Name => ({
  text,
  at,
}));
const queue = name.chain((own) =>
  node("queue", {
    name: fc.constant(own),
    count: maybe(expr),
    roles: few(role),
    items: few(queueItem(own)),
  })
);

const arrive: fc.Arbitrary<ArriveNode> = fc.oneof(
  fc.constant({ kind: "none" as const }),
  fc.record({
    kind: fc.constantFrom(
      "poisson" as const,
      "renewal" as const,
      "closed" as const,
      "batch" as const,
    ),
    value: expr,
  }),
);
const workloadItem = fc.oneof(
  node("arrive", { arrive }),
  node("trace", { path: fc.constantFrom("t.csv", "a b/ü.csv"), ordered: fc.boolean() }),
  node("hidden", { names: few(name, 1) }),
  node("init", { body: block }),
  node("turn", { body: block }),
  node("session", { body: block }),
) as fc.Arbitrary<WorkloadItem>;

const use = node("use", { path: fc.constantFrom("std/args", "lib.sq") });
const constant = node("let", { name, value: expr });
const def: fc.Arbitrary<DefNode> = node("def", {
  name,
  params: few(name),
  body: fc.oneof(
    expr.map((value) => ({ kind: "expression" as const, value })),
    block.map((each) => ({ kind: "statements" as const, block: each })),
  ),
});

const item = fc.oneof(
  use,
  constant,
  def,
  node("argument", {
    name,
    input: fc.constantFrom("rate", "x"),
    inputAt: fc.constant(at),
    value: expr,
  }),
  pool,
  node("stage", { name, count: maybe(expr), stage }),
  device(maybe(expr)),
  engine,
  queue,
  node("relation", {
    left: name,
    verb: fc.constantFrom("pull" as const, "push" as const),
    right: name,
    latency: maybe(expr),
    policy: fc.constantFrom("maxmin" as const, "bottleneck" as const),
  }),
  node("share", { policy: fc.constantFrom("maxmin" as const, "bottleneck" as const) }),
  node("workload", { items: few(workloadItem) }),
  node("server", { body: block }),
  node("gauge", { name, value: expr }),
  node("claim", {
    name,
    given: maybe(expr),
    when: fc.constant("end" as const),
    engine: fc.constant(null),
    value: expr,
  }),
  node("claim", {
    name,
    given: maybe(expr),
    when: fc.constantFrom("every" as const, "some" as const),
    engine: ref,
    value: expr,
  }),
) as fc.Arbitrary<Item>;

export const program: fc.Arbitrary<ProgramNode> = fc.record({
  before: few(fc.oneof(use, constant, def)),
  items: fc.array(item, { maxLength: 5 }),
});

/** A tree without its places, as plain data. */
export function bare(tree: unknown): unknown {
  const text = JSON.stringify(tree, (key, value: unknown) => {
    if (key === "at" || key === "inputAt") return undefined;
    return value === Infinity ? "inf" : value;
  });
  return JSON.parse(text);
}
