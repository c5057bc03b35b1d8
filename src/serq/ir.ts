/**
 * The intermediate representation of a serQ program: what the front end lowers to, what `serq ir`
 * prints and what the interpreter runs. It is closed (every node is listed here) and versioned.
 *
 * It is plain JSON in the shape that the original's version 14 reads and writes, so a program can be
 * handed to the original and back: a node is an object with one key, its kind (`{"Binary": ["Add",
 * a, b]}`), or a bare string where it carries nothing (`"End"`). Names are resolved to indices,
 * constants folded, families unrolled into members, `def`s, queues, calls, relations, `tool` and
 * `transfer` expanded. What must hold:
 *
 * - Blocks form a tree: `init`, `turn` and `session` are roots, every other block is the body of
 *   exactly one statement. `sides` runs parallel to `blocks`, statement by statement.
 * - `session` is the workload's session with the server's statements spliced in after every `Turn`,
 *   and ends with `End`.
 * - JSON has no infinity: a `Real` writes it as the string "inf" or "-inf".
 * - A `delay` stage is `{Ps: {Ctx: "N"}}`: every job at rate 1.
 * - Absent optional fields mean null; `reserve_held` absent means false.
 */

export const IR_VERSION = 14;

export type Real = number | "inf" | "-inf";

export function realValue(real: Real): number {
  if (real === "inf") return Infinity;
  if (real === "-inf") return -Infinity;
  return real;
}

/** Absent and null mean the same in an IR that was read from JSON. */
export function isPresent<T>(value: T | null | undefined): value is T {
  return value !== null && value !== undefined;
}

export function realOf(value: number): Real {
  if (value === Infinity) return "inf";
  if (value === -Infinity) return "-inf";
  return value;
}

/** A pool or stage: the member `base + index` of a family of `count`; index null: the single one. */
export interface Ref {
  base: number;
  count: number;
  index: Expr | null;
}

export type UnaryOp = "Neg" | "Not";

/** `Pow` is `^` and `pow(x, y)`. Comparisons, `And` and `Or` give 1 or 0; the last two short-circuit. */
export type BinaryOp =
  | "Add"
  | "Sub"
  | "Mul"
  | "Div"
  | "Pow"
  | "Lt"
  | "Le"
  | "Gt"
  | "Ge"
  | "Eq"
  | "Ne"
  | "And"
  | "Or";

/**
 * Context variables by their kernel names. Source spelling on the right where it differs:
 * Queued `waiting` (of an evicted entry), N `present`, Ntok `tokens`/`batch.tokens`, Ndec `decoders`
 * (`running.decoding`, `batch.decoding`), Npre `prefilled`, Nres `residents`/`running.count`, Kvb
 * `kv_decode`, Kvp `kv_prefill`, Attn `attention`. Admitted is `waiting.admitted` and Preempted
 * `running.preempted` of the iteration so far; Demand, Served and Arrived belong to claims.
 */
export type ContextVariable =
  | "Now"
  | "Waited"
  | "Size"
  | "Age"
  | "Last"
  | "Queued"
  | "N"
  | "Ntok"
  | "Ndec"
  | "Npre"
  | "Nres"
  | "Kvb"
  | "Kvp"
  | "Attn"
  | "Decoding"
  | "Admission"
  | "Remaining"
  | "Position"
  | "Admitted"
  | "Preempted"
  | "Demand"
  | "Served"
  | "Arrived";

/** Stage readers take a Stage, pool readers a Pool, `Price` a Stage and two numbers. */
export type FunctionName =
  | "Min"
  | "Max"
  | "Abs"
  | "Floor"
  | "Ceil"
  | "Sqrt"
  | "Exp"
  | "Ln"
  | "Queue"
  | "Busy"
  | "Work"
  | "Used"
  | "Free"
  | "CachedIn"
  | "Holders"
  | "Queued"
  | "Price"
  | "BudgetLeft"
  | "EstLambda"
  | "EstRho"
  | "EstWait";

export type Distribution = "Exp" | "Det" | "Uniform" | "Erlang" | "H2" | "Bernoulli";

export type Aggregate = "Total" | "Count" | "Largest" | "Smallest" | "PrefixTotal";

export type Argument = { Expr: Expr } | { Pool: Ref } | { Stage: Ref };

/** The resource family a cost belongs to; `Joint` is sorted and without duplicates. */
export type CostTarget =
  | { Pool: { base: number; count: number } }
  | { Stage: { base: number; count: number } }
  | { Joint: CostTarget[] };

export type ValueType = "Size" | "Value" | { Cost: CostTarget };

export type Expr =
  /** A conversion; the value and the moment of what it converts. */
  | { Cost: [CostTarget, Expr] }
  | { Num: Real }
  /** A session attribute by slot. */
  | { Attr: number }
  | { Ctx: ContextVariable }
  /** A draw. */
  | { Sample: [Distribution, Expr[]] }
  | { Call: [FunctionName, Argument[]] }
  | { Unary: [UnaryOp, Expr] }
  | { Binary: [BinaryOp, Expr, Expr] }
  /** One arm only is evaluated. */
  | { Cond: [Expr, Expr, Expr] }
  /** Over every value of an observation (its index): claims at the end only. */
  | { Agg: [Aggregate, number] }
  /** An engine's register, by index into `registers`. */
  | { Reg: number };

export type BlockId = number;

export type Side = "Workload" | "Server";

export type RunMode = "Plain" | "Prefill" | "Decode";

export type Share = "MaxMin" | "Bottleneck";

export interface HoldStatement {
  /** For each pool: which, the units, and the `reserve` (null: none). */
  pools: [Ref, Expr, Expr | null][];
  reuse: Expr | null;
  body: BlockId;
  cache: Expr | null;
  /** One of `pools`, and for how many seconds at most it outlives the scope. */
  lease: [Ref, Expr] | null;
}

export interface RunStatement {
  stage: Ref;
  mode: RunMode;
  work: Expr;
  growing: Ref | null;
  /** Further stages the same job holds: a flow over `stage` and these. */
  also?: Ref[];
  /** The program's `share`; present exactly when `also` is. */
  share?: Share;
}

export interface ChooseStatement {
  /** Attribute slot; bound to each candidate while its keys are read. */
  var: number;
  count: Expr;
  key: Expr[];
}

export type Statement =
  | "Turn"
  | "End"
  | "Join"
  | { Set: [number, Expr] }
  /** Index into `observes`. */
  | { Observe: [number, Expr] }
  | { Hold: HoldStatement }
  | { Grow: [Ref, Expr] }
  | { Load: [Ref, Expr] }
  | { Drop: Ref }
  | { Release: Ref }
  | { Run: RunStatement }
  | { Branch: [Expr, BlockId, BlockId] }
  | { Loop: BlockId }
  | { While: [Expr, BlockId] }
  | { Choose: ChooseStatement }
  | { Fork: BlockId };

export interface Spill {
  /** The tier, a pool. */
  to: number;
  /** The stage that carries it. */
  via: number;
  work: Expr;
  when: Expr;
}

export type Evict = "Lru" | { By: Expr[] };

/** `lifo` is `{By: {keys: [-admission], tail: false}}`. `tail`: requeued as a newcomer. */
export type Preempt = "None" | { By: { keys: Expr[]; tail?: boolean } };

export interface Pool {
  name: string;
  /** The member's index in a family, else null. */
  index?: number | null;
  cap: Real;
  block?: number | null;
  evict: Evict;
  preempt: Preempt;
  /** Keys of `queue by`; null: first in, first out. */
  queue?: Expr[] | null;
  spill?: Spill | null;
  /** The engine (a stage) that admits this pool's queue in its iterations; null: when it fits. */
  admit_via?: number | null;
  reserve_held?: boolean;
}

/** A statement of a schedule with a body. Each runs once where it stands. */
export type IterationStatement =
  /** `advance running`; `by` null: the engine's own order. */
  | { Serve: { only?: Expr | null; by?: Expr[] | null } }
  /** `admit waiting`; `gate` is the `while`. */
  | { Admit: { only?: Expr | null; gate?: Expr | null } }
  | { Branch: [Expr, IterationStatement[], IterationStatement[]] }
  /** A register := an expression. */
  | { Set: [number, Expr] };

export interface Step {
  /** `tokens cap`. */
  budget: Expr;
  /** `execute`, with the device's time resources expanded. */
  cost: Expr;
  /** `each at most`; `{Num: 0}` is no cap. */
  chunk: Expr;
  granule?: Expr | null;
  /** `decode first` is `{By: [decoding ? 0 : 1]}`; `{By: []}` is admission order. */
  serve: { By: Expr[] } | "ExclusivePrefill";
  /** The pool on the engine's device. */
  memory: number | null;
  /** null: the default procedure (serve in order, then admit while nothing was preempted). */
  iteration?: IterationStatement[] | null;
}

export type StageKind = { Fifo: number } | { Ps: Expr } | { Step: Step };

export interface Stage {
  name: string;
  index?: number | null;
  kind: StageKind;
}

export type Arrival =
  | "None"
  | { Poisson: number }
  | { Renewal: Expr }
  | { Closed: number }
  | { Batch: number };

export interface Gauge {
  name: string;
  expr: Expr;
}

export type ClaimKind = { EveryIteration: number } | { SomeIteration: number } | "AtEnd";

export interface Claim {
  name: string;
  given?: Expr | null;
  kind: ClaimKind;
  expr: Expr;
}

/** An engine's `state NAME = init;`. `stage` is the engine. */
export interface Register {
  name: string;
  stage: number;
  init: Real;
}

export interface Program {
  version: number;
  /** Names of the session attributes; the nine built-ins (`slot_*`) among them. */
  attrs: string[];
  attr_types: ValueType[];
  /** Which side each statement of each block speaks for; parallel to `blocks`. */
  sides: Side[][];
  /** Names of the observations, in the order of the report. */
  observes: string[];
  pools: Pool[];
  stages: Stage[];
  arrival: Arrival;
  /** Path of the trace file as written, else null. */
  trace?: string | null;
  trace_ordered: boolean;
  init: BlockId;
  turn: BlockId;
  session: BlockId;
  blocks: Statement[][];
  horizon: number;
  warmup: number;
  /** Unsigned 64 bit; above 2^53 a decimal string cannot be read back, so keep it below. */
  seed: number;
  /** `--arrivals`: so many open arrivals, then drain. */
  arrivals?: number | null;
  slot_cached: number;
  slot_serial: number;
  slot_turn: number;
  slot_new: number;
  slot_out: number;
  slot_think: number;
  slot_more: number;
  slot_forced: number;
  slot_computed: number;
  /** Slots the scheduler may not read. */
  hidden: number[];
  gauges?: Gauge[];
  claims?: Claim[];
  registers?: Register[];
}

/** One turn of a recorded session: the columns of a trace file. */
export interface TraceTurn {
  new: number;
  out: number;
  think: number;
  forced: number;
}
