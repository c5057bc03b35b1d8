/** What must hold after every event, checked in tests and debug runs: nothing leaks, nothing is lost. */
import type { Machine } from "./interpreter_machine.ts";
import { EPSILON, type PoolState } from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

export function checkIntegrity(m: Machine): void {
  const problem = findProblem(m);
  if (problem !== null) throw new RunError(runErrors.integrity(`${problem} at t = ${m.now}`));
}

function findProblem(m: Machine): string | null {
  if (m.heap.peekTime() < m.now) return "an event lies in the past";
  for (const pool of m.pools) {
    const problem = poolProblem(pool);
    if (problem !== null) return `pool ${pool.name}: ${problem}`;
  }
  for (const stage of m.stages) {
    const { engine, jobs, flows, waiting, present, servers } = stage;
    const plain = jobs.size + flows.size + waiting.length;
    const counted = engine === null ? plain : engine.residents.length;
    if (counted !== present) return `stage ${stage.name}: ${present} present, ${counted} found`;
    if (stage.kind === "fifo" && waiting.length > 0 && jobs.size < servers) {
      return `stage ${stage.name}: a server idles while a job waits`;
    }
  }
  for (const session of m.live) {
    const states = [
      session.status === "queued" ? session.waiter !== null : session.waiter === null,
      session.status === "running" ? session.job !== null : session.job === null,
      session.status !== "ended" && session.status !== "ready",
    ];
    if (states.includes(false)) return `session ${session.serial} is lost (${session.status})`;
  }
  return null;
}

function poolProblem(pool: PoolState): string | null {
  let used = 0;
  let cached = 0;
  for (const allocation of pool.allocations) {
    used += allocation.amount;
    if (!allocation.live) return "an allocation that was given back";
  }
  for (const entry of pool.entries.values()) cached += entry.size;
  const slack = EPSILON * Math.max(1, used + cached) * (1 + pool.admissions);
  if (Math.abs(used - pool.used) > slack) return `${pool.used} used, ${used} found`;
  if (Math.abs(cached - pool.cached) > slack) return `${pool.cached} cached, ${cached} found`;
  if (pool.used > pool.cap + slack) return `${pool.used} used of ${pool.cap}`;
  return null;
}
