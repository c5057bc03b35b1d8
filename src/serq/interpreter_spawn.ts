/** How sessions come to be, take their turns and record what they observe. */
import { readFor } from "./interpreter_amounts.ts";
import type { Op } from "./interpreter_compile.ts";
import type { Machine } from "./interpreter_machine.ts";
import {
  type Frame,
  NO_LEASES,
  type Observation,
  type Scope,
  type Session,
} from "./interpreter_state.ts";
import type { TraceTurn } from "./ir.ts";

/** The blocks of the workload, compiled, and the recorded sessions it replays. */
export interface Workload {
  readonly init: readonly Op[];
  readonly turn: readonly Op[];
  readonly session: readonly Op[];
  readonly corpus: readonly (readonly TraceTurn[])[];
  readonly ordered: boolean;
}

/** A session, or a leg of `parent`, that begins with `ops`. */
export function newSession(
  m: Machine,
  serial: number,
  parent: Session | null,
  ops: readonly Op[],
): Session {
  return {
    id: m.nextSession++,
    serial,
    attributes: (parent?.attributes ?? m.blank).slice(),
    status: "ready",
    frames: [frame(ops, "once")],
    scopes: [],
    leases: NO_LEASES,
    rng: null,
    turnRng: null,
    replay: parent?.replay ?? -1,
    parent,
    leg: parent?.legsStarted ?? 0,
    legsStarted: 0,
    liveLegs: 0,
    waiter: null,
    grower: null,
    job: null,
    admission: Infinity,
    preempted: null,
    stuck: false,
    refused: false,
    readyInstant: -1,
    readyTimes: 0,
    token: null,
    client: null,
    before: null,
    after: null,
  };
}

export function frame(ops: readonly Op[], loop: Frame["loop"], scope: Scope | null = null): Frame {
  return { ops, at: 0, loop, scope };
}

/** A session arrives: its `init` runs, the claims judge it, and it is ready. */
export function spawn(m: Machine, workload: Workload): void {
  const session = newSession(m, m.arrivals, null, workload.session);
  m.arrivals += 1;
  session.attributes[m.program.slot_serial] = session.serial;
  const { corpus, ordered } = workload;
  if (corpus.length > 0) {
    session.replay = ordered
      ? session.serial % corpus.length
      : m.sharedStream("trace").below(corpus.length);
  }
  runAtOnce(m, session, workload.init);
  for (const claim of m.claims) {
    if (claim.given !== null && readFor(m, session, claim.given) === 0) claim.outOfScope = true;
  }
  m.live.add(session);
  m.makeReady(session);
}

/** `init` and `turn` blocks only set and observe, with draws of the turn's own stream. */
function runAtOnce(m: Machine, session: Session, ops: readonly Op[]): void {
  if (ops.length === 0) return;
  m.session = session;
  m.attributes = session.attributes;
  m.stream = "turn";
  for (const op of ops) {
    if (op.kind === "set") session.attributes[op.slot] = op.value();
    else if (op.kind === "observe") {
      record(m, session, m.observations[op.observation]!, op.value());
    }
  }
  m.stream = "session";
}

export function takeTurn(m: Machine, session: Session, workload: Workload): void {
  const { program } = m;
  const a = session.attributes;
  const turn = a[program.slot_turn]! + 1;
  a[program.slot_turn] = turn;
  m.giveRng(session.turnRng);
  session.turnRng = null;
  session.client = { start: m.now, first: NaN, told: false, after: 0 };
  if (m.warm) m.turns += 1;
  if (session.replay >= 0) {
    const turns = workload.corpus[session.replay]!;
    const recorded = turns[turn - 1];
    if (recorded === undefined) {
      a[program.slot_more] = 0;
    } else {
      a[program.slot_new] = recorded.new;
      a[program.slot_out] = recorded.out;
      a[program.slot_think] = recorded.think;
      a[program.slot_forced] = recorded.forced;
      a[program.slot_more] = turn < turns.length ? 1 : 0;
    }
  }
  runAtOnce(m, session, workload.turn);
}

export function record(m: Machine, session: Session, into: Observation, value: number): void {
  into.all?.push(value);
  if (!m.warm) return;
  into.values.push(value);
  into.moments.push(value);
  into.times?.push(m.now);
  into.sessions?.push(session.serial);
  into.turns?.push(session.attributes[m.program.slot_turn]!);
}
