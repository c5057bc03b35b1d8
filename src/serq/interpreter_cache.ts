/**
 * What a pool keeps of those who left: an entry for each session, evicted when room is needed, in the
 * order of release or by keys. Cached units never stand in anyone's way.
 */
import { compareKeys, roundDown } from "./interpreter_amounts.ts";
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import { startPlain } from "./interpreter_stages.ts";
import {
  type Attributes,
  type CacheEntry,
  EPSILON,
  type Eval,
  type PoolState,
  type Session,
} from "./interpreter_state.ts";

/** The session's own prefix, taken out of the cache; what `reuse` leaves of it is forgotten in place. */
export function takeOwn(
  m: Machine,
  pool: PoolState,
  session: Session,
  reuse: number | null,
): number {
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
export function makeRoom(m: Machine, pool: PoolState, amount: number): void {
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
export function store(
  m: Machine,
  pool: PoolState,
  key: number,
  size: number,
  of: { session: Session | null; attributes: Attributes },
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
