/**
 * What a run remembers of sessions, pools, stages, engines and readers. Data only; the rules stand in
 * the other interpreter files, and the `Machine` that holds it all in interpreter_machine.ts.
 */
import type { Rng } from "./chacha12.ts";
import type { EventHeap } from "./heap.ts";
import type { Linked, LinkedList } from "./linked_list.ts";
import type { HoldOp, Op } from "./interpreter_compile.ts";
import type { Step } from "./ir.ts";
import type { Estimator, Histogram, Samples, TimeAverage, Welford } from "./statistics.ts";

/** Amounts closer than this are equal: units, tokens, work. */
export const EPSILON = 1e-9;

/** An expression, compiled: reads the machine's current session and context. */
export type Eval = () => number;

/** A reference, compiled: the member's index among all pools or stages. */
export type Locate = () => number;

export type Status = "ready" | "queued" | "running" | "growing" | "joining" | "ended";

export interface Frame {
  readonly ops: readonly Op[];
  at: number;
  /** What to do at the end of `ops`: leave, start over, test again, or close the hold. */
  readonly loop: "once" | "forever" | Eval;
  readonly scope: Scope | null;
}

/** One pool of a hold. */
export interface Allocation {
  readonly pool: number;
  amount: number;
  /** Tokens whose state is computed, from the start. */
  position: number;
  /** Tested at admission; nothing once the allocation is leased. */
  reserved: number;
  /** False once given back or turned into a lease. */
  live: boolean;
  session: Session;
  readonly scope: Scope;
}

/** A hold that was admitted: from its header to the end of its body. */
export interface Scope {
  readonly op: HoldOp;
  readonly allocations: Allocation[];
  /** Index of the frame that holds the hold statement. */
  readonly depth: number;
  /** Whether a `growing` run or a `load` has moved a position. */
  moved: boolean;
  readonly session: Session;
}

export interface Lease {
  readonly allocation: Allocation;
  /** Who may end it: a leg's leases pass to its session. */
  session: Session;
  /** The attributes that its `cache` clause reads: the leg's that left it, else the session's. */
  readonly attributes: Attributes;
  readonly expires: boolean;
  over: boolean;
}

/** Shared by all sessions without leases; nothing is ever put into it. */
export const NO_LEASES: Lease[] = [];

export interface Waiter {
  readonly session: Session;
  readonly op: HoldOp;
  readonly pools: readonly number[];
  readonly resumed: boolean;
  readonly joined: number;
}

export interface Grower {
  readonly session: Session;
  readonly allocation: Allocation;
  readonly amount: number;
  /** The engine job that stalled; null for a `grow` statement. */
  readonly job: Job | null;
}

/** Attributes by their slots: a list of doubles, which engines make faster than a typed array. */
export type Attributes = number[];

export interface Session extends Linked<Session> {
  readonly id: number;
  readonly serial: number;
  readonly attributes: Attributes;
  status: Status;
  readonly frames: Frame[];
  readonly scopes: Scope[];
  /** `NO_LEASES` before the first. */
  leases: Lease[];
  rng: Rng | null;
  turnRng: Rng | null;
  /** The recorded session that this one replays; -1: none. */
  replay: number;
  /** The session that forked this leg. */
  readonly parent: Session | null;
  readonly leg: number;
  legsStarted: number;
  liveLegs: number;
  waiter: Waiter | null;
  grower: Grower | null;
  job: Job | null;
  /** Latest admission number, kept after its hold has ended; Infinity before the first. */
  admission: number;
  /** Position at the last preemption, by pool. */
  preempted: Map<number, number> | null;
  stuck: boolean;
  /** A hold of it, or of a leg, was larger than its pool: its legs may run on. */
  refused: boolean;
  readyInstant: number;
  readyTimes: number;
  token: Token | null;
  /** The turn that the server is at; of a session, not of its legs. */
  client: ClientTurn | null;
}

/** What the client of a turn has seen so far. */
export interface ClientTurn {
  readonly start: number;
  /** When the first token came; NaN before one did. A further prefill moves it until it is `told`. */
  first: number;
  told: boolean;
  /** Tokens after the first. */
  after: number;
}

/** The latest token of a session's turn. */
export interface Token {
  readonly turn: number;
  readonly time: number;
  readonly stage: number;
  /** The turn has decoded: the end of a prefill, anywhere, is its next token. */
  readonly follows: boolean;
  /** The session was preempted since: the end of a prefill on `stage` is its next token. */
  preempted: boolean;
}

export interface CacheEntry {
  key: number;
  size: number;
  last: number;
  order: number;
  session: Session | null;
  attributes: Attributes;
}

export interface PoolState {
  readonly index: number;
  readonly name: string;
  readonly cap: number;
  readonly block: number;
  readonly evictKeys: readonly Eval[] | null;
  readonly victimKeys: readonly Eval[] | null;
  readonly requeueTail: boolean;
  readonly queueKeys: readonly Eval[] | null;
  readonly spill: { to: number; via: number; work: Eval; when: Eval } | null;
  readonly admitVia: number;
  readonly reserveHeld: boolean;
  /** The engines whose memory this pool is. */
  readonly memoryOf: readonly number[];
  used: number;
  cached: number;
  /** Kept in order of release: the first is the least recently used. */
  entries: Map<number, CacheEntry>;
  readonly allocations: Set<Allocation>;
  /** How many holds and leases each session has here. */
  readonly holders: Map<Session, number>;
  /** The same, a place for each, in the order of admission. */
  readonly entered: Session[];
  readonly queue: Waiter[];
  readonly growers: Grower[];
  readonly usedAverage: TimeAverage;
  readonly cachedAverage: TimeAverage;
  readonly queueAverage: TimeAverage;
  readonly holdersAverage: TimeAverage;
  waits: Welford;
  admissions: number;
  evictedEntries: number;
  evictedUnits: number;
  preemptions: number;
  spills: number;
  rejected: number;
  stuck: number;
}

/** Work of a session on a stage; of a fifo or delay stage, its own event. */
export interface Job extends Linked<Job> {
  readonly kind: "finish";
  readonly number: number;
  readonly session: Session | null;
  readonly stage: number;
  readonly decode: boolean;
  readonly growing: number;
  remaining: number;
  readonly arrival: number;
  /** When service began; NaN while it waits. */
  start: number;
  /** Virtual time at which a processor-sharing job is done, or end of a fifo or delay job. */
  tag: number;
  /** Place among the engine's residents. */
  admission: number;
  gone: boolean;
  /** Stages of a flow. */
  readonly flow: readonly number[] | null;
  rate: number;
}

export interface Iteration {
  readonly stage: number;
  readonly jobs: Job[];
  readonly tokens: number[];
  budget: number;
  left: number;
  chunk: number;
  scheduled: number;
  prefilled: number;
  admitted: number;
  preempted: number;
  /** The granule sent a prefill away: nobody is admitted any more. */
  refused: boolean;
  start: number;
}

export interface EngineState {
  readonly step: Step;
  readonly budget: Eval;
  readonly chunk: Eval;
  readonly cost: Eval;
  readonly granule: Eval | null;
  readonly order: readonly Eval[] | null;
  readonly exclusive: boolean;
  readonly body: readonly BodyOp[] | null;
  readonly memory: number;
  /** Pools whose queues it serves, in the order of declaration. */
  readonly admits: readonly number[];
  readonly residents: Job[];
  running: Iteration | null;
  iterations: number;
  served: number;
  /** The last attempt scheduled nothing though somebody was there. */
  idleWithWork: boolean;
  readonly prefillOnly: TimeAverage;
  readonly decodeOnly: TimeAverage;
  readonly mixed: TimeAverage;
  readonly decodes: TimeAverage;
  decodeBatch: Welford;
  decodeStep: Welford;
  gaps: Histogram;
}

export type BodyOp =
  | { readonly kind: "serve"; readonly only: Eval | null; readonly by: readonly Eval[] | null }
  | { readonly kind: "admit"; readonly only: Eval | null; readonly gate: Eval | null }
  | {
    readonly kind: "branch";
    readonly guard: Eval;
    readonly yes: readonly BodyOp[];
    readonly no: readonly BodyOp[];
  }
  | { readonly kind: "set"; readonly register: number; readonly value: Eval };

export interface StageState {
  readonly index: number;
  readonly name: string;
  readonly kind: "fifo" | "ps" | "delay" | "flow" | "engine";
  readonly servers: number;
  readonly capacity: Eval;
  readonly engine: EngineState | null;
  /** Jobs in service (fifo), or present (ps, delay). */
  readonly jobs: LinkedList<Job>;
  /** Jobs of a flow stage, which may be on others too. */
  readonly flows: Set<Job>;
  readonly waiting: Job[];
  present: number;
  /** Processor sharing: virtual time, when it was read, its rate, whether it must be planned anew. */
  virtual: number;
  read: number;
  rate: number;
  changed: boolean;
  plan: number;
  tags: EventHeap<Job>;
  readonly number: TimeAverage;
  readonly busy: TimeAverage;
  waits: Welford;
  services: Welford;
  completed: number;
  readonly estimator: Estimator;
}

export type Event =
  | { readonly kind: "arrive" }
  | { readonly kind: "warm" }
  | Job
  | { readonly kind: "share"; readonly stage: StageState; readonly plan: number }
  | { readonly kind: "flow"; readonly plan: number }
  | { readonly kind: "iteration"; readonly stage: StageState; readonly iteration: Iteration }
  | { readonly kind: "lease"; readonly lease: Lease };

export interface Observation {
  readonly name: string;
  readonly values: Samples;
  readonly all: Samples | null;
  readonly moments: Welford;
  /** Time, session and turn of each value; kept only when asked for. */
  readonly times: Samples | null;
  readonly sessions: Samples | null;
  readonly turns: Samples | null;
}

export interface GaugeState {
  readonly name: string;
  readonly eval: Eval;
  readonly times: number[];
  readonly values: number[];
}

export interface ClaimState {
  readonly name: string;
  readonly kind: "every" | "some" | "end";
  readonly stage: number;
  readonly given: Eval | null;
  readonly eval: Eval;
  checked: number;
  failures: number;
  /** First failure of an `every`, first witness of a `some`. */
  first: number | null;
  outOfScope: boolean;
  result: boolean | null;
}

/** One line of the iteration trace. */
export interface IterationRecord {
  readonly stage: string;
  readonly start: number;
  readonly end: number;
  readonly batch: readonly { session: number; decode: boolean; tokens: number }[];
}
