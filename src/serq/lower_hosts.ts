/** Devices, engines and pools in the first pass: who stands on what, and whose capacity a pool is. */
import type { DeviceNode, EngineNode, ExprNode, Name, PoolNode } from "./ast.ts";
import { closest } from "../base/closest.ts";
import { placeText, type Span } from "./diagnostic.ts";
import { linkError, parseError } from "./messages.ts";
import { fold } from "./lower_constants.ts";
import type { DeviceInfo, PoolInfo, QueueInfo } from "./lower_context.ts";
import type { Declaring } from "./lower_declaring.ts";
import { DISTRIBUTIONS, FUNCTIONS, RESERVED, SUPPLIED } from "./tokens.ts";

/** In `execute` a resource of such a name would hide what the word means there. */
function isWord(name: string): boolean {
  return RESERVED.has(name) || FUNCTIONS.includes(name) || DISTRIBUTIONS.includes(name);
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
    if (isWord(name.text) || declaring.tables.defs.has(name.text)) {
      throw parseError("resource_name", name.at, name.text);
    }
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
  const capacities = new Set<string>();
  for (const item of node.items) {
    if (item.kind === "capacity") {
      const { text, at: place } = item.name;
      if (capacities.has(text)) throw parseError("resource_twice", place, text);
      capacities.add(text);
    }
    if (item.kind !== "state") continue;
    if (family.many && family.count > 1) throw parseError("state_in_family", item.at, name);
    if (SUPPLIED.has(item.name.text)) {
      throw linkError("supplied_name", item.name.at, item.name.text, "a register");
    }
    if (registers.has(item.name.text)) throw parseError("state_twice", item.at, item.name.text);
    const init = fold(tables.lowerExpr(item.value, declaring.env()));
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
  if (device.pools.size > 0) throw parseError("device_pools", name.at, device.name);
  return {
    count: device.many ? device.count : null,
    admittedBy,
    cap: resource.cap,
    claim: (info) => void device.pools.set(name.text, info),
  };
}
