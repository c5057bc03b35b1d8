/**
 * Growth of a hold, and what it costs others: a growth that does not fit preempts by the pool's rule,
 * else it stalls until room is given back. Preempted sessions go back to the header of their hold.
 */
import { compareKeys, readFor, roundUp } from "./interpreter_amounts.ts";
import { makeRoom } from "./interpreter_cache.ts";
import type { HoldOp } from "./interpreter_compile.ts";
import { leaveStage } from "./interpreter_leave.ts";
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import {
  admit,
  fits,
  giveBack,
  innermost,
  joinQueue,
  leaveQueue,
  nextWaiter,
  reservedByOthers,
} from "./interpreter_pools.ts";
import {
  type Allocation,
  EPSILON,
  type Grower,
  type Job,
  type PoolState,
  type Session,
} from "./interpreter_state.ts";

export type Growth = "done" | "stalled" | "self";

function tryGrow(m: Machine, allocation: Allocation, amount: number): boolean {
  const pool = m.pools[allocation.pool]!;
  const need = roundUp(pool, allocation.amount + amount) - allocation.amount;
  if (need <= 0) return true;
  const held = pool.reserveHeld ? reservedByOthers(pool, allocation) : 0;
  if (!(pool.used + held + need <= pool.cap + EPSILON)) return false;
  makeRoom(m, pool, need);
  pool.used += need;
  allocation.amount += need;
  return true;
}

/** Enlarges an allocation, preempting others if the pool's rule says so. */
export function grow(m: Machine, allocation: Allocation, amount: number, job: Job | null): Growth {
  const pool = m.pools[allocation.pool]!;
  const { session } = allocation;
  while (!tryGrow(m, allocation, amount)) {
    const victim = pool.victimKeys === null ? undefined : chooseVictim(m, pool);
    if (victim === undefined) {
      const grower: Grower = { session, allocation, amount, job };
      pool.growers.push(grower);
      session.grower = grower;
      return "stalled";
    }
    preempt(m, pool, victim);
    if (victim === session) return "self";
  }
  return "done";
}

/** Growers of a pool, first come first served; the head blocks. */
function retryGrowers(m: Machine, pool: PoolState): void {
  for (;;) {
    const grower = pool.growers[0];
    if (grower === undefined || !tryGrow(m, grower.allocation, grower.amount)) return;
    pool.growers.shift();
    grower.session.grower = null;
    if (grower.job === null) m.makeReady(grower.session);
  }
}

/** Growers first, then whoever waits, at one pool that no engine admits. */
export function retryPool(m: Machine, pool: PoolState): void {
  if (pool.growers.length > 0) retryGrowers(m, pool);
  if (pool.admitVia >= 0) return;
  while (pool.queue.length > 0) {
    const waiter = nextWaiter(m, pool)!;
    const needs = fits(m, waiter);
    if (needs === null) return;
    admit(m, waiter, needs);
  }
}

export function retryPools(m: Machine): void {
  for (const pool of m.pools) retryPool(m, pool);
}

/** The sessions that may be preempted for a pool, in the order in which ties are broken. */
function candidates(pool: PoolState): Session[] {
  const engines = pool.memoryOf;
  const found: Session[] = [];
  for (const session of new Set(pool.entered)) {
    if (innermost(session, pool.index) === undefined) continue;
    if (engines.length > 0 && !engines.includes(session.job?.stage ?? -1)) continue;
    found.push(session);
  }
  return engines.length > 0 ? found.sort((a, b) => a.admission - b.admission) : found;
}

function chooseVictim(m: Machine, pool: PoolState): Session | undefined {
  let best: Session | undefined;
  let bestKeys: number[] = [];
  candidates(pool).forEach((session, place) => {
    const keys = pool.victimKeys!.map((key) => {
      m.context[CONTEXT.Decoding] = session.job?.decode === true ? 1 : 0;
      m.context[CONTEXT.Admission] = place;
      m.context[CONTEXT.Position] = innermost(session, pool.index)!.position;
      return readFor(m, session, key);
    });
    if (best === undefined || compareKeys(keys, bestKeys) <= 0) {
      best = session;
      bestKeys = keys;
    }
  });
  return best;
}

/** Sends a session back to the header of its hold on `pool`. */
export function preempt(m: Machine, pool: PoolState, victim: Session): void {
  const position = innermost(victim, pool.index)!.position;
  victim.attributes[m.program.slot_computed] = position;
  const before = victim.preempted?.get(pool.index);
  if (before !== undefined && position <= before + EPSILON && !victim.stuck) {
    victim.stuck = true;
    pool.stuck += 1;
  }
  victim.preempted ??= new Map();
  victim.preempted.set(pool.index, position);
  pool.preemptions += 1;
  if (m.forming !== null) m.forming.preempted += 1;
  leaveStage(m, victim);
  if (victim.token !== null) victim.token.preempted = true;
  leaveQueue(m, victim);
  let op: HoldOp;
  for (;;) {
    const scope = victim.scopes.pop()!;
    for (const allocation of scope.allocations) {
      if (allocation.live) giveBack(m, allocation, allocation.position, victim.attributes);
    }
    victim.frames.length = scope.depth + 1;
    op = scope.op;
    if (scope.allocations.some((allocation) => allocation.pool === pool.index)) break;
  }
  if (!joinQueue(m, victim, op, !pool.requeueTail)) m.refuse!(victim);
}
