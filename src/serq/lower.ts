/**
 * `lower`: a tree to the IR that runs. Names become slots and indices, sugar kernel statements. Checks
 * that need only a name and its place are made here; those about the whole are in check.ts.
 */
import type {
  Block,
  ExprNode,
  Item,
  Placement,
  ProgramNode,
  StmtNode,
  WorkloadItem,
} from "./ast.ts";
import { placeText, SerqError, type Span } from "./diagnostic.ts";
import { type Arrival, type Expr, IR_VERSION, type Program, type Share } from "./ir.ts";
import { linkError, parseError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import { lowerGaugesAndClaims } from "./lower_claims.ts";
import { type Env, Tables } from "./lower_context.ts";
import { declareProgram } from "./lower_declare.ts";
import { Declaring, type Inputs } from "./lower_declaring.ts";
import { constant, definePool, defineStage } from "./lower_define.ts";
import { checkDevice, defineEngine } from "./lower_engines.ts";
import { lowerExpr, nearName } from "./lower_expressions.ts";
import { MOMENTS } from "./lower_moments.ts";
import { blocksOf } from "./lower_queues.ts";
import { renumber } from "./lower_renumber.ts";
import { callsOfUnused } from "./lower_unused.ts";
import { lowerInto, type Server, withServer } from "./lower_statements.ts";

export interface Settings {
  readonly horizon: number | null;
  readonly warmup: number;
  readonly seed: number;
  readonly arrivals: number | null;
}

/** The IR, and where each piece of it came from. */
export interface Lowered {
  readonly program: Program;
  readonly tables: Tables;
}

type Of<K extends Item["kind"]> = Extract<Item, { kind: K }>;

export function lower(node: ProgramNode, inputs: Inputs, settings: Settings): Lowered {
  const lowered = lowerOnce(node, inputs, settings);
  const unused = callsOfUnused(lowered.tables);
  if (unused.length > 0) checkUnused(node, unused, inputs, settings);
  return lowered;
}

/** What no request uses may name what is not there, but must be written rightly. */
function checkUnused(
  node: ProgramNode,
  calls: readonly StmtNode[],
  inputs: Inputs,
  settings: Settings,
): void {
  const { at } = calls[0]!;
  const server = only(node, "server", "duplicate_server");
  const items = node.items.filter(({ kind }) => kind !== "server");
  if (server === null) items.push({ kind: "workload", items: [], at });
  items.push({ kind: "server", body: [...server?.body ?? [], ...calls], at });
  try {
    lowerOnce({ ...node, items }, inputs, settings);
  } catch (error) {
    if (!(error instanceof SerqError) || error.phase === "parse") throw error;
  }
}

function lowerOnce(node: ProgramNode, inputs: Inputs, settings: Settings): Lowered {
  const tables = new Tables({ expr: lowerExpr, into: lowerInto });
  const declaring = new Declaring(tables, inputs);
  declareProgram(declaring, node);
  const env = (item: object): Env => ({
    ...declaring.env(),
    order: declaring.orders.get(item) ?? Infinity,
  });
  impliedTool(declaring, node);
  findShare(tables, node);
  defineAll(tables, node, env);
  const workload = only(node, "workload", "duplicate_workload");
  const server = only(node, "server", "duplicate_server");
  checkPair(workload, server);
  const program = emptyProgram(tables, settings);
  lowerWorkload(tables, program, workload, server, env);
  checkShare(tables);
  lowerGaugesAndClaims(tables, node, program, env);
  checkNames(tables);
  renumber(tables, program);
  return { program, tables };
}

/** A constant expression outside of any program. */
export function lowerAlone(node: ExprNode): Expr {
  const tables = new Tables({ expr: lowerExpr, into: lowerInto });
  const none = {
    values: new Map(),
    definitions: new Map(),
    library: () => null,
    parseLibrary: () => [],
  };
  return lowerExpr(tables, node, new Declaring(tables, none).env());
}

function emptyProgram(tables: Tables, settings: Settings): Program {
  return {
    version: IR_VERSION,
    attrs: tables.attributes,
    attr_types: [],
    sides: tables.sides,
    observes: tables.observes,
    pools: tables.pools,
    stages: tables.stages,
    arrival: "None",
    trace: null,
    trace_ordered: false,
    ...{ init: 0, turn: 1, session: 2 },
    blocks: tables.blocks,
    horizon: settings.horizon ?? 0,
    warmup: settings.warmup,
    seed: settings.seed,
    ...(settings.arrivals === null ? {} : { arrivals: settings.arrivals }),
    ...{ slot_cached: 0, slot_serial: 1, slot_turn: 2, slot_new: 3, slot_out: 4, slot_think: 5 },
    ...{ slot_more: 6, slot_forced: 7, slot_computed: 8 },
    hidden: [],
    ...(tables.registers.length === 0 ? {} : { registers: tables.registers }),
  };
}

function only<K extends "workload" | "server">(
  { items }: ProgramNode,
  kind: K,
  code: "duplicate_workload" | "duplicate_server",
): Of<K> | null {
  const found = items.filter((item) => item.kind === kind);
  if (found.length > 1) throw parseError(code, found[1]!.at);
  return (found[0] ?? null) as Of<K> | null;
}

function checkPair(workload: Of<"workload"> | null, server: Of<"server"> | null): void {
  if (workload !== null && server === null) throw parseError("workload_alone", workload.at);
  if (workload === null && server !== null) throw parseError("server_alone", server.at);
}

/** A client's `tool` runs on a delay of the workload's own where no stage above is named `tool`. */
function impliedTool(declaring: Declaring, { items }: ProgramNode): void {
  const { tables } = declaring;
  for (const item of items) {
    if (item.kind !== "workload") continue;
    const order = declaring.orders.get(item)!;
    const above = tables.families.get("tool");
    if (above !== undefined && above.kind === "stage" && above.order < order) continue;
    for (const each of item.items) {
      const use = each.kind === "session" ? findTool(each.body) : undefined;
      if (use === undefined) continue;
      if (above !== undefined) throw parseError("tool_below", use, placeText(above.at));
      const family = declaring.family("stage", "tool", null, use);
      tables.stages[family.base]!.kind = { Ps: { Ctx: "N" } };
      tables.impliedTool = family;
      return;
    }
  }
}

function findTool(block: Block): Span | undefined {
  for (const statement of block) {
    const { place } = statement as { place?: Placement };
    if (statement.kind === "tool" && place!.on.length === 0 && place!.index === null) {
      return statement.at;
    }
    for (const inner of blocksOf(statement)) {
      const found = findTool(inner);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** `share` of the program, or of its relations, which must agree. */
function findShare(tables: Tables, { items }: ProgramNode): void {
  for (const item of items) {
    if (item.kind !== "share" && item.kind !== "relation") continue;
    const share: Share = item.policy === "maxmin" ? "MaxMin" : "Bottleneck";
    if (tables.shareAt !== null) {
      if (item.kind === "share") {
        throw parseError("share_twice", item.at, placeText(tables.shareAt));
      }
      if (tables.share !== share) {
        throw parseError("share_differs", item.at, placeText(tables.shareAt));
      }
    }
    tables.share = share;
    tables.shareAt ??= item.at;
  }
}

function checkShare(tables: Tables): void {
  if (tables.shareAt !== null && tables.flows === 0) {
    throw linkError("share_unused", tables.shareAt);
  }
}

function defineAll(tables: Tables, { items }: ProgramNode, env: (item: object) => Env): void {
  for (const item of items) {
    if (item.kind === "stage") {
      defineStage(tables, tables.families.get(item.name.text)!, item.stage, env(item));
    } else if (item.kind === "engine") {
      defineEngine(tables, tables.engines.get(item.name.text)!, env(item));
    } else if (item.kind === "queue") {
      const queue = tables.queues.get(item.name.text)!;
      for (const each of item.items) {
        if (each.kind === "serve") defineStage(tables, queue.stage!, each.stage, env(item));
        else if (each.kind === "nic") defineStage(tables, queue.nic!, each.stage, env(item));
        else if (each.kind === "engine") {
          defineEngine(tables, tables.engines.get(queue.name)!, env(item));
        }
      }
      if (queue.latency !== null) defineStage(tables, queue.latency, { kind: "delay" }, env(item));
    } else if (item.kind === "relation") {
      const wait = tables.families.get(`${item.left.text}.nic.latency`);
      if (wait !== undefined) defineStage(tables, wait, { kind: "delay" }, env(item));
    }
  }
  for (const info of tables.poolInfos) definePool(tables, info, env(info.node));
  for (const device of tables.devices.values()) checkDevice(device);
}

function lowerWorkload(
  tables: Tables,
  program: Program,
  workload: Of<"workload"> | null,
  serverItem: Of<"server"> | null,
  env: (item: object) => Env,
): void {
  for (let block = 0; block < 3; block += 1) tables.openBlock();
  if (workload === null || serverItem === null) return;
  const side = { moment: MOMENTS.session, side: "Workload" } as const;
  const base: Env = { ...env(workload), ...side, place: "init" };
  const { init, turn, session } = collect(tables, program, workload.items, base);
  const server: Server = {
    body: serverItem.body,
    env: { ...env(serverItem), moment: MOMENTS.session, side: "Server", place: "server" },
  };
  withServer(server, () => {
    lowerInto(tables, 0, init, base);
    lowerInto(tables, 1, turn, { ...base, place: "turn" });
    lowerInto(tables, 2, session, { ...base, place: "session" });
  });
  const ended = tables.blocks[2]!.at(-1) === "End" && tables.sides[2]!.at(-1) === "Workload";
  if (!ended) tables.append(2, "End", "Workload", workload.at);
}

interface Parts {
  init: Block;
  turn: Block;
  session: Block;
}

function collect(
  tables: Tables,
  program: Program,
  items: readonly WorkloadItem[],
  env: Env,
): Parts {
  const parts: Parts = { init: [], turn: [], session: [] };
  let session: Block | null = null;
  const seen = new Set<string>();
  for (const item of items) {
    if (item.kind !== "hidden" && seen.has(item.kind)) {
      throw parseError("workload_item_twice", item.at, item.kind);
    }
    seen.add(item.kind);
    switch (item.kind) {
      case "arrive":
        program.arrival = arrival(tables, item, env);
        break;
      case "trace":
        program.trace = item.path;
        program.trace_ordered = item.ordered;
        break;
      case "init":
      case "turn":
        for (const statement of item.body) {
          if (!["set", "observe", "expand"].includes(statement.kind)) {
            throw linkError("workload_block", statement.at, item.kind);
          }
        }
        parts[item.kind] = item.body;
        break;
      case "session":
        session = item.body;
        if (!hasTurn(session)) throw parseError("session_without_turn", item.at);
        break;
      case "hidden":
        for (const { text, at } of item.names) tables.hidden.set(text, at);
    }
  }
  const at = items[0]?.at ?? NOWHERE_BLOCK;
  parts.session = session ?? [{ kind: "turn", at }];
  return parts;
}

const NOWHERE_BLOCK = { source: undefined as never, start: 0, end: 0 };

function hasTurn(block: Block): boolean {
  return JSON.stringify(block, (key, value) => key === "at" ? undefined : value)
    .includes('"kind":"turn"');
}

function arrival(
  tables: Tables,
  { arrive, at }: Extract<WorkloadItem, { kind: "arrive" }>,
  env: Env,
): Arrival {
  if (arrive.kind === "none") return "None";
  const { value } = arrive;
  if (arrive.kind === "renewal") {
    const gap = lowerExpr(tables, value, { ...env, moment: MOMENTS.gap });
    const fixed = fold(gap);
    if (fixed !== null && !(fixed > 0 && fixed < Infinity)) {
      throw linkError("gap_positive", value.at, fixed);
    }
    return { Renewal: gap };
  }
  const number = constant(tables, value, env, `\`${arrive.kind}\``);
  if (arrive.kind === "poisson") {
    if (!(number > 0 && number < Infinity)) throw linkError("rate_positive", value.at, number);
    return { Poisson: number };
  }
  const what = arrive.kind === "batch" ? "the batch size" : "the population";
  if (!Number.isInteger(number) || number < 1 || number > SESSIONS_MAX) {
    throw linkError("session_count", at, what, number, SESSIONS_MAX);
  }
  return arrive.kind === "batch" ? { Batch: number } : { Closed: number };
}

export const SESSIONS_MAX = 1_000_000;

/** Every name that is read is set; names mean one thing. */
function checkNames(tables: Tables): void {
  for (const [slot, at] of tables.reads) {
    if (tables.sets.has(slot)) continue;
    const name = tables.attributes[slot]!;
    throw linkError("unknown_name", at, name, nearName(tables, name, null));
  }
  for (const [name, at] of tables.attributeAt) {
    const family = tables.families.get(name);
    if (family !== undefined) clash(name, family.kind, family.at, at);
    const observed = tables.observeAt.get(name);
    if (observed !== undefined) clash(name, "observation", observed, at);
    const record = tables.records.get(name);
    if (record !== undefined) clash(name, "record", record.at, at);
  }
  for (const [name, at] of tables.indexAt) {
    if (tables.sets.has(tables.attributeSlots.get(name) ?? -1)) {
      throw linkError("aggregate_variable", at, name);
    }
  }
  for (const [name, at] of tables.observeAt) {
    const family = tables.families.get(name);
    if (family !== undefined) {
      throw parseError("two_meanings", at, name, family.kind, placeText(family.at), "observation");
    }
  }
  for (const [name, { at }] of tables.records) {
    const family = tables.families.get(name);
    if (family !== undefined) {
      throw parseError("two_meanings", at, name, family.kind, placeText(family.at), "record");
    }
  }
}

function clash(name: string, what: string, whatAt: Span, at: Span): never {
  throw parseError("two_meanings", whatAt, name, "attribute", placeText(at), what);
}
