/**
 * Sessions and legs that can only wait for each other when a run ends: joins for legs, and holds of
 * pools that nobody else holds. As in the original, a ring counts where somebody in it waits at a join
 * (rings of holds alone show as queues in the report), and a hold waits for the pools that its units do
 * not fit: behind a head that waits, or for its `reserve`, it is not in a ring. A lease that expires
 * breaks one.
 */
import type { Machine } from "./interpreter_machine.ts";
import { unitsFit } from "./interpreter_pools.ts";
import type { PoolState, Session } from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

export function checkDeadlock(m: Machine): void {
  if (m.legs.size === 0) return;
  const everyone = [...m.live, ...m.legs];
  const stuck = new Set(
    everyone.filter(({ status }) => status === "joining" || status === "queued"),
  );
  let left = -1;
  while (left !== stuck.size) {
    left = stuck.size;
    for (const session of stuck) {
      if (!waitsForThem(m, session, stuck)) stuck.delete(session);
    }
  }
  const waiting = [...stuck];
  if (!waiting.some(({ status }) => status === "joining")) return;
  throw new RunError(runErrors.deadlock(waiting.map((session) => describe(m, session)).join("; ")));
}

function waitsForThem(m: Machine, session: Session, stuck: ReadonlySet<Session>): boolean {
  if (session.status === "joining") {
    return [...m.legs].every((leg) => leg.parent !== session || stuck.has(leg));
  }
  const full = session.waiter!.pools.filter((_, i) => !unitsFit(m, session.waiter!, i));
  return full.length > 0 && full.every((at) => isHeldBy(m.pools[at]!, stuck));
}

/** Whether nobody else will give something of a pool back. */
function isHeldBy(pool: PoolState, stuck: ReadonlySet<Session>): boolean {
  if (pool.holders.size === 0) return false;
  return [...pool.holders.keys()].every((holder) =>
    stuck.has(holder) &&
    holder.leases.every((lease) => lease.allocation.pool !== pool.index || !lease.expires)
  );
}

function describe(m: Machine, session: Session): string {
  const who = session.parent === null
    ? `session ${session.serial}`
    : `a leg of session ${session.serial}`;
  if (session.status === "joining") return `${who} waits at a \`join\``;
  return `${who} waits at \`${m.pools[session.waiter!.pools[0]!]!.name}\``;
}
