/**
 * The jobs of an engine as they line up, and what an iteration would give each: the part of engines
 * that expressions read too (`budget_left`).
 */
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import type { Eval, Job, Session, StageState } from "./interpreter_state.ts";

/** Inserts a job before the first with a later admission. */
export function addResident(stage: StageState, job: Job): void {
  const { residents } = stage.engine!;
  let at = residents.length;
  while (at > 0 && residents[at - 1]!.admission > job.admission) at -= 1;
  residents.splice(at, 0, job);
}

/** Units that a session's holds have in a pool. */
export function heldIn(session: Session | null, pool: number): number {
  if (session === null || pool < 0) return 0;
  let sum = 0;
  for (const scope of session.scopes) {
    for (const allocation of scope.allocations) {
      if (allocation.live && allocation.pool === pool) sum += allocation.amount;
    }
  }
  return sum;
}

/** Puts the totals over `jobs` into the context: residents, decoders, memory held. */
export function readTotals(m: Machine, stage: StageState, jobs: readonly Job[]): void {
  const { memory, residents } = stage.engine!;
  let decoders = 0;
  let decoding = 0;
  let prefilling = 0;
  for (const job of jobs) {
    const held = heldIn(job.session, memory);
    if (job.decode) {
      decoders += 1;
      decoding += held;
    } else {
      prefilling += held;
    }
  }
  m.context[CONTEXT.Nres] = residents.length;
  m.context[CONTEXT.Ndec] = decoders;
  m.context[CONTEXT.Kvb] = decoding;
  m.context[CONTEXT.Kvp] = prefilling;
}

/** Tokens that a job could use in one iteration under a cap (0: none). */
export function wants(job: Job, chunk: number): number {
  if (job.decode) return Math.min(1, job.remaining);
  return chunk > 0 ? Math.min(job.remaining, chunk) : job.remaining;
}

/** `budget_left(E)`: what is left of the iteration being formed, else of the next one. */
export function engineBudgetLeft(m: Machine, stage: StageState): number {
  if (m.forming !== null && m.forming.stage === stage.index) return m.forming.left;
  const engine = stage.engine!;
  const { session, stream, attributes } = m;
  const saved = m.context.slice();
  readTotals(m, stage, engine.residents);
  m.session = null;
  m.stream = "machine";
  let left = engine.budget();
  const chunk = engine.chunk();
  m.context.set(saved);
  m.session = session;
  m.stream = stream;
  m.attributes = attributes;
  for (const job of engine.residents) left -= wants(job, chunk);
  return Math.max(0, left);
}

/** Reads an expression for the deployment, for no session. */
export function readFree(m: Machine, eval_: Eval): number {
  m.session = null;
  m.stream = "machine";
  return eval_();
}
