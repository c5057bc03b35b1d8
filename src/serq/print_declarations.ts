/** Pools, devices, engines and queues as text. */
import type {
  DeviceNode,
  EngineItem,
  EngineNode,
  ExprNode,
  Order,
  PoolNode,
  PoolOption,
  QueueItem,
  QueueNode,
  ScheduleStmt,
  StageKindNode,
} from "./ast.ts";
import { printExpr } from "./print_expressions.ts";
import { braces, sized } from "./print_lines.ts";
import { printBlock } from "./print_statements.ts";

type Lines = string[];

const keysText = (keys: readonly ExprNode[]): string => `by (${keys.map(printExpr).join(", ")})`;
const family = (name: string, count: ExprNode | null): string =>
  sized(name, count, () => printExpr(count!));

export function printStageKind(stage: StageKindNode): string {
  if (stage.kind === "delay") return "delay";
  if (stage.kind === "ps") return `ps(${printExpr(stage.capacity)})`;
  return stage.servers === null ? "fifo" : `fifo(${printExpr(stage.servers)})`;
}

export function printPool({ name, count, host, options }: PoolNode): Lines {
  const device = host === null || host.device === null ? "" : `.${host.device.text}`;
  const on = host === null ? "" : ` on ${host.name.text}${device}`;
  const head = `pool ${family(name.text, count)}${on}`;
  return braces(head, options.map((option) => `${printPoolOption(option)};`));
}

function printPoolOption(option: PoolOption): string {
  switch (option.kind) {
    case "cap":
    case "block":
      return `${option.kind} ${printExpr(option.value)}`;
    case "evict":
      return `evict ${option.keys === null ? "lru" : keysText(option.keys)}`;
    case "queue":
      return `queue ${option.keys === null ? "fifo" : keysText(option.keys)}`;
    case "reserve":
      return "reserve held";
    case "spill":
      return `spill ${option.tier.text} via ${option.stage.text} (${printExpr(option.work)}) ` +
        `when (${printExpr(option.when)})`;
    case "preempt": {
      if (option.rule !== "by") return `preempt ${option.rule}`;
      const requeue = option.requeue === null ? "" : ` requeue ${option.requeue}`;
      return `preempt ${keysText(option.keys)}${requeue}`;
    }
  }
}

export function printDevice({ name, count, resources }: DeviceNode): Lines {
  return braces(
    `device ${family(name.text, count)}`,
    resources.map((resource) => {
      const own = resource.name.text;
      if (resource.kind === "capacity") return `${own} cap ${printExpr(resource.cap)};`;
      const params = resource.params.map(({ text }) => text).join(", ");
      return `${own} (${params}) = ${printExpr(resource.body)};`;
    }),
  );
}

export function printEngine({ name, count, device, items }: EngineNode, inQueue: boolean): Lines {
  const own = inQueue ? "" : ` ${family(name.text, count)}`;
  return braces(`engine${own} on ${device.text}`, items.flatMap(printEngineItem));
}

function printEngineItem(item: EngineItem): Lines {
  switch (item.kind) {
    case "tokens":
      return [`tokens cap ${printExpr(item.value)};`];
    case "capacity":
      return [`${family(item.name.text, item.count)} cap ${printExpr(item.cap)};`];
    case "granule":
      return [`granule ${printExpr(item.value)};`];
    case "state":
      return [`state ${item.name.text} = ${printExpr(item.value)};`];
    case "execute":
      return [`execute (${printExpr(item.value)});`];
    case "schedule": {
      const lets = item.lets.map(({ name, value }) => `let ${name.text} = ${printExpr(value)};`);
      return braces("schedule", [...lets, ...item.body.flatMap(printScheduleStmt)]);
    }
  }
}

function printScheduleStmt(statement: ScheduleStmt): Lines {
  switch (statement.kind) {
    case "advance": {
      const order = statement.order === null ? "" : ` ${printOrder(statement.order)}`;
      return [`advance running${only(statement.only)}${order}${atMost(statement.atMost)};`];
    }
    case "admit": {
      const { test } = statement;
      const gate = test === null ? "" : ` while (${printExpr(test)})`;
      return [`admit waiting${only(statement.only)}${gate}${atMost(statement.atMost)};`];
    }
    case "exclusive":
      return [`exclusive prefill${atMost(statement.atMost)};`];
    case "set":
      return [`set ${statement.name.text} = ${printExpr(statement.value)};`];
    case "branch": {
      const head = `branch (${printExpr(statement.test)})`;
      const then = braces(head, statement.then.flatMap(printScheduleStmt));
      if (statement.otherwise === null) return then;
      const [first, ...rest] = braces("else", statement.otherwise.flatMap(printScheduleStmt));
      return [...then.slice(0, -1), `${then.at(-1)} ${first}`, ...rest];
    }
  }
}

function only(node: ExprNode | null): string {
  return node === null ? "" : ` only (${printExpr(node)})`;
}

function atMost(node: ExprNode | null): string {
  return node === null ? "" : ` each at most (${printExpr(node)})`;
}

function printOrder(order: Order): string {
  if (order.kind === "admission") return "admission";
  return order.kind === "decode_first" ? "decode first" : keysText(order.keys);
}

export function printQueue({ name, count, roles, items }: QueueNode): Lines {
  const played = roles.length === 0 ? "" : ` : ${roles.map(({ text }) => text).join(", ")}`;
  return braces(`queue ${family(name.text, count)}${played}`, items.flatMap(printQueueItem));
}

function printQueueItem(item: QueueItem): Lines {
  switch (item.kind) {
    case "pool":
      return printPool(item);
    case "device":
      return printDevice(item);
    case "engine":
      return printEngine(item, true);
    case "nic":
      return [`nic ${printStageKind(item.stage)};`];
    case "serve": {
      const latency = item.latency === null ? "" : ` latency ${printExpr(item.latency)}`;
      return [`serve ${printStageKind(item.stage)}${latency};`];
    }
    case "entry": {
      const params = item.params.length === 0
        ? ""
        : ` (${item.params.map(({ text }) => text).join(", ")})`;
      const from = item.from === null ? "" : ` from ${item.from.text}`;
      return printBlock(`${item.verb.text}${params}${from}`, item.body);
    }
  }
}
