/**
 * Pools: who is admitted next, what is allocated, cached, evicted, grown and given back. Cached units
 * never stand in the way: they are evicted when room is needed. What must hold at every event:
 * `used` is the sum of the live allocations, `cached` the sum of the entries, and both fit the cap.
 */
import type { HoldOp } from "./interpreter_compile.ts";
import { leaveStage } from "./interpreter_leave.ts";
import { startPlain } from "./interpreter_stages.ts";
import {
  type Allocation,
  type CacheEntry,
  CONTEXT,
  EPSILON,
  type Eval,
  type Grower,
  type Job,
  type Lease,
  type Machine,
  type PoolState,
  type Scope,
  type Session,
  type Waiter,
} from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

/** Reads an expression for a session, as its own statement would. */
export function readFor(m: Machine, session: Session, eval_: Eval): number {
  const { session: before, stream, attributes } = m;
  m.session = session;
  m.stream = "session";
  m.attributes = session.attributes;
  const value = eval_();
  m.session = before;
  m.stream = stream;
  m.attributes = attributes;
  return value;
}

export function checkAmount(text: string, value: number): number {
  if (!(value >= 0)) throw new RunError(runErrors.amount(text, value));
  return value;
}

export function roundUp(pool: PoolState, units: number): number {
  return pool.block > 0 ? Math.ceil((units - EPSILON) / pool.block) * pool.block : units;
}

export function roundDown(pool: PoolState, units: number): number {
  return pool.block > 0 ? Math.floor((units + EPSILON) / pool.block) * pool.block : units;
}

/** Compares key tuples element by element, in IEEE total order. */
export function compareKeys(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x < y) return -1;
    if (x > y) return 1;
    if (Object.is(x, y)) continue;
    if (x === 0 && y === 0) return Object.is(x, -0) ? -1 : 1;
    if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1;
  }
  return 0;
}

// --- Waiting ---------------------------------------------------------------------------------------

/** A hold statement: joins the queue of its first pool. False when it was refused. */
export function joinQueue(m: Machine, session: Session, op: HoldOp, resumed: boolean): boolean {
  const pools = op.pools.map(({ at }) => readFor(m, session, at));
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
    const part = waiter.op.pools[i]!;
    const pool = m.pools[waiter.pools[i]!]!;
    const units = checkAmount(waiter.op.text, readFor(m, waiter.session, part.units));
    const reserve = part.reserve === null ? 0 : readFor(m, waiter.session, part.reserve);
    const need = Math.max(units, reserve);
    needs.push({ pool, units, need });
    const held = pool.reserveHeld ? reservedByOthers(pool, null) : 0;
    if (!(pool.used + held + roundUp(pool, need) <= pool.cap + EPSILON)) all = false;
  }
  return all ? needs : null;
}

interface Need {
  readonly pool: PoolState;
  readonly units: number;
  readonly need: number;
}

function reservedByOthers(pool: PoolState, except: Allocation | null): number {
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

// --- Cache -----------------------------------------------------------------------------------------

/** The session's own prefix, taken out of the cache; what `reuse` leaves of it is forgotten in place. */
function takeOwn(m: Machine, pool: PoolState, session: Session, reuse: number | null): number {
  const entry = pool.entries.get(session.serial);
  if (entry === undefined) return 0;
  const own = reuse === null ? entry.size : Math.min(entry.size, roundDown(pool, reuse));
  const surplus = entry.size - own;
  if (surplus > EPSILON) {
    // Keeps its place in the order of release: the map is rebuilt with a key nobody has.
    const dead = { ...entry, key: m.nextDeadKey--, size: surplus, session: null };
    pool.entries = new Map(
      [...pool.entries].map(([key, other]) => other === entry ? [dead.key, dead] : [key, other]),
    );
  } else {
    pool.entries.delete(session.serial);
  }
  pool.cached -= own;
  return own;
}

export function dropOwn(pool: PoolState, session: Session): void {
  const entry = pool.entries.get(session.serial);
  if (entry === undefined) return;
  pool.entries.delete(session.serial);
  pool.cached -= entry.size;
}

/** Evicts until `amount` more units fit beside what is used and cached. */
function makeRoom(m: Machine, pool: PoolState, amount: number): void {
  while (pool.used + pool.cached + amount > pool.cap + EPSILON && pool.entries.size > 0) {
    evictOnce(m, pool);
  }
}

function evictOnce(m: Machine, pool: PoolState): void {
  const entry = leastEntry(m, pool);
  const size = pool.block > 0 ? Math.min(pool.block, entry.size) : entry.size;
  entry.size -= size;
  pool.cached -= size;
  pool.evictedUnits += size;
  if (entry.size <= EPSILON) {
    pool.entries.delete(entry.key);
    pool.evictedEntries += 1;
  }
  if (pool.spill !== null) spill(m, pool, entry, size);
}

function leastEntry(m: Machine, pool: PoolState): CacheEntry {
  const { evictKeys } = pool;
  if (evictKeys === null) return pool.entries.values().next().value!;
  let best: CacheEntry | undefined;
  let bestKeys: number[] = [];
  for (const entry of pool.entries.values()) {
    const keys = evictKeys.map((key) => readForEntry(m, entry, entry.size, key));
    keys.push(entry.order);
    if (best === undefined || compareKeys(keys, bestKeys) < 0) {
      best = entry;
      bestKeys = keys;
    }
  }
  return best!;
}

function readForEntry(m: Machine, entry: CacheEntry, size: number, eval_: Eval): number {
  const { session, stream, attributes } = m;
  m.session = entry.session;
  m.stream = "eviction";
  m.attributes = entry.session !== null && entry.session.status !== "ended"
    ? entry.session.attributes
    : entry.attributes;
  m.context[CONTEXT.Size] = size;
  m.context[CONTEXT.Age] = m.now - entry.last;
  m.context[CONTEXT.Last] = entry.last;
  m.context[CONTEXT.Queued] = entry.session?.status === "queued" ? 1 : 0;
  const value = eval_();
  m.session = session;
  m.stream = stream;
  m.attributes = attributes;
  return value;
}

function spill(m: Machine, pool: PoolState, entry: CacheEntry, size: number): void {
  const { to, via, work, when } = pool.spill!;
  if (readForEntry(m, entry, size, when) === 0) return;
  const amount = readForEntry(m, entry, size, work);
  const tier = m.pools[to]!;
  pool.spills += 1;
  makeRoom(m, tier, 0);
  store(m, tier, entry.key, (tier.entries.get(entry.key)?.size ?? 0) + size, entry);
  startPlain(m, m.stages[via]!, { session: null, work: amount });
}

/** Puts an entry at the end of the order of release. */
function store(
  m: Machine,
  pool: PoolState,
  key: number,
  size: number,
  of: { session: Session | null; attributes: Float64Array },
): void {
  pool.cached += size - (pool.entries.get(key)?.size ?? 0);
  pool.entries.delete(key);
  pool.entries.set(key, {
    key,
    size,
    last: m.now,
    order: m.nextRelease++,
    session: of.session,
    attributes: of.attributes,
  });
}

// --- Giving back -----------------------------------------------------------------------------------

/** Gives an allocation back, keeping what its hold's `cache` clause says. */
export function giveBack(
  m: Machine,
  allocation: Allocation,
  computed: number,
  attributes: Float64Array,
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

/** A leg's lease becomes its session's. */
export function passLease(m: Machine, lease: Lease, to: Session): void {
  const pool = m.pools[lease.allocation.pool]!;
  removeHolder(pool, lease.session);
  addHolder(pool, to);
  lease.session = to;
  lease.allocation.session = to;
  to.leases.push(lease);
}

/** Ends a lease: by `release`, by its time, or with its session. */
export function endLease(m: Machine, lease: Lease): void {
  if (lease.over) return;
  lease.over = true;
  const { session, allocation } = lease;
  session.leases = session.leases.filter((other) => other !== lease);
  giveBack(m, allocation, computedOf(allocation), lease.attributes);
}

// --- Growing ---------------------------------------------------------------------------------------

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

// --- Preempting ------------------------------------------------------------------------------------

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
