/** Statements to IR: blocks, holds, runs; definitions expanded in place. */
import type { Binding, Block, ExprNode, Name, StmtNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr, Ref, Statement } from "./ir.ts";
import { linkError, parseError } from "./messages.ts";
import { checkArguments, costTarget, expansionEnv, noting } from "./lower_calls.ts";
import { walk } from "./lower_constants.ts";
import { BUILT_IN, type Env, type Local, type Tables } from "./lower_context.ts";
import { lowerExpr, ownName } from "./lower_expressions.ts";
import { MOMENTS } from "./lower_moments.ts";
import { blocksOf } from "./lower_queues.ts";
import { lowerRef } from "./lower_refs.ts";
import { type Add, runStatement } from "./lower_runs.ts";
import { enterQueue, lowerTool, lowerTransfer } from "./lower_serving.ts";
import { SUPPLIED } from "./tokens.ts";

/** A block of its own. */
export function lowerBlock(tables: Tables, statements: Block, env: Env): BlockId {
  const block = tables.openBlock();
  lowerInto(tables, block, statements, env);
  return block;
}

export function lowerInto(tables: Tables, block: BlockId, statements: Block, env: Env): void {
  for (const statement of statements) lowerStatement(tables, block, statement, env);
}

/** The server's statements, spliced in after a `turn;`. */
export type Server = { readonly body: Block; readonly env: Env };

let server: Server | null = null;

/** Lowers `body` with the server that a `turn;` splices. */
export function withServer<T>(spliced: Server | null, body: () => T): T {
  const before = server;
  server = spliced;
  try {
    return body();
  } finally {
    server = before;
  }
}

/** Where errors about a statement point: at the first thing that it names. */
function placeOf(node: StmtNode): Span {
  switch (node.kind) {
    case "run":
      return node.stages[0]?.at ?? node.work.at;
    case "hold":
      return node.parts[0]!.pool.at;
    case "grow":
    case "load":
    case "drop":
    case "release":
      return node.pool.at;
    case "branch":
    case "while":
      return node.test.at;
    case "set":
    case "observe":
      return node.value.at;
    case "tool":
    case "transfer":
      return node.place.on[0]?.at ?? node.at;
    default:
      return node.at;
  }
}

function lowerStatement(tables: Tables, block: BlockId, node: StmtNode, env: Env): void {
  const { at } = node;
  const place = placeOf(node);
  const add = (statement: Statement): void => tables.append(block, statement, env.side, place);
  const value = (expr: ExprNode): Expr => lowerExpr(tables, expr, env);
  switch (node.kind) {
    case "turn":
      if (env.place !== "session") throw parseError("turn_elsewhere", at, env.place);
      add("Turn");
      if (server !== null) lowerInto(tables, block, server.body, server.env);
      return;
    case "end":
      if (env.place !== "session" && env.place !== "server") {
        throw linkError("workload_block", at, env.place);
      }
      return add("End");
    case "join":
      return add("Join");
    case "set": {
      if (node.how === "Size" && env.place === "server") throw parseError("size_in_server", at);
      const expr = value(node.value);
      const slot = assign(tables, node.name, env);
      if (node.how === "Cost") tables.declaredCosts.set(tables.attributes[slot]!, at);
      return add({ Set: [slot, expr] });
    }
    case "record":
      return lowerRecord(tables, node, env, add);
    case "observe":
      checkObservation(node.name);
      return add({ Observe: [tables.observe(node.name), value(node.value)] });
    case "hold":
      return lowerHold(tables, node, env, add);
    case "grow":
    case "load": {
      const pool = lowerRef(tables, "pool", node.pool, env);
      const amount = value(node.amount);
      return add(node.kind === "grow" ? { Grow: [pool, amount] } : { Load: [pool, amount] });
    }
    case "drop":
      return add({ Drop: lowerRef(tables, "pool", node.pool, env) });
    case "release":
      return add({ Release: lowerRef(tables, "pool", node.pool, env) });
    case "run": {
      const stages = runStages(tables, node, env);
      const mode = node.mode === "prefill"
        ? "Prefill"
        : node.mode === "decode"
        ? "Decode"
        : "Plain";
      const growing = node.growing === null ? null : lowerRef(tables, "pool", node.growing, env);
      return add(runStatement(tables, stages, mode, value(node.work), growing, place));
    }
    case "branch": {
      const test = lowerTest(tables, node.test, node.chance, env);
      const branch: Statement = { Branch: [test, 0, 0] };
      add(branch);
      branch.Branch[1] = lowerBlock(tables, node.then, env);
      branch.Branch[2] = lowerBlock(tables, node.otherwise ?? [], env);
      return;
    }
    case "while": {
      const loop: Statement = { While: [value(node.test), 0] };
      add(loop);
      loop.While[1] = lowerBlock(tables, node.body, env);
      return;
    }
    case "loop":
    case "fork":
      return lowerNested(tables, node, env, add);
    case "choose":
      return lowerChoose(tables, node, env, add);
    case "mark":
      return lowerMark(tables, node.name, env, add);
    case "enter":
      return enterQueue(tables, block, node, env);
    case "expand":
      return expandStatements(tables, block, node, env);
    case "tool":
      return lowerTool(tables, node, env, add);
    case "transfer":
      return lowerTransfer(tables, node, env, add);
  }
}

type Of<K extends StmtNode["kind"]> = Extract<StmtNode, { kind: K }>;

function lowerNested(tables: Tables, node: Of<"loop" | "fork">, env: Env, add: Add): void {
  const block = tables.blocks.length;
  add(node.kind === "loop" ? { Loop: block } : { Fork: block });
  lowerBlock(tables, node.body, env);
}

/** `branch with (p)` draws. */
function lowerTest(tables: Tables, node: ExprNode, chance: boolean, env: Env): Expr {
  const test = lowerExpr(tables, node, env);
  return chance ? tables.at({ Sample: ["Bernoulli", [test]] }, node.at) : test;
}

/** The slot of what a statement assigns; a queue's names are its own. */
function assign(tables: Tables, name: Name, env: Env): number {
  const { text, at } = name;
  const queue = env.queue?.queue;
  const full = queue === undefined ? text : ownName(queue, text);
  if (full !== text) return tables.assign(full, at);
  if (SUPPLIED.has(text)) throw linkError("supplied_name", at, text, "a session attribute");
  if (env.constants.has(text)) {
    throw linkError("constant_and_attribute", at, text);
  }
  return tables.assign(text, at);
}

function checkObservation({ text, at }: Name): void {
  if (BUILT_IN.includes(text)) throw parseError("observes_built_in", at, text);
  if (text === "now" || text === "inf") {
    throw linkError("supplied_name", at, text, "an observation");
  }
}

function lowerRecord(tables: Tables, node: Of<"record">, env: Env, add: Add): void {
  const { name, fields } = node;
  const queue = env.queue?.queue;
  const full = queue === undefined ? name.text : ownName(queue, name.text);
  const known = tables.records.get(full);
  const names = fields.map((field) => field.name.text);
  const twice = names.find((each, i) => names.indexOf(each) < i);
  if (twice !== undefined) throw parseError("field_twice", name.at, name.text, twice);
  if (known !== undefined && known.fields.join() !== names.join()) {
    throw parseError("record_differs", name.at, name.text, known.fields.join(", "));
  }
  tables.records.set(full, { fields: names, at: name.at });
  for (const field of fields) {
    const { text, at } = field.name;
    const base = { text, at };
    const target = costTarget(tables, { base, index: null, member: null, at }, env);
    const inner = lowerExpr(tables, field.value, env);
    const expr = tables.at({ Cost: [target, inner] }, field.value.at);
    add({ Set: [tables.assign(`${full}.${text}`, at), expr] });
  }
}

function lowerHold(tables: Tables, node: Of<"hold">, env: Env, add: Add): void {
  const { bindings, body: statements } = node;
  const locals = new Map<string, Local>(env.locals);
  const read = bindings.length === 0 ? new Set<string>() : namesIn(tables, statements);
  const sets: { name: Name; expr: Expr }[] = [];
  for (const { name, value } of bindings) {
    if (SUPPLIED.has(name.text)) throw linkError("supplied_name", name.at, name.text, "a binding");
    const outer: Env = { ...env, locals: new Map(locals), moment: MOMENTS.binding };
    const expr = lowerExpr(tables, value, outer);
    if (read.has(name.text)) {
      checkBinding(tables, name, expr);
      sets.push({ name, expr });
    }
    locals.set(name.text, { kind: "expr", node: value, env: outer });
  }
  const header: Env = { ...env, locals };
  const at = (expr: ExprNode | null, moment: Env["moment"]): Expr | null =>
    expr === null ? null : lowerExpr(tables, expr, { ...header, moment });
  const body = tables.blocks.length;
  const pools = node.parts.map(({ pool, units, reserve }): [Ref, Expr, Expr | null] => {
    const ref = lowerRef(tables, "pool", pool, { ...header, moment: env.moment });
    checkHolder(tables, ref, pool.at, env);
    return [ref, at(units, MOMENTS.admit)!, at(reserve, MOMENTS.reserve)];
  });
  const reuse = at(node.reuse, MOMENTS.reuse);
  const cache = at(node.cache, env.moment);
  const lease = node.lease === null ? null : [
    lowerRef(tables, "pool", node.lease.pool, header),
    at(node.lease.amount, env.moment)!,
  ] satisfies [Ref, Expr];
  add({ Hold: { pools, reuse, body, cache, lease } });
  const inside = tables.openBlock();
  const bodyLocals = new Map<string, Local>(env.locals);
  for (const { name } of bindings) bodyLocals.delete(name.text);
  for (const { name, expr } of sets) {
    const slot = assign(tables, name, env);
    tables.append(inside, { Set: [slot, expr] }, env.side, name.at);
  }
  lowerInto(tables, inside, statements, { ...env, locals: bodyLocals });
}

/** Only a queue's entries hold its pools. */
function checkHolder(tables: Tables, ref: Ref, at: Span, env: Env): void {
  const info = tables.poolInfos.find(({ family }) => family.base === ref.base);
  if (info?.queue === null || info === undefined) return;
  if (env.queue?.queue === info.queue) return;
  throw parseError("pool_of_queue", at, info.family.name, info.queue.name);
}

/** What the body reads again must not have changed since: attributes and constants only. */
function checkBinding(tables: Tables, name: Name, expr: Expr): void {
  walk(expr, (each) => {
    const live = "Ctx" in each ||
      ("Call" in each && each.Call[1].some((arg) => "Pool" in arg || "Stage" in arg)) ||
      ("Attr" in each && tables.attributes[each.Attr] === "cached");
    if (!live) return;
    const at = tables.spans.get(each) ?? name.at;
    const text = at.source.text.slice(at.start, at.end);
    throw parseError("binding_live", name.at, name.text, text);
  });
}

/** Names that statements mention, definitions looked into. */
function namesIn(tables: Tables, block: Block): Set<string> {
  const names = new Set<string>();
  const visit = (body: unknown): void => {
    JSON.stringify(body, (key, value: unknown) => {
      if (key === "at") return undefined;
      const { kind, base, name } = (value ?? {}) as { kind?: string; base?: Name; name?: Name };
      if (base?.text !== undefined) names.add(base.text);
      if (
        (kind === "expand" || kind === "call") && name !== undefined && !names.has(`${name.text}()`)
      ) {
        names.add(`${name.text}()`);
        visit(tables.defs.get(name.text)?.node.body);
      }
      return value;
    });
  };
  visit(block);
  return names;
}

function lowerChoose(tables: Tables, node: Of<"choose">, env: Env, add: Add): void {
  const count = lowerExpr(tables, node.count, env);
  const slot = assign(tables, node.name, env);
  const key = node.keys.map((each) => lowerExpr(tables, each, env));
  add({ Choose: { var: slot, count, key } });
}

function lowerMark(tables: Tables, name: Name, env: Env, add: Add): void {
  if (env.queue === null) throw parseError("mark_elsewhere", name.at);
  const slot = tables.assign(`${env.queue.queue.name}.${name.text}`, name.at);
  add({ Set: [slot, { Ctx: "Now" }] });
}

/** The stages named; in a queue's entry none means the queue's own. */
function runStages(tables: Tables, node: Of<"run">, env: Env): Ref[] {
  if (node.stages.length > 0) {
    return node.stages.map((each) => lowerRef(tables, "stage", each, env));
  }
  const base = env.queue?.queue.node.name;
  if (base === undefined) throw parseError("run_without_stage", node.at);
  return [lowerRef(tables, "stage", { base, index: null, member: null, at: node.at }, env)];
}

function expandStatements(tables: Tables, block: BlockId, node: Of<"expand">, env: Env): void {
  const { name, args, at } = node;
  const def = tables.defs.get(name.text);
  if (def === undefined || def.order > env.order) {
    throw parseError(
      "unknown_statement",
      name.at,
      name.text,
      closest(name.text, tables.defs.keys()),
    );
  }
  const { body } = def.node;
  if (body.kind !== "statements") throw parseError("def_as_statement", name.at, name.text);
  checkArguments(tables, def.node, args, at, env);
  checkCapture(tables, def.node.name.text, def.node.params, body.block, args, env);
  const inner = expansionEnv(tables, def.node.params, args, at, env);
  noting(name, () => lowerInto(tables, block, body.block, inner));
}

/** An argument is read where the parameter stands: there it must still mean the same. */
function checkCapture(
  tables: Tables,
  name: string,
  params: readonly Name[],
  body: Block,
  args: readonly ExprNode[],
  env: Env,
): void {
  const assigned = assignedIn(body);
  args.forEach((arg, i) => {
    if (arg.kind === "ref" && tables.families.has(arg.ref.base.text)) return;
    const read = namesIn(tables, [{ kind: "observe", name: params[i]!, value: arg, at: arg.at }]);
    for (const each of read) {
      if (assigned.has(each)) {
        throw parseError("def_argument_captured", arg.at, name, params[i]!.text, each);
      }
      if (each === "now" && !env.locals.has("now")) {
        throw parseError("def_argument_live", arg.at, name, "now");
      }
    }
    const live = liveCall(arg);
    if (live !== null) throw parseError("def_argument_live", arg.at, name, live);
  });
}

const LIVE = new Set([
  ..."queue busy work used free cachedin holders queued budget_left price".split(" "),
  ...["est_lambda", "est_rho", "est_wait"],
]);

function liveCall(node: ExprNode): string | null {
  let found: string | null = null;
  JSON.stringify(node, (key, value: unknown) => {
    if (key === "at") return undefined;
    const { kind, name } = (value ?? {}) as { kind?: string; name?: Name };
    if (kind === "call" && LIVE.has(name!.text)) found = name!.text;
    return value;
  });
  return found;
}

function assignedIn(block: Block): Set<string> {
  const names = new Set<string>();
  for (const statement of block) {
    if (statement.kind === "set" || statement.kind === "choose") names.add(statement.name.text);
    if (statement.kind === "hold") {
      statement.bindings.forEach(({ name }: Binding) => names.add(name.text));
      names.add("cached").add("computed");
    }
    for (const inner of blocksOf(statement)) for (const name of assignedIn(inner)) names.add(name);
  }
  return names;
}
