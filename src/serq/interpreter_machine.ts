/**
 * The one `Machine` that every part of the interpreter reads and changes: the clock, the heap, the
 * ready list, what is counted, and which stream the expression being read draws from.
 */
import { mix64, Rng, type Word64, word64, xor64 } from "./chacha12.ts";
import { EventHeap } from "./heap.ts";
import { LinkedList } from "./linked_list.ts";
import type {
  Attributes,
  ClaimState,
  Event,
  GaugeState,
  Iteration,
  IterationRecord,
  Job,
  Observation,
  PoolState,
  Session,
  StageState,
} from "./interpreter_state.ts";
import type { Program } from "./ir.ts";
import { RunError, runErrors } from "./run_errors.ts";
import { Samples, TimeAverage, Welford } from "./statistics.ts";

/** Context variables by their place in `Machine.context`. */
export const CONTEXT = {
  Waited: 0,
  Size: 1,
  Age: 2,
  Last: 3,
  Queued: 4,
  N: 5,
  Ntok: 6,
  Ndec: 7,
  Npre: 8,
  Nres: 9,
  Kvb: 10,
  Kvp: 11,
  Attn: 12,
  Decoding: 13,
  Admission: 14,
  Remaining: 15,
  Position: 16,
  Admitted: 17,
  Preempted: 18,
  Demand: 19,
  Served: 20,
  Arrived: 21,
} as const;

const MOST_READY = 1000;

export class Machine {
  readonly program: Program;
  readonly seed: Word64;
  now = 0;
  warm: boolean;
  readonly heap = new EventHeap<Event>();
  readonly pools: PoolState[] = [];
  readonly stages: StageState[] = [];
  readonly observations: Observation[] = [];
  /** What the client of each turn saw. */
  readonly client: Readonly<Record<"ttft" | "tpot" | "response", Observation>>;
  readonly gauges: GaugeState[] = [];
  readonly claims: ClaimState[] = [];
  readonly registers: number[] = [];
  /** Sessions that can go on, from `readyAt` to `readyEnd`; what stands behind is of no account. */
  readonly ready: Session[] = [];
  readyAt = 0;
  readyEnd = 0;
  readonly live = new LinkedList<Session>();
  /** Legs that have not ended. */
  readonly legs = new Set<Session>();
  readonly liveAverage = new TimeAverage();
  readonly iterationTrace: IterationRecord[] | null;
  /** Whose expressions are being read, and from which stream they draw. */
  session: Session | null = null;
  attributes: Attributes;
  /** What a session begins with. */
  readonly blank: Attributes;
  stream: "session" | "turn" | "machine" | "eviction" | "arrivals" = "session";
  readonly context = new Float64Array(22);
  /** The iteration being formed. */
  forming: Iteration | null = null;
  flowsChanged = false;
  flowPlan = 0;
  flowsRead = 0;
  readonly flows = new Set<Job>();
  nextJob = 0;
  /** Jobs from this number on joined since the last admission. */
  newJobsFrom = 0;
  nextAdmission = 0;
  nextRelease = 0;
  nextSession = 0;
  nextDeadKey = -1;
  arrivals = 0;
  events = 0;
  ended = 0;
  /** Sessions of a closed population that ended and were followed by another, at one instant. */
  replaced = 0;
  replacedAt = 0;
  turns = 0;
  iterations = 0;
  /** Ends a session whose hold was refused; set by the interpreter. */
  refuse: ((session: Session) => void) | null = null;
  /** Runs ready sessions until none is; set by the interpreter. */
  runReady: (() => void) | null = null;
  private readonly spareRngs: Rng[] = [];
  private readonly streams = new Map<string, Rng>();

  constructor(program: Program, options: { trace: boolean; dump: boolean }) {
    this.program = program;
    this.seed = word64(program.seed);
    this.warm = program.warmup <= 0;
    // Made of a fraction, so that engines keep the list, and every copy of it, as doubles.
    this.blank = Array.from(program.attrs, () => 0.5).fill(0);
    this.attributes = this.blank.slice();
    this.iterationTrace = options.trace ? [] : null;
    const seen = (name: string) => observation(name, { dump: options.dump, all: false });
    this.client = { ttft: seen("ttft"), tpot: seen("tpot"), response: seen("response") };
  }

  /** The stream that the expression being read draws from. */
  rng(): Rng {
    const session = this.session;
    switch (this.stream) {
      case "session":
        if (session === null) return this.sharedStream("machine");
        session.rng ??= this.takeRng(
          session.parent === null
            ? mix64(this.seed, session.serial, 0, 2)
            : mix64(this.seed, session.serial, session.leg, 3),
        );
        return session.rng;
      case "turn": {
        const turn = session!.attributes[this.program.slot_turn]!;
        session!.turnRng ??= this.takeRng(mix64(this.seed, session!.serial, turn, 1));
        return session!.turnRng;
      }
      default:
        return this.sharedStream(this.stream);
    }
  }

  sharedStream(name: "machine" | "eviction" | "arrivals" | "trace"): Rng {
    let rng = this.streams.get(name);
    if (rng === undefined) {
      rng = new Rng(xor64(this.seed, STREAMS[name]));
      this.streams.set(name, rng);
    }
    return rng;
  }

  /** A generator of a session, new or used before. */
  private takeRng(seed: Word64): Rng {
    const rng = this.spareRngs.pop();
    if (rng === undefined) return new Rng(seed);
    rng.reseed(seed);
    return rng;
  }

  /** The generators of a session that ended, or of a turn that is over. */
  giveRng(rng: Rng | null): void {
    if (rng !== null) this.spareRngs.push(rng);
  }

  makeReady(session: Session): void {
    session.status = "ready";
    if (session.readyInstant === this.now) {
      session.readyTimes += 1;
      if (session.readyTimes > MOST_READY) {
        throw new RunError(runErrors.unsettled(this.now, session.serial, session.readyTimes));
      }
    } else {
      session.readyInstant = this.now;
      session.readyTimes = 1;
    }
    this.ready[this.readyEnd++] = session;
  }
}

/** `all` keeps what the warm-up leaves out, `dump` each value's time, session and turn. */
export function observation(name: string, keep: { all: boolean; dump: boolean }): Observation {
  const kept = () => (keep.dump ? new Samples() : null);
  return {
    name,
    values: new Samples(),
    all: keep.all ? new Samples() : null,
    moments: new Welford(),
    times: kept(),
    sessions: kept(),
    turns: kept(),
  };
}

const STREAMS = {
  arrivals: word64(0),
  machine: word64(0x5851f42d4c957f2dn),
  eviction: word64(0x2545f4914f6cdd1dn),
  trace: word64(0x6a09e667f3bcc908n),
};
