/**
 * The syntax tree: what a program says, names unresolved, sugar and definitions as written. Parsing
 * what print.ts makes of a tree gives the same tree but for the places (`at`). Parentheses are not
 * kept; they are put back where precedence needs them.
 */
import type { Span } from "./diagnostic.ts";

export interface Name {
  readonly text: string;
  readonly at: Span;
}

/** `base`, `base[index]`, `base.member`, `base[index].member`. */
export interface RefNode {
  readonly base: Name;
  readonly index: ExprNode | null;
  readonly member: Name | null;
  readonly at: Span;
}

export type BinaryText =
  | "||"
  | "&&"
  | "<"
  | "<="
  | ">"
  | ">="
  | "=="
  | "!="
  | "+"
  | "-"
  | "*"
  | "/"
  | "^";

export type ExprNode =
  & { readonly at: Span }
  & (
    | { readonly kind: "number"; readonly value: number }
    /** An index only where an argument stands. */
    | { readonly kind: "ref"; readonly ref: RefNode }
    | { readonly kind: "call"; readonly name: Name; readonly args: readonly ExprNode[] }
    | { readonly kind: "draw"; readonly name: Name; readonly args: readonly ExprNode[] }
    | { readonly kind: "unary"; readonly op: "-" | "!"; readonly operand: ExprNode }
    | {
      readonly kind: "binary";
      readonly op: BinaryText;
      readonly left: ExprNode;
      readonly right: ExprNode;
    }
    | {
      readonly kind: "cond";
      readonly test: ExprNode;
      readonly then: ExprNode;
      readonly otherwise: ExprNode;
    }
    | {
      readonly kind: "over";
      readonly op: "max" | "min" | "sum";
      readonly variable: Name;
      readonly count: ExprNode;
      readonly body: ExprNode;
    }
  );

export interface HoldPart {
  readonly pool: RefNode;
  readonly units: ExprNode;
  readonly reserve: ExprNode | null;
}

export interface Binding {
  readonly name: Name;
  readonly value: ExprNode;
}

export type Block = readonly StmtNode[];

/** Where `tool` and `transfer` run: the role's stage, a member of it, or stages named. */
export interface Placement {
  readonly index: ExprNode | null;
  readonly on: readonly RefNode[];
}

export interface Endpoint {
  readonly pool: RefNode;
  readonly amount: ExprNode;
}

export type StmtNode =
  & { readonly at: Span }
  & (
    | { readonly kind: "turn" | "end" | "join" }
    | {
      readonly kind: "set";
      /** Declared with `Size` or `Cost`, or assigned with `set`. */
      readonly how: "set" | "Size" | "Cost";
      readonly name: Name;
      readonly value: ExprNode;
    }
    | { readonly kind: "record"; readonly name: Name; readonly fields: readonly Binding[] }
    | { readonly kind: "observe"; readonly name: Name; readonly value: ExprNode }
    | {
      readonly kind: "hold";
      readonly parts: readonly HoldPart[];
      readonly reuse: ExprNode | null;
      readonly bindings: readonly Binding[];
      readonly body: Block;
      readonly cache: ExprNode | null;
      readonly lease: Endpoint | null;
    }
    | { readonly kind: "grow" | "load"; readonly pool: RefNode; readonly amount: ExprNode }
    | { readonly kind: "drop" | "release"; readonly pool: RefNode }
    | {
      readonly kind: "run";
      readonly stages: readonly RefNode[];
      readonly mode: "prefill" | "decode" | null;
      readonly work: ExprNode;
      readonly growing: RefNode | null;
    }
    | {
      readonly kind: "branch";
      /** `branch with (p)`: the chance of the first arm. */
      readonly chance: boolean;
      readonly test: ExprNode;
      readonly then: Block;
      readonly otherwise: Block | null;
    }
    | { readonly kind: "while"; readonly test: ExprNode; readonly body: Block }
    | { readonly kind: "loop" | "fork"; readonly body: Block }
    | {
      readonly kind: "choose";
      readonly name: Name;
      readonly count: ExprNode;
      readonly keys: readonly ExprNode[];
    }
    | { readonly kind: "mark"; readonly name: Name }
    | {
      readonly kind: "enter";
      readonly queue: Name;
      readonly index: ExprNode | null;
      readonly verb: Name;
      readonly args: readonly ExprNode[];
      readonly from: RefNode | null;
      readonly to: Endpoint | null;
    }
    | { readonly kind: "expand"; readonly name: Name; readonly args: readonly ExprNode[] }
    | { readonly kind: "tool"; readonly place: Placement; readonly work: ExprNode }
    | {
      readonly kind: "transfer";
      readonly place: Placement;
      readonly work: ExprNode;
      readonly from: RefNode;
      readonly to: Endpoint;
    }
  );

export type StageKindNode =
  | { readonly kind: "fifo"; readonly servers: ExprNode | null }
  | { readonly kind: "ps"; readonly capacity: ExprNode }
  | { readonly kind: "delay" };

export type PoolOption =
  & { readonly at: Span }
  & (
    | { readonly kind: "cap" | "block"; readonly value: ExprNode }
    /** No keys: `lru`. */
    | { readonly kind: "evict"; readonly keys: readonly ExprNode[] | null }
    | { readonly kind: "preempt"; readonly rule: "none" | "lifo" }
    | {
      readonly kind: "preempt";
      readonly rule: "by";
      readonly keys: readonly ExprNode[];
      readonly requeue: "head" | "tail" | null;
    }
    /** No keys: `fifo`. */
    | { readonly kind: "queue"; readonly keys: readonly ExprNode[] | null }
    | { readonly kind: "reserve" }
    | {
      readonly kind: "spill";
      readonly tier: Name;
      readonly stage: Name;
      readonly work: ExprNode;
      readonly when: ExprNode;
    }
  );

export interface PoolNode {
  readonly kind: "pool";
  readonly name: Name;
  readonly count: ExprNode | null;
  /** `on HOST` or `on HOST.DEVICE`. */
  readonly host: { readonly name: Name; readonly device: Name | null } | null;
  readonly options: readonly PoolOption[];
  readonly at: Span;
}

export type Resource =
  | {
    readonly kind: "time";
    readonly name: Name;
    readonly params: readonly Name[];
    readonly body: ExprNode;
  }
  | { readonly kind: "capacity"; readonly name: Name; readonly cap: ExprNode };

export interface DeviceNode {
  readonly kind: "device";
  readonly name: Name;
  readonly count: ExprNode | null;
  readonly resources: readonly Resource[];
  readonly at: Span;
}

export type Order =
  | { readonly kind: "admission" }
  | { readonly kind: "decode_first" }
  | { readonly kind: "by"; readonly keys: readonly ExprNode[] };

export type ScheduleStmt =
  & { readonly at: Span }
  & (
    | {
      readonly kind: "advance";
      readonly only: ExprNode | null;
      readonly order: Order | null;
      readonly atMost: ExprNode | null;
    }
    | {
      readonly kind: "admit";
      readonly only: ExprNode | null;
      readonly test: ExprNode | null;
      readonly atMost: ExprNode | null;
    }
    | { readonly kind: "exclusive"; readonly atMost: ExprNode | null }
    | {
      readonly kind: "branch";
      readonly test: ExprNode;
      readonly then: readonly ScheduleStmt[];
      readonly otherwise: readonly ScheduleStmt[] | null;
    }
    | { readonly kind: "set"; readonly name: Name; readonly value: ExprNode }
  );

export type EngineItem =
  & { readonly at: Span }
  & (
    | { readonly kind: "tokens"; readonly value: ExprNode }
    | {
      readonly kind: "capacity";
      readonly name: Name;
      readonly count: ExprNode | null;
      readonly cap: ExprNode;
    }
    | { readonly kind: "granule"; readonly value: ExprNode }
    | { readonly kind: "state"; readonly name: Name; readonly value: ExprNode }
    | {
      readonly kind: "schedule";
      readonly lets: readonly Binding[];
      readonly body: readonly ScheduleStmt[];
    }
    | { readonly kind: "execute"; readonly value: ExprNode }
  );

export interface EngineNode {
  readonly kind: "engine";
  /** The queue's own name inside a queue. */
  readonly name: Name;
  readonly count: ExprNode | null;
  readonly device: Name;
  readonly items: readonly EngineItem[];
  readonly at: Span;
}

export interface EntryNode {
  readonly kind: "entry";
  readonly verb: Name;
  readonly params: readonly Name[];
  readonly from: Name | null;
  readonly body: Block;
  readonly at: Span;
}

export type QueueItem =
  | PoolNode
  | DeviceNode
  | EngineNode
  | {
    readonly kind: "serve";
    readonly stage: StageKindNode;
    readonly latency: ExprNode | null;
    readonly at: Span;
  }
  | { readonly kind: "nic"; readonly stage: StageKindNode; readonly at: Span }
  | EntryNode;

export interface QueueNode {
  readonly kind: "queue";
  readonly name: Name;
  readonly count: ExprNode | null;
  readonly roles: readonly Name[];
  readonly items: readonly QueueItem[];
  readonly at: Span;
}

export type ArriveNode =
  | { readonly kind: "poisson" | "renewal" | "closed" | "batch"; readonly value: ExprNode }
  | { readonly kind: "none" };

export type WorkloadItem =
  & { readonly at: Span }
  & (
    | { readonly kind: "arrive"; readonly arrive: ArriveNode }
    | { readonly kind: "trace"; readonly path: string; readonly ordered: boolean }
    | { readonly kind: "init" | "turn" | "session"; readonly body: Block }
    | { readonly kind: "hidden"; readonly names: readonly Name[] }
  );

export type Policy = "maxmin" | "bottleneck";

export interface DefNode {
  readonly kind: "def";
  readonly name: Name;
  readonly params: readonly Name[];
  readonly body:
    | { readonly kind: "expression"; readonly value: ExprNode }
    | { readonly kind: "statements"; readonly block: Block };
  readonly at: Span;
}

export interface LetNode {
  readonly kind: "let";
  readonly name: Name;
  readonly value: ExprNode;
  readonly at: Span;
}

export interface UseNode {
  readonly kind: "use";
  readonly path: string;
  readonly at: Span;
}

export type Item =
  | UseNode
  | DefNode
  | LetNode
  | {
    readonly kind: "argument";
    readonly name: Name;
    readonly input: string;
    readonly inputAt: Span;
    readonly value: ExprNode;
    readonly at: Span;
  }
  | PoolNode
  | {
    readonly kind: "stage";
    readonly name: Name;
    readonly count: ExprNode | null;
    readonly stage: StageKindNode;
    readonly at: Span;
  }
  | DeviceNode
  | EngineNode
  | QueueNode
  | {
    readonly kind: "relation";
    readonly left: Name;
    readonly verb: "pull" | "push";
    readonly right: Name;
    readonly latency: ExprNode | null;
    readonly policy: Policy;
    readonly at: Span;
  }
  | { readonly kind: "share"; readonly policy: Policy; readonly at: Span }
  | { readonly kind: "workload"; readonly items: readonly WorkloadItem[]; readonly at: Span }
  | { readonly kind: "server"; readonly body: Block; readonly at: Span }
  | {
    readonly kind: "gauge";
    readonly name: Name;
    readonly value: ExprNode;
    readonly at: Span;
  }
  | {
    readonly kind: "claim";
    readonly name: Name;
    readonly given: ExprNode | null;
    readonly when: "every" | "some" | "end";
    readonly engine: RefNode | null;
    readonly value: ExprNode;
    readonly at: Span;
  };

/** A whole program. `before` stands before `fn main()`. */
export interface ProgramNode {
  readonly before: readonly (UseNode | DefNode | LetNode)[];
  readonly items: readonly Item[];
}
