/**
 * Pools: who is admitted next, what is allocated, cached, evicted, grown and given back. Cached units
 * never stand in the way: they are evicted when room is needed. What must hold at every event:
 * `used` is the sum of the live allocations, `cached` the sum of the entries, and both fit the cap.
 */
import { checkAmount, compareKeys, readFor, roundDown, roundUp } from "./interpreter_amounts.ts";
import { makeRoom, store, takeOwn } from "./interpreter_cache.ts";
import type { HoldOp } from "./interpreter_compile.ts";
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import {
  type Allocation,
  type Attributes,
  EPSILON,
  type Lease,
  NO_LEASES,
  type PoolState,
  type Scope,
  type Session,
  type Waiter,
} from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

/** A hold statement: joins the queue of its first pool. False when it was refused. */
export function joinQueue(m: Machine, session: Session, op: HoldOp, resumed: boolean): boolean {
  const pools = op.pools.map(({ at }) => readFor(m, session, at));
  const twice = pools.find((pool, i) => pools.indexOf(pool) < i);
  if (twice !== undefined) throw new RunError(runErrors.twice(op.text, m.pools[twice]!.name));
  op.pools.forEach((part, i) => {
    const pool = m.pools[pools[i]!]!;
    checkAmount(op.text, readFor(m, session, part.units));
    if (part.reserve !== null) checkAmount(op.text, readFor(m, session, part.reserve));
    void pool;
  });
  for (let i = 0; i < pools.length; i++) {
    const part = op.pools[i]!;
    const pool = m.pools[pools[i]!]!;
    const units = part.fixed ? readFor(m, session, part.units) : 0;
    const reserve = part.reserveFixed ? readFor(m, session, part.reserve!) : 0;
    if (roundUp(pool, Math.max(units, reserve)) > pool.cap + EPSILON) {
      pool.rejected += 1;
      return false;
    }
  }
  const waiter: Waiter = { session, op, pools, resumed, joined: m.now };
  session.waiter = waiter;
  session.status = "queued";
  const { queue } = m.pools[pools[0]!]!;
  if (resumed) queue.unshift(waiter);
  else queue.push(waiter);
  return true;
}

export function leaveQueue(m: Machine, session: Session): void {
  const { waiter } = session;
  if (waiter === null) return;
  const { queue } = m.pools[waiter.pools[0]!]!;
  queue.splice(queue.indexOf(waiter), 1);
  session.waiter = null;
}

/** Who is admitted next: the front if it was preempted or the order is fifo, else the least keys. */
export function nextWaiter(m: Machine, pool: PoolState): Waiter | undefined {
  const { queue, queueKeys } = pool;
  const front = queue[0];
  if (front === undefined || front.resumed || queueKeys === null) return front;
  let best = front;
  let bestKeys: number[] | null = null;
  for (const waiter of queue) {
    const keys = queueKeys.map((key) => {
      m.context[CONTEXT.Waited] = m.now - waiter.joined;
      return readFor(m, waiter.session, key);
    });
    if (bestKeys === null || compareKeys(keys, bestKeys) < 0) {
      best = waiter;
      bestKeys = keys;
    }
  }
  return best;
}

/** Units and reservations of a waiting hold as they are now; null when they do not fit. */
export function fits(m: Machine, waiter: Waiter): Need[] | null {
  const needs: Need[] = [];
  let all = true;
  for (let i = 0; i < waiter.pools.length; i++) {
    const pool = m.pools[waiter.pools[i]!]!;
    const { units, need } = needOf(m, waiter, i);
    checkAmount(waiter.op.text, units);
    needs.push({ pool, units, need });
    if (!hasRoom(pool, need)) all = false;
  }
  return all ? needs : null;
}

function hasRoom(pool: PoolState, units: number): boolean {
  const held = pool.reserveHeld ? reservedByOthers(pool, null) : 0;
  return pool.used + held + roundUp(pool, units) <= pool.cap + EPSILON;
}

/** Whether the units that a waiting hold asks of its pool number `i`, whatever its `reserve`, fit. */
export function unitsFit(m: Machine, waiter: Waiter, i: number): boolean {
  return hasRoom(m.pools[waiter.pools[i]!]!, needOf(m, waiter, i).units);
}

/** What a waiting hold asks of its pool number `i`, and what must fit: the greater of that and `reserve`. */
function needOf(m: Machine, waiter: Waiter, i: number): { units: number; need: number } {
  const part = waiter.op.pools[i]!;
  const units = readFor(m, waiter.session, part.units);
  const reserve = part.reserve === null ? 0 : readFor(m, waiter.session, part.reserve);
  return { units, need: Math.max(units, reserve) };
}

/** What the head of a queue asks of `pool`, where that is more than the cap: it can never go on. */
export function needOverCap(m: Machine, queue: PoolState, pool: PoolState): number | null {
  const head = nextWaiter(m, queue);
  const at = head?.pools.indexOf(pool.index) ?? -1;
  if (head === undefined || at < 0) return null;
  const { need } = needOf(m, head, at);
  return roundUp(pool, need) > pool.cap + EPSILON ? need : null;
}

interface Need {
  readonly pool: PoolState;
  readonly units: number;
  readonly need: number;
}

export function reservedByOthers(pool: PoolState, except: Allocation | null): number {
  let sum = 0;
  for (const allocation of pool.allocations) {
    if (allocation === except || allocation.scope.allocations.length === 0) continue;
    sum += Math.max(0, allocation.reserved - allocation.amount);
  }
  return sum;
}

/** Admits a waiting hold that fits. */
export function admit(m: Machine, waiter: Waiter, needs: readonly Need[]): void {
  const { session, op } = waiter;
  leaveQueue(m, session);
  const first = needs[0]!.pool;
  if (m.warm) first.waits.push(m.now - waiter.joined);
  const reuse = op.reuse === null ? null : Math.max(0, readFor(m, session, op.reuse));
  const scope: Scope = {
    op,
    allocations: [],
    depth: session.frames.length - 1,
    moved: false,
    session,
  };
  let cached = 0;
  for (const { pool, units, need } of needs) {
    const own = op.cache === null ? 0 : takeOwn(m, pool, session, reuse);
    const amount = roundUp(pool, units);
    makeRoom(m, pool, amount);
    const allocation: Allocation = {
      pool: pool.index,
      amount,
      position: own,
      reserved: roundUp(pool, need),
      live: true,
      session,
      scope,
    };
    pool.used += amount;
    pool.allocations.add(allocation);
    addHolder(pool, session);
    pool.admissions += 1;
    scope.allocations.push(allocation);
    cached = Math.max(cached, own);
  }
  session.attributes[m.program.slot_cached] = cached;
  session.admission = m.nextAdmission++;
  session.scopes.push(scope);
  session.frames.push({ ops: op.body, at: 0, loop: "once", scope });
  m.makeReady(session);
}

function addHolder(pool: PoolState, session: Session): void {
  pool.entered.push(session);
  pool.holders.set(session, (pool.holders.get(session) ?? 0) + 1);
}

/** A session that gives one of several holds back keeps the later place. */
function removeHolder(pool: PoolState, session: Session): void {
  pool.entered.splice(pool.entered.indexOf(session), 1);
  const left = pool.holders.get(session)! - 1;
  if (left === 0) pool.holders.delete(session);
  else pool.holders.set(session, left);
}

/** Gives an allocation back, keeping what its hold's `cache` clause says. */
export function giveBack(
  m: Machine,
  allocation: Allocation,
  computed: number,
  attributes: Attributes,
): void {
  const pool = m.pools[allocation.pool]!;
  const { session, scope } = allocation;
  allocation.live = false;
  pool.allocations.delete(allocation);
  pool.used -= allocation.amount;
  removeHolder(pool, session);
  forgetGrower(pool, allocation);
  if (scope.op.cache === null) return;
  const before = m.attributes;
  m.attributes = attributes;
  const { session: current, stream } = m;
  m.session = session;
  m.stream = "session";
  const value = scope.op.cache();
  m.attributes = before;
  m.session = current;
  m.stream = stream;
  const keep = roundDown(pool, Math.min(Math.max(0, value), computed));
  if (keep <= 0) return;
  store(m, pool, session.serial, keep, { session, attributes: session.attributes.slice() });
}

/** What a hold entry has computed: its position if the hold moved one, else all it has. */
export function computedOf(allocation: Allocation): number {
  return allocation.scope.moved ? allocation.position : allocation.amount;
}

export function forgetGrower(pool: PoolState, allocation: Allocation): void {
  const at = pool.growers.findIndex((grower) => grower.allocation === allocation);
  if (at < 0) return;
  pool.growers[at]!.session.grower = null;
  pool.growers.splice(at, 1);
}

/** The innermost live allocation of a session on a pool. */
export function innermost(session: Session, pool: number): Allocation | undefined {
  for (let i = session.scopes.length - 1; i >= 0; i--) {
    const found = session.scopes[i]!.allocations.find((a) => a.live && a.pool === pool);
    if (found !== undefined) return found;
  }
  return undefined;
}

export function addLease(session: Session, lease: Lease): void {
  if (session.leases === NO_LEASES) session.leases = [lease];
  else session.leases.push(lease);
}

/** A leg's lease becomes its session's. */
export function passLease(m: Machine, lease: Lease, to: Session): void {
  const pool = m.pools[lease.allocation.pool]!;
  removeHolder(pool, lease.session);
  addHolder(pool, to);
  lease.session = to;
  lease.allocation.session = to;
  addLease(to, lease);
}

/** Ends a lease: by `release`, by its time, or with its session. */
export function endLease(m: Machine, lease: Lease): void {
  if (lease.over) return;
  lease.over = true;
  const { session, allocation } = lease;
  session.leases = session.leases.filter((other) => other !== lease);
  giveBack(m, allocation, computedOf(allocation), lease.attributes);
}
