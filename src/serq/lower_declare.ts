/**
 * The first pass: every declaration gets its name, its place among pools and stages, and its size, in
 * the order of the text. What they are made of is filled in by the second pass (lower_define.ts).
 */
import type {
  DefNode,
  DeviceNode,
  EngineNode,
  ExprNode,
  Item,
  LetNode,
  Name,
  PoolNode,
  ProgramNode,
} from "./ast.ts";
import { closest } from "../base/closest.ts";
import { placeText, type Span } from "./diagnostic.ts";
import { argumentError, linkError, parseError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import {
  type DeviceInfo,
  type Env,
  type Family,
  FAMILY_MAX,
  type PoolInfo,
  type QueueInfo,
  type Tables,
} from "./lower_context.ts";
import { lowerExpr } from "./lower_expressions.ts";
import { MOMENTS } from "./lower_moments.ts";
import { declareQueue, declareRelation } from "./lower_queues.ts";
import { DISTRIBUTIONS, FUNCTIONS, SUPPLIED } from "./tokens.ts";

/** What a program is given from outside. */
export interface Inputs {
  /** Values for `args.number` inputs, by the input's name. */
  readonly values: ReadonlyMap<string, number>;
  /** Text of a library next to the program, or null where there is none. */
  readonly library: (path: string, from: string) => { text: string; name: string } | null;
  /** Parses a library; passed in so that lowering does not know the parser. */
  readonly parseLibrary: (
    text: string,
    name: string,
  ) => readonly (DefNode | { kind: "use"; path: string; at: Span })[];
}

/** Declarations under way. */
export class Declaring {
  readonly tables: Tables;
  readonly inputs: Inputs;
  readonly constants: Map<string, number> = new Map();
  readonly constantAt: Map<string, Span> = new Map();
  /** Constants as they stand at each item. */
  readonly snapshots: Map<object, ReadonlyMap<string, number>> = new Map();
  readonly orders: Map<object, number> = new Map();
  readonly names: Map<string, { what: string; at: Span }> = new Map();
  readonly used: Set<string> = new Set();
  readonly given: Set<string> = new Set();
  usesArgs = false;
  order = 0;

  constructor(tables: Tables, inputs: Inputs) {
    this.tables = tables;
    this.inputs = inputs;
  }

  env(): Env {
    const { constants, order } = this;
    const locals = new Map();
    const rest = { queue: null, engine: null, depth: 0 } as const;
    return {
      moment: MOMENTS.constant,
      side: "Server",
      place: "declaration",
      locals,
      constants,
      order,
      ...rest,
    };
  }

  /** Remembers the surroundings of an item for the second pass. */
  mark(item: object): void {
    this.snapshots.set(item, new Map(this.constants));
    this.orders.set(item, this.order);
  }

  /** Everything declared shares one name space. */
  declare(name: Name, what: string): void {
    const before = this.names.get(name.text);
    if (before !== undefined) {
      const place = placeText(before.at);
      if (before.what === what) throw linkError("duplicate", name.at, what, name.text, place);
      throw parseError("two_meanings", name.at, name.text, before.what, place, what);
    }
    this.names.set(name.text, { what, at: name.at });
  }

  /** The size of a family; null: a single one. */
  count(node: ExprNode | null): number | null {
    if (node === null) return null;
    const value = fold(lowerExpr(this.tables, node, this.env()));
    if (value === null || !Number.isInteger(value) || value < 1) {
      throw parseError("array_size", node.at, value);
    }
    if (value > FAMILY_MAX) throw parseError("array_large", node.at, value, FAMILY_MAX);
    return value;
  }

  family(
    kind: Family["kind"],
    name: string,
    count: number | null,
    at: Span,
    queue: string | null = null,
  ): Family {
    const { tables } = this;
    const list = kind === "pool" ? tables.pools : tables.stages;
    const [size, many, base] = [count ?? 1, count !== null, list.length];
    for (let k = 0; k < size; k += 1) {
      const index = many ? { index: k } : {};
      if (kind === "pool") {
        const rest = { block: null, queue: null, spill: null, admit_via: null } as const;
        tables.pools.push({ name, ...index, cap: "inf", evict: "Lru", preempt: "None", ...rest });
      } else tables.stages.push({ name, ...index, kind: { Fifo: 1 } });
    }
    const family: Family = { kind, name, base, count: size, many, at, queue, order: this.order };
    tables.families.set(name, family);
    if (kind === "stage") tables.stageFamilies.push(family);
    return family;
  }
}

export function declareProgram(declaring: Declaring, program: ProgramNode): void {
  for (const item of [...program.before, ...program.items]) {
    declaring.order += 1;
    declaring.mark(item);
    declareItem(declaring, item);
  }
  for (const name of declaring.inputs.values.keys()) {
    if (!declaring.given.has(name)) {
      throw argumentError("unknown_argument", name, closest(name, declaring.given));
    }
  }
}

function declareItem(declaring: Declaring, item: Item): void {
  switch (item.kind) {
    case "use":
      return declareUse(declaring, item);
    case "def":
      return declareDef(declaring, item);
    case "let":
      return declareLet(declaring, item);
    case "argument":
      return declareArgument(declaring, item);
    case "pool":
      return void declarePool(declaring, item, null);
    case "stage":
      declaring.declare(item.name, "stage");
      declaring.family("stage", item.name.text, declaring.count(item.count), item.name.at);
      return;
    case "device":
      return void declareDevice(declaring, item, null);
    case "engine":
      declaring.declare(item.name, "engine");
      return declareEngine(declaring, item, null);
    case "queue":
      return declareQueue(declaring, item);
    case "relation":
      return declareRelation(declaring, item);
    case "share":
    case "workload":
    case "server":
    case "gauge":
    case "claim":
      return;
  }
}

function declareUse(declaring: Declaring, item: { path: string; at: Span }): void {
  if (item.path === "std/args") {
    declaring.usesArgs = true;
    return;
  }
  const found = declaring.inputs.library(item.path, item.at.source.name);
  if (found === null) throw parseError("library_missing", item.at, item.path);
  if (declaring.used.has(found.name)) return;
  declaring.used.add(found.name);
  for (const each of declaring.inputs.parseLibrary(found.text, found.name)) {
    if (each.kind === "use") declareUse(declaring, each);
    else declareDef(declaring, each);
  }
}

function declareDef(declaring: Declaring, node: DefNode): void {
  const { name, params } = node;
  if (FUNCTIONS.includes(name.text) || DISTRIBUTIONS.includes(name.text)) {
    throw parseError("def_named_function", name.at, name.text);
  }
  if (declaring.constants.has(name.text)) {
    const place = placeText(declaring.constantAt.get(name.text)!);
    throw parseError("two_meanings", name.at, name.text, "constant", place, "definition");
  }
  declaring.declare(name, "definition");
  params.forEach((param, i) => {
    if (params.findIndex(({ text }) => text === param.text) < i) {
      throw parseError("parameter_twice", param.at, name.text, param.text);
    }
  });
  if (mentionsCall(node.body, name.text)) throw parseError("def_recursive", name.at);
  declaring.tables.defs.set(name.text, { node, order: declaring.order });
}

function mentionsCall(body: unknown, name: string): boolean {
  let found = false;
  JSON.stringify(body, (key, value: unknown) => {
    if (key === "at") return undefined;
    const { kind, name: called } = (value ?? {}) as { kind?: string; name?: Name };
    if ((kind === "call" || kind === "expand") && called?.text === name) found = true;
    return value;
  });
  return found;
}

function declareLet(declaring: Declaring, { name, value }: LetNode): void {
  nameConstant(declaring, name);
  const folded = fold(lowerExpr(declaring.tables, value, declaring.env()));
  if (folded === null) throw linkError("not_constant_expression", value.at, `\`${name.text}\``);
  if (Number.isNaN(folded)) throw linkError("constant_nan", value.at, `\`let ${name.text}\``);
  declaring.constants.set(name.text, folded);
}

function nameConstant(declaring: Declaring, name: Name): void {
  if (SUPPLIED.has(name.text)) throw linkError("supplied_name", name.at, name.text, "a constant");
  const before = declaring.names.get(name.text);
  if (before !== undefined) {
    const place = placeText(before.at);
    throw parseError("two_meanings", name.at, name.text, before.what, place, "constant");
  }
  declaring.constantAt.set(name.text, name.at);
}

function declareArgument(declaring: Declaring, item: Extract<Item, { kind: "argument" }>): void {
  if (!declaring.usesArgs) throw parseError("args_without_use", item.at);
  nameConstant(declaring, item.name);
  if (declaring.given.has(item.input)) throw parseError("input_twice", item.inputAt, item.input);
  declaring.given.add(item.input);
  const preset = fold(lowerExpr(declaring.tables, item.value, declaring.env()));
  if (preset === null) throw linkError("not_constant_expression", item.value.at, `"${item.input}"`);
  if (Number.isNaN(preset)) throw linkError("constant_nan", item.value.at, `"${item.input}"`);
  declaring.constants.set(item.name.text, declaring.inputs.values.get(item.input) ?? preset);
}

export function declareDevice(
  declaring: Declaring,
  node: DeviceNode,
  queue: QueueInfo | null,
): DeviceInfo {
  if (queue === null) declaring.declare(node.name, "device");
  const written = declaring.count(node.count);
  const seen = new Set<string>();
  for (const { name } of node.resources) {
    if (seen.has(name.text)) throw parseError("resource_twice", name.at, name.text);
    seen.add(name.text);
  }
  const { many, count } = queue ?? { many: written !== null, count: written ?? 1 };
  const key = queue === null ? node.name.text : `${queue.name}.${node.name.text}`;
  const device = { node, name: key, count, many, queue, engine: null, pools: new Map() };
  declaring.tables.devices.set(key, device);
  return device;
}

export function declareEngine(
  declaring: Declaring,
  node: EngineNode,
  queue: QueueInfo | null,
): void {
  const { tables } = declaring;
  const name = node.name.text;
  const key = queue === null ? node.device.text : `${queue.name}.${node.device.text}`;
  const device = tables.devices.get(key);
  if (device === undefined) {
    const near = closest(node.device.text, tables.devices.keys());
    throw parseError("no_device", node.device.at, node.device.text, near);
  }
  if (device.engine !== null) throw parseError("device_taken", node.device.at, device.name);
  const written = queue === null ? declaring.count(node.count) : queue.many ? queue.count : null;
  if ((written ?? 0) !== (device.many ? device.count : 0)) {
    throw parseError(
      "engine_device_sizes",
      node.device.at,
      name,
      written,
      device.name,
      device.count,
    );
  }
  const at = queue === null ? node.name.at : node.at;
  const family = declaring.family("stage", name, written, at, queue?.name ?? null);
  const registers = new Map<string, { slot: number; at: Span }>();
  const engine = { node, device, family, pools: new Map(), registers };
  device.engine = engine;
  tables.engines.set(name, engine);
  if (queue !== null) queue.stage = family;
  for (const item of node.items) {
    if (item.kind !== "state") continue;
    if (family.many && family.count > 1) throw parseError("state_in_family", item.at, name);
    if (SUPPLIED.has(item.name.text)) {
      throw linkError("supplied_name", item.name.at, item.name.text, "a register");
    }
    if (registers.has(item.name.text)) throw parseError("state_twice", item.at, item.name.text);
    const init = fold(lowerExpr(tables, item.value, declaring.env()));
    if (init === null || !Number.isFinite(init)) {
      throw linkError("state_init", item.at, item.name.text);
    }
    registers.set(item.name.text, { slot: tables.registers.length, at: item.name.at });
    tables.registers.push({ name: item.name.text, stage: family.base, init });
  }
}

/** A pool of its own, or one whose capacity a device or an engine has. */
export function declarePool(
  declaring: Declaring,
  node: PoolNode,
  queue: QueueInfo | null,
): PoolInfo {
  const { tables } = declaring;
  if (queue === null) declaring.declare(node.name, "pool");
  else if (queue.pools.has(node.name.text)) {
    const place = placeText(queue.pools.get(node.name.text)!.node.name.at);
    throw linkError("duplicate", node.name.at, "pool", `${queue.name}.${node.name.text}`, place);
  }
  const name = queue === null ? node.name.text : `${queue.name}.${node.name.text}`;
  const host = node.host === null ? null : findHost(declaring, node, queue);
  const queueCount = queue?.many === true ? queue.count : null;
  const count = host?.count ?? (queue === null ? declaring.count(node.count) : queueCount);
  const family = declaring.family("pool", name, count, node.name.at, queue?.name ?? null);
  const admittedBy = host?.admittedBy ?? null;
  const info: PoolInfo = { node, family, queue, admittedBy, capOf: host?.cap ?? null };
  host?.claim(info);
  tables.poolInfos.push(info);
  queue?.pools.set(node.name.text, info);
  return info;
}

interface Host {
  readonly count: number | null;
  readonly admittedBy: PoolInfo["admittedBy"];
  readonly cap: ExprNode;
  claim(info: PoolInfo): void;
}

/** What `on HOST` or `on ENGINE.DEVICE` means for a pool. */
function findHost(declaring: Declaring, { name, host }: PoolNode, queue: QueueInfo | null): Host {
  const { tables } = declaring;
  const engine = tables.engines.get(host!.name.text);
  if (host!.device !== null) {
    if (engine === undefined) throw parseError("no_host", host!.name.at, host!.name.text);
    if (engine.device.node.name.text !== host!.device.text) {
      const own = engine.device.node.name.text;
      throw parseError("engine_other_device", host!.device.at, engine.family.name, own);
    }
    return onDevice(engine.device, name, engine);
  }
  const key = queue === null ? host!.name.text : `${queue.name}.${host!.name.text}`;
  const device = tables.devices.get(key);
  if (device !== undefined) return onDevice(device, name, null);
  if (engine === undefined || (queue !== null && engine.family.name !== queue.name)) {
    const hosts = [...tables.devices.keys(), ...tables.engines.keys()];
    throw parseError("no_host", host!.name.at, host!.name.text, closest(host!.name.text, hosts));
  }
  const item = engine.node.items.find((each) =>
    each.kind === "capacity" && each.name.text === name.text
  );
  if (item?.kind !== "capacity") {
    throw parseError("no_capacity", name.at, name.text, engine.family.name);
  }
  if (engine.pools.has(name.text)) throw parseError("capacity_twice", name.at, name.text);
  const { family } = engine;
  if (item.count !== null && family.many && family.count > 1) {
    throw parseError("capacity_family_in_family", item.at, name.text, family.name);
  }
  const own = item.count === null ? null : declaring.count(item.count);
  return {
    count: own ?? (family.many ? family.count : null),
    admittedBy: engine,
    cap: item.cap,
    claim: (info) => void engine.pools.set(name.text, [info]),
  };
}

function onDevice(device: DeviceInfo, name: Name, admittedBy: PoolInfo["admittedBy"]): Host {
  const resource = device.node.resources.find((each) => each.name.text === name.text);
  if (resource?.kind !== "capacity") {
    throw parseError("no_capacity", name.at, name.text, device.name);
  }
  if (device.pools.has(name.text)) throw parseError("capacity_twice", name.at, name.text);
  if (device.pools.size > 0) throw parseError("device_pools", name.at, device.name);
  return {
    count: device.many ? device.count : null,
    admittedBy,
    cap: resource.cap,
    claim: (info) => void device.pools.set(name.text, info),
  };
}
