/**
 * What lowering knows: the families of pools and stages, devices, queues, definitions and constants by
 * name, attributes and observations as they appear, and where each piece of IR came from. Declared in
 * a first pass, so that statements may name what stands below them.
 */
import type {
  Block,
  DefNode,
  DeviceNode,
  EngineNode,
  EntryNode,
  ExprNode,
  Name,
  PoolNode,
  QueueNode,
  RefNode,
} from "./ast.ts";
import { closest } from "../base/closest.ts";
import type { Span } from "./diagnostic.ts";
import type { BlockId, Expr, Pool, Register, Share, Side, Stage, Statement } from "./ir.ts";
import { linkError } from "./messages.ts";
import type { Moment } from "./lower_moments.ts";

/** Pools or stages of one name; `many`: declared as a family, so a reference is indexed. */
export interface Family {
  readonly kind: "pool" | "stage";
  readonly name: string;
  readonly base: number;
  readonly count: number;
  readonly many: boolean;
  readonly at: Span;
  /** The queue it belongs to. */
  readonly queue: string | null;
  /** Position of its declaration in the text's order: serving forms look above themselves. */
  readonly order: number;
}

export interface DeviceInfo {
  readonly node: DeviceNode;
  readonly name: string;
  readonly count: number;
  readonly many: boolean;
  readonly queue: QueueInfo | null;
  engine: EngineInfo | null;
  /** Pools that name one of its capacities. */
  readonly pools: Map<string, PoolInfo>;
}

export interface EngineInfo {
  readonly node: EngineNode;
  readonly device: DeviceInfo;
  readonly family: Family;
  /** Pools that name one of its own capacities. */
  readonly pools: Map<string, PoolInfo[]>;
  readonly registers: Map<string, { slot: number; at: Span }>;
}

export interface PoolInfo {
  readonly node: PoolNode;
  readonly family: Family;
  readonly queue: QueueInfo | null;
  /** The engine that admits it. */
  admittedBy: EngineInfo | null;
  capOf: ExprNode | null;
}

export interface QueueInfo {
  readonly node: QueueNode;
  readonly name: string;
  readonly count: number;
  readonly many: boolean;
  readonly order: number;
  /** Names that its entries set, choose or mark. */
  readonly owned: Set<string>;
  readonly marks: Set<string>;
  stage: Family | null;
  nic: Family | null;
  latency: Family | null;
  latencyValue: ExprNode | null;
  readonly pools: Map<string, PoolInfo>;
  readonly entries: EntryNode[];
}

export interface Relation {
  readonly verb: "pull" | "push";
  readonly source: QueueInfo;
  readonly reader: QueueInfo;
  readonly wait: Family | null;
  readonly latency: ExprNode | null;
}

/** What a name stands for inside an expansion. */
export type Local =
  | { readonly kind: "expr"; readonly node: ExprNode; readonly env: Env }
  | { readonly kind: "value"; readonly value: number }
  /** An attribute under another name: a queue's own, or a binding that the body reads. */
  | { readonly kind: "attribute"; readonly name: string };

/** The surroundings of an expression or statement. */
export interface Env {
  readonly moment: Moment;
  readonly side: Side;
  /** Which block this belongs to: it decides what statements may stand here. */
  readonly place: "init" | "turn" | "session" | "server" | "declaration";
  readonly locals: ReadonlyMap<string, Local>;
  /** Constants at this place of the text. */
  readonly constants: ReadonlyMap<string, number>;
  readonly queue: QueueContext | null;
  /** The engine whose item this is. */
  readonly engine: EngineInfo | null;
  /** How many declarations stand above. */
  readonly order: number;
  readonly depth: number;
}

export interface QueueContext {
  readonly queue: QueueInfo;
  /** The index of the member that is called; null: a single queue. */
  readonly index: { readonly node: ExprNode; readonly env: Env } | null;
  readonly from: {
    readonly name: string;
    readonly queue: QueueInfo;
    readonly index: { readonly node: ExprNode; readonly env: Env } | null;
  } | null;
  readonly to: { readonly pool: RefNode; readonly env: Env } | null;
}

export const TERMS_MAX = 4096;
export const EXPANSIONS_MAX = 100_000;
export const FAMILY_MAX = 10_000;
export const NESTING_MAX = 64;

export const BUILT_IN: readonly string[] = [
  ...["cached", "serial", "turn_no", "new", "out", "think", "more", "forced", "computed"],
];

/** Expressions and statements name each other; each finds the other here. */
export interface Lowerers {
  expr(tables: Tables, node: ExprNode, env: Env): Expr;
  into(tables: Tables, block: BlockId, statements: Block, env: Env): void;
}

/** Mutable tables of one lowering. */
export class Tables {
  readonly #lowerers: Lowerers;
  readonly families: Map<string, Family> = new Map();
  readonly pools: Pool[] = [];
  readonly poolInfos: PoolInfo[] = [];
  readonly stages: Stage[] = [];
  readonly stageFamilies: Family[] = [];
  readonly devices: Map<string, DeviceInfo> = new Map();
  readonly engines: Map<string, EngineInfo> = new Map();
  readonly queues: Map<string, QueueInfo> = new Map();
  readonly defs: Map<string, { readonly node: DefNode; readonly order: number }> = new Map();
  readonly relations: Relation[] = [];
  readonly registers: Register[] = [];
  readonly records: Map<string, { readonly fields: readonly string[]; readonly at: Span }> =
    new Map();
  /** Scalar attributes whose name a record may not take, and where they are set. */
  readonly attributeAt: Map<string, Span> = new Map();
  /** Names of the indices of aggregates, which no attribute may have. */
  readonly indexAt: Map<string, Span> = new Map();
  readonly attributes: string[] = [...BUILT_IN];
  readonly attributeSlots: Map<string, number> = new Map(
    BUILT_IN.map((name, slot) => [name, slot]),
  );
  /** First read of an attribute; it must be set somewhere. */
  readonly reads: Map<number, Span> = new Map(BUILT_IN.map((_, slot) => [slot, NOWHERE]));
  readonly sets: Set<number> = new Set(BUILT_IN.map((_, slot) => slot));
  readonly assigned: number[] = BUILT_IN.map((_, slot) => slot);
  /** Attributes declared with `Cost`. */
  readonly declaredCosts: Map<string, Span> = new Map();
  readonly observes: string[] = [];
  readonly observeAt: Map<string, Span> = new Map();
  readonly blocks: Statement[][] = [];
  readonly sides: Side[][] = [];
  readonly spans: WeakMap<object, Span> = new WeakMap();
  /** Spans of the statements, parallel to `blocks`. */
  readonly statementAt: Span[][] = [];
  /** Entries that some statement calls. */
  readonly called: Set<EntryNode> = new Set();
  terms = 0;
  expansions = 0;
  /** The program's `share`, and what wants or declares it. */
  share: Share | null = null;
  shareAt: Span | null = null;
  flows = 0;
  /** Names of attributes hidden from the scheduler. */
  readonly hidden: Map<string, Span> = new Map();
  /** A stage named `tool` that the parser supplies for the workload. */
  impliedTool: Family | null = null;

  constructor(lowerers: Lowerers) {
    this.#lowerers = lowerers;
  }

  lowerExpr(node: ExprNode, env: Env): Expr {
    return this.#lowerers.expr(this, node, env);
  }

  lowerInto(block: BlockId, statements: Block, env: Env): void {
    this.#lowerers.into(this, block, statements, env);
  }

  slotOf(name: string): number {
    let slot = this.attributeSlots.get(name);
    if (slot === undefined) {
      slot = this.attributes.length;
      this.attributes.push(name);
      this.attributeSlots.set(name, slot);
    }
    return slot;
  }

  /** The slot of an attribute that a statement assigns. */
  assign(name: string, at: Span): number {
    const slot = this.slotOf(name);
    if (!this.sets.has(slot)) {
      this.sets.add(slot);
      this.assigned.push(slot);
      this.attributeAt.set(name, at);
    }
    return slot;
  }

  read(name: string, at: Span): number {
    const slot = this.slotOf(name);
    if (!this.reads.has(slot)) this.reads.set(slot, at);
    return slot;
  }

  observe(name: Name): number {
    const found = this.observes.indexOf(name.text);
    if (found >= 0) return found;
    this.observeAt.set(name.text, name.at);
    return this.observes.push(name.text) - 1;
  }

  openBlock(): BlockId {
    this.blocks.push([]);
    this.sides.push([]);
    this.statementAt.push([]);
    return this.blocks.length - 1;
  }

  append(block: BlockId, statement: Statement, side: Side, at: Span): void {
    this.blocks[block]!.push(statement);
    this.sides[block]!.push(side);
    this.statementAt[block]!.push(at);
    if (typeof statement === "object") this.spans.set(statement, at);
  }

  /** Remembers where an expression came from. */
  at(expr: Expr, at: Span): Expr {
    if (!this.spans.has(expr)) this.spans.set(expr, at);
    return expr;
  }

  /** A family of the kind wanted, or an error that suggests what was meant. */
  family(kind: Family["kind"], name: string, at: Span): Family {
    const found = this.families.get(name);
    if (found?.kind === kind) return found;
    const names = [...this.families.values()].filter((each) => each.kind === kind);
    const near = closest(name, names.map((each) => each.name));
    const nearAt = near === undefined ? undefined : this.families.get(near)!.at;
    throw linkError("unknown_family", at, kind, name, near, nearAt);
  }
}

export const NOWHERE: Span = { source: undefined as never, start: 0, end: 0 };
