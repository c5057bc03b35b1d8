/**
 * Sessions: statements run until one blocks. `run`, a `hold` (always, even one that would fit), a
 * stalled `grow` and a `join` with live legs block; everything else takes no time.
 */
import { checkAmount, compareKeys } from "./interpreter_amounts.ts";
import { dropOwn } from "./interpreter_cache.ts";
import { endTurn, startDecode } from "./interpreter_client.ts";
import type { HoldOp, Op } from "./interpreter_compile.ts";
import { startEngineJob } from "./interpreter_engine.ts";
import { startFlow } from "./interpreter_flows.ts";
import { grow, retryPools } from "./interpreter_growth.ts";
import { leaveStage } from "./interpreter_leave.ts";
import type { Machine } from "./interpreter_machine.ts";
import {
  addLease,
  computedOf,
  endLease,
  giveBack,
  innermost,
  joinQueue,
  leaveQueue,
  passLease,
} from "./interpreter_pools.ts";
import { frame, newSession, record, spawn, takeTurn, type Workload } from "./interpreter_spawn.ts";
import { startPlain } from "./interpreter_stages.ts";
import {
  EPSILON,
  type Eval,
  type Frame,
  type Lease,
  NO_LEASES,
  type Scope,
  type Session,
} from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

const MOST_STATEMENTS = 1_000_000;

function guardValue(text: string, guard: Eval): boolean {
  const value = guard();
  if (value !== 0 && value !== 1) throw new RunError(runErrors.guard(text, value));
  return value === 1;
}

/** Executes a session until it blocks or ends. */
export function execute(m: Machine, session: Session, workload: Workload): void {
  m.session = session;
  m.attributes = session.attributes;
  m.stream = "session";
  for (let count = 0; session.status === "ready"; count++) {
    if (count > MOST_STATEMENTS) {
      throw new RunError(runErrors.endless(session.serial, MOST_STATEMENTS));
    }
    const top = session.frames[session.frames.length - 1];
    if (top === undefined) {
      endSession(m, session, workload);
      return;
    }
    const op = top.ops[top.at];
    if (op === undefined) {
      finishFrame(m, session, top);
    } else {
      top.at += 1;
      if (op.workload) endTurn(m, session);
      step(m, session, op, workload);
      // A run without work is done at once, and still lets every other ready session go first.
      if (op.kind === "run" && session.status === "ready") return;
    }
    m.session = session;
    m.attributes = session.attributes;
    m.stream = "session";
  }
}

function finishFrame(m: Machine, session: Session, top: Frame): void {
  if (top.loop === "forever") {
    top.at = 0;
  } else if (top.loop !== "once") {
    if (guardValue("while", top.loop)) top.at = 0;
    else session.frames.pop();
  } else {
    session.frames.pop();
    if (top.scope !== null) closeScope(m, session, top.scope);
  }
}

function step(m: Machine, session: Session, op: Op, workload: Workload): void {
  switch (op.kind) {
    case "set":
      session.attributes[op.slot] = op.value();
      return;
    case "observe":
      record(m, session, m.observations[op.observation]!, op.value());
      return;
    case "run":
      run(m, session, op);
      return;
    case "hold":
      if (!joinQueue(m, session, op, false)) refuse(m, session, workload);
      return;
    case "turn":
      takeTurn(m, session, workload);
      return;
    case "branch":
      session.frames.push(frame(guardValue("branch", op.guard) ? op.yes : op.no, "once"));
      return;
    case "loop":
      session.frames.push(frame(op.body, "forever"));
      return;
    case "while":
      if (guardValue("while", op.guard)) session.frames.push(frame(op.body, op.guard));
      return;
    case "choose":
      choose(session, op);
      return;
    case "grow":
      growStatement(m, session, op);
      return;
    case "load":
      load(m, session, op);
      return;
    case "drop":
      dropOwn(m.pools[op.at()]!, session);
      return;
    case "release":
      release(m, session, op.at());
      return;
    case "fork":
      fork(m, session, op.body);
      return;
    case "join":
      if (session.liveLegs > 0) session.status = "joining";
      return;
    case "end":
      endSession(m, session, workload);
  }
}

function run(m: Machine, session: Session, op: Extract<Op, { kind: "run" }>): void {
  const at = op.at();
  const work = checkAmount(op.text, op.work());
  const stage = m.stages[at]!;
  if (stage.kind === "flow") {
    const flow = [at, ...op.also.map((locate) => locate())];
    startFlow(m, stage, { session, work, flow });
  } else if (stage.kind === "engine") {
    const growing = op.growing === null ? -1 : op.growing();
    if (op.mode === "Decode") startDecode(m, session);
    startEngineJob(m, stage, { session, work, decode: op.mode === "Decode", growing });
  } else {
    startPlain(m, stage, { session, work });
  }
}

function choose(session: Session, op: Extract<Op, { kind: "choose" }>): void {
  const count = op.count();
  if (!(Number.isInteger(count) && count >= 0)) throw new RunError(runErrors.count(count));
  let best = 0;
  let keys = op.keys.map(() => 0);
  let bestKeys = keys.slice();
  for (let candidate = 0; candidate < count; candidate++) {
    session.attributes[op.slot] = candidate;
    for (let i = 0; i < keys.length; i++) keys[i] = op.keys[i]!();
    if (candidate > 0 && compareKeys(keys, bestKeys) >= 0) continue;
    best = candidate;
    [keys, bestKeys] = [bestKeys, keys];
  }
  session.attributes[op.slot] = best;
}

function growStatement(
  m: Machine,
  session: Session,
  op: Extract<Op, { kind: "grow" | "load" }>,
): void {
  const pool = op.at();
  const amount = checkAmount(op.text, op.amount());
  const allocation = innermost(session, pool) ??
    session.leases.find((lease) => lease.allocation.pool === pool)?.allocation;
  if (allocation === undefined) throw new RunError(runErrors.growNothing(m.pools[pool]!.name));
  if (grow(m, allocation, amount, null) === "stalled") session.status = "growing";
}

function load(m: Machine, session: Session, op: Extract<Op, { kind: "grow" | "load" }>): void {
  const pool = op.at();
  const amount = checkAmount(op.text, op.amount());
  const allocation = innermost(session, pool);
  if (allocation === undefined) throw new RunError(runErrors.loadNothing(m.pools[pool]!.name));
  if (allocation.position + amount > allocation.amount + EPSILON) {
    const { name } = m.pools[pool]!;
    throw new RunError(runErrors.load(name, allocation.position, amount, allocation.amount));
  }
  allocation.position += amount;
  allocation.scope.moved = true;
}

/** The innermost hold gives back now, else the first lease of the pool ends, else nothing. */
function release(m: Machine, session: Session, pool: number): void {
  const allocation = innermost(session, pool);
  if (allocation !== undefined) {
    giveBack(m, allocation, computedOf(allocation), session.attributes);
  } else {
    const lease = session.leases.find((other) => other.allocation.pool === pool);
    if (lease === undefined) return;
    endLease(m, lease);
  }
  retryPools(m);
}

/** The end of a hold's body. */
function closeScope(m: Machine, session: Session, scope: Scope): void {
  session.scopes.pop();
  const leased = leaseOf(scope);
  for (const allocation of scope.allocations) {
    if (!allocation.live) continue;
    if (allocation.pool === leased) leave(m, session, scope.op, allocation);
    else giveBack(m, allocation, computedOf(allocation), session.attributes);
  }
  for (const { pool } of scope.allocations) session.preempted?.delete(pool);
  session.attributes[m.program.slot_computed] = 0;
  retryPools(m);
}

function leaseOf(scope: Scope): number {
  return scope.op.lease === null ? -1 : scope.op.lease.at();
}

/** An allocation outlives its scope as a lease. */
function leave(
  m: Machine,
  session: Session,
  op: HoldOp,
  allocation: Scope["allocations"][number],
): void {
  const time = checkAmount("lease", op.lease!.time());
  const lease: Lease = {
    allocation,
    session,
    attributes: session.attributes,
    expires: time < Infinity,
    over: false,
  };
  allocation.reserved = 0;
  addLease(session, lease);
  if (time < Infinity) m.heap.push(m.now + time, { kind: "lease", lease });
}

function fork(m: Machine, session: Session, body: readonly Op[]): void {
  const leg = newSession(m, session.serial, session, body);
  session.legsStarted += 1;
  session.liveLegs += 1;
  m.legs.add(leg);
  m.makeReady(leg);
}

/** A refused hold ends its session; a refused leg ends the session that forked it. */
export function refuse(m: Machine, session: Session, workload: Workload): void {
  const { parent } = session;
  if (parent !== null && parent.status !== "ended") {
    parent.refused = true;
    endSession(m, parent, workload);
  }
  session.refused = true;
  endSession(m, session, workload);
}

/** A session leaves: what it waits for or runs, its holds innermost first, its leases. */
export function endSession(m: Machine, session: Session, workload: Workload): void {
  const { parent } = session;
  if (parent === null && session.liveLegs > 0 && !session.refused) {
    throw new RunError(runErrors.legLeft(session.serial));
  }
  leaveQueue(m, session);
  leaveStage(m, session);
  while (session.scopes.length > 0) {
    const scope = session.scopes.pop()!;
    for (const allocation of scope.allocations) {
      if (allocation.live) {
        giveBack(m, allocation, computedOf(allocation), session.attributes);
      }
    }
  }
  session.frames.length = 0;
  if (parent === null || parent.status === "ended") {
    for (const lease of session.leases.slice()) endLease(m, lease);
  }
  session.status = "ended";
  m.giveRng(session.rng);
  m.giveRng(session.turnRng);
  session.rng = null;
  session.turnRng = null;
  if (parent !== null) {
    endLeg(m, session, parent);
    return;
  }
  m.live.remove(session);
  if (m.warm) m.ended += 1;
  const { arrival } = m.program;
  if (typeof arrival === "object" && "Closed" in arrival) replace(m, arrival.Closed, workload);
}

const MOST_REPLACED = 1_000_000;

/** In a closed population the next session comes at once; if all end at once, for ever. */
function replace(m: Machine, population: number, workload: Workload): void {
  if (m.replacedAt !== m.now) {
    m.replacedAt = m.now;
    m.replaced = 0;
  }
  m.replaced += 1;
  if (m.replaced > population + MOST_REPLACED) {
    throw new RunError(runErrors.restless(m.now, m.replaced));
  }
  spawn(m, workload);
}

function endLeg(m: Machine, leg: Session, parent: Session): void {
  m.legs.delete(leg);
  parent.liveLegs -= 1;
  if (parent.status === "ended") return;
  for (const lease of leg.leases) passLease(m, lease, parent);
  leg.leases = NO_LEASES;
  if (parent.liveLegs === 0 && parent.status === "joining") m.makeReady(parent);
}
