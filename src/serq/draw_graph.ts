/**
 * What a drawing of a deployment shows: cards for the workload, queues, engines, stages and pools, and
 * arrows in the order in which a request goes from one to the next.
 */
import type { BlockId, Expr, Pool, Ref, Stage, Statement } from "./ir.ts";
import type { Lowered } from "./lower.ts";
import { fold } from "./lower_constants.ts";
import type { Family, QueueInfo } from "./lower_context.ts";
import { showNumber } from "./show.ts";

/** A line in a card: a stage or a pool with what is said about it. */
export interface Part {
  readonly kind: "stage" | "engine" | "pool";
  readonly name: string;
  readonly text: string;
}

export interface Card {
  readonly id: string;
  readonly title: string;
  readonly subtitle: string;
  readonly parts: readonly Part[];
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
}

export interface Graph {
  readonly cards: readonly Card[];
  readonly arrows: readonly Arrow[];
}

const WORKLOAD = "workload";

export function graphOf(lowered: Lowered): Graph {
  const owner = ownersOf(lowered);
  const cards = cardsOf(lowered, owner);
  const arrows = arrowsOf(lowered, owner);
  return { cards, arrows };
}

/** The card of each stage and pool: the queue's or the engine's, else its own. Keys: `stage 0`. */
function ownersOf({ tables }: Lowered): Map<string, string> {
  const owner = new Map<string, string>();
  const own = ({ kind, base, count }: Family, card: string): void => {
    for (let k = 0; k < count; k += 1) owner.set(`${kind} ${base + k}`, card);
  };
  for (const family of tables.stageFamilies) own(family, family.queue ?? family.name);
  for (const { family, queue, admittedBy } of tables.poolInfos) {
    const device = [...tables.devices.values()].find(({ pools }) =>
      [...pools.values()].some((each) => each.family === family)
    );
    own(
      family,
      queue?.name ?? admittedBy?.family.name ?? device?.engine?.family.name ?? family.name,
    );
  }
  return owner;
}

function cardsOf({ program, tables }: Lowered, owner: ReadonlyMap<string, string>): Card[] {
  const cards = new Map<string, { title: string; subtitle: string; parts: Part[] }>();
  const card = (id: string, title: string, subtitle: string) => {
    if (!cards.has(id)) cards.set(id, { title, subtitle, parts: [] });
    return cards.get(id)!;
  };
  card(WORKLOAD, "workload", arrivalText(program.arrival));
  for (const family of tables.stageFamilies) {
    const id = owner.get(`stage ${family.base}`)!;
    const queue = family.queue === null ? undefined : tables.queues.get(family.queue);
    const stage = program.stages[family.base]!;
    const engine = tables.engines.get(family.name);
    const title = queue === undefined ? sized(family) : sized(queue);
    const subtitle = queue !== undefined
      ? queueText(queue)
      : engine !== undefined
      ? `engine on ${engine.device.name}`
      : "stage";
    const kind = engine === undefined ? "stage" : "engine";
    card(id, title, subtitle).parts.push({ kind, name: family.name, text: stageText(stage) });
  }
  for (const { family } of tables.poolInfos) {
    const id = owner.get(`pool ${family.base}`)!;
    const pool = program.pools[family.base]!;
    card(id, sized(family), "pool").parts.push({
      kind: "pool",
      name: family.name,
      text: poolText(pool),
    });
  }
  return [...cards].map(([id, rest]) => ({ id, ...rest }));
}

function sized({ name, count, many }: { name: string; count: number; many: boolean }): string {
  return many ? `${name} × ${count}` : name;
}

function queueText({ node }: QueueInfo): string {
  const roles = node.roles.map(({ text }) => text).join(", ");
  return roles === "" ? "queue" : `queue: ${roles}`;
}

function arrivalText(arrival: Lowered["program"]["arrival"]): string {
  if (arrival === "None") return "no arrivals";
  if ("Poisson" in arrival) return `poisson, ${numberText(arrival.Poisson)} a time`;
  if ("Renewal" in arrival) return `a gap of ${exprText(arrival.Renewal)}`;
  if ("Closed" in arrival) return `closed, ${arrival.Closed} session(s)`;
  return `a batch of ${arrival.Batch}`;
}

function exprText(expr: Expr): string {
  const value = fold(expr);
  if (value !== null) return numberText(value);
  if ("Sample" in expr) {
    return `${expr.Sample[0].toLowerCase()}(${expr.Sample[1].map(exprText).join(", ")})`;
  }
  return "computed";
}

/** Thousands are set apart. */
function numberText(value: number): string {
  const [whole = "", rest] = showNumber(value).split(".");
  const spaced = whole.replaceAll(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined ? spaced : `${spaced}.${rest}`;
}

function stageText({ kind }: Stage): string {
  if ("Fifo" in kind) return kind.Fifo === 1 ? "fifo" : `fifo, ${kind.Fifo} servers`;
  if ("Ps" in kind) {
    if ("Ctx" in kind.Ps && kind.Ps.Ctx === "N") return "delay";
    return `ps, ${exprText(kind.Ps)}`;
  }
  const { budget, serve, iteration, cost } = kind.Step;
  const order = iteration ? "body" : serve === "ExclusivePrefill" ? "exclusive prefill" : "";
  const tokens = fold(budget) === Infinity ? "any number of" : exprText(budget);
  const parts = [`${tokens} tokens`, `execute ${exprText(cost)}`, order];
  return parts.filter((part) => part !== "").join(" · ");
}

function poolText({ cap, block, preempt, evict, queue, spill }: Pool): string {
  const parts = [
    cap === "inf" ? "no cap" : `cap ${numberText(Number(cap))}`,
    block ? `blocks of ${block}` : "",
    preempt === "None" ? "" : "preempts",
    evict === "Lru" ? "" : "evicts by key",
    queue ? "by key" : "",
    spill ? "spills" : "",
  ];
  return parts.filter((part) => part !== "").join(" · ");
}

/** Where a request may be: the cards it was at last, each with what it did since. */
type Front = ReadonlySet<string>;

function arrowsOf(lowered: Lowered, owner: ReadonlyMap<string, string>): Arrow[] {
  const { program } = lowered;
  const arrows = new Map<string, Set<string>>();
  const visit = (front: Front, key: string, label: string): Front => {
    const card = owner.get(key);
    if (card === undefined) return front;
    for (const from of front) {
      if (from === card) continue;
      const id = `${from}\n${card}`;
      arrows.set(id, (arrows.get(id) ?? new Set()).add(label));
    }
    return new Set([card]);
  };
  const at = (ref: Ref, kind: "stage" | "pool"): string => `${kind} ${ref.base}`;
  const block = (id: BlockId, front: Front): Front =>
    program.blocks[id]!.reduce((before, statement) => step(statement, before), front);
  const step = (statement: Statement, front: Front): Front => {
    if (typeof statement === "string") return front;
    if ("Run" in statement) {
      const { stage, also, mode } = statement.Run;
      const label = mode === "Plain" ? "run" : mode.toLowerCase();
      return [stage, ...(also ?? [])].reduce(
        (at_, ref) => visit(at_, at(ref, "stage"), label),
        front,
      );
    }
    if ("Hold" in statement) {
      const inside = statement.Hold.pools.reduce(
        (before, [ref]) => visit(before, at(ref, "pool"), "hold"),
        front,
      );
      return block(statement.Hold.body, inside);
    }
    if ("Load" in statement) return visit(front, at(statement.Load[0], "pool"), "load");
    if ("Branch" in statement) {
      const [, then, otherwise] = statement.Branch;
      return new Set([...block(then, front), ...block(otherwise, front)]);
    }
    if ("While" in statement) return new Set([...front, ...block(statement.While[1], front)]);
    if ("Loop" in statement) return block(statement.Loop, block(statement.Loop, front));
    if ("Fork" in statement) block(statement.Fork, front);
    return front;
  };
  block(program.session, new Set([WORKLOAD]));
  return [...arrows].map(([id, labels]) => {
    const [from, to] = id.split("\n") as [string, string];
    return { from, to, label: [...labels].join(", ") };
  });
}
