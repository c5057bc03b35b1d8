/**
 * Engines: how an iteration is formed, started and ended. The residents are served in order, each a
 * part of the budget; what is left admits who waits, one at a time, and serves it at once. A growth
 * that does not fit may preempt residents, whose tokens come back.
 */
import { compareKeys } from "./interpreter_amounts.ts";
import { grow } from "./interpreter_growth.ts";
import { begin } from "./interpreter_iterations.ts";
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import { admit, fits, innermost, nextWaiter } from "./interpreter_pools.ts";
import { addResident, readFree, readTotals, wants } from "./interpreter_residents.ts";
import { type JobFields, makeJob, passAtOnce } from "./interpreter_stages.ts";
import {
  type BodyOp,
  EPSILON,
  type Eval,
  type Iteration,
  type Job,
  type StageState,
} from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

/** What a session that was never admitted reads as its `admission`. */
const LAST_ADMISSION = 2 ** 64;

export function startEngineJob(m: Machine, stage: StageState, fields: JobFields): void {
  if (passAtOnce(m, fields)) return;
  const job = makeJob(m, stage, fields);
  job.start = m.now;
  stage.present += 1;
  addResident(stage, job);
}

function fillContext(m: Machine, stage: StageState, iteration: Iteration): void {
  m.context[CONTEXT.Ntok] = iteration.scheduled;
  m.context[CONTEXT.Npre] = iteration.prefilled;
  m.context[CONTEXT.Admitted] = iteration.admitted;
  m.context[CONTEXT.Preempted] = iteration.preempted;
  readTotals(m, stage, stage.engine!.residents);
}

/** Tries to start an iteration; false when nothing is scheduled and nobody was preempted. */
export function tryIteration(m: Machine, stage: StageState): boolean {
  const engine = stage.engine!;
  readTotals(m, stage, engine.residents);
  const budget = readFree(m, engine.budget);
  const chunk = readFree(m, engine.chunk);
  const iteration: Iteration = {
    stage: stage.index,
    jobs: [],
    tokens: [],
    budget,
    left: budget,
    chunk,
    scheduled: 0,
    prefilled: 0,
    admitted: 0,
    preempted: 0,
    refused: false,
    start: m.now,
  };
  const registers = m.registers.slice();
  m.forming = iteration;
  if (engine.exclusive) formExclusive(m, stage, iteration);
  else if (engine.body === null) formDefault(m, stage, iteration);
  else runBody(m, stage, iteration, engine.body, new Set());
  m.forming = null;
  if (iteration.jobs.length === 0 && iteration.preempted === 0) {
    if (iteration.admitted === 0) registers.forEach((value, i) => m.registers[i] = value);
    engine.idleWithWork = true;
    return false;
  }
  engine.idleWithWork = false;
  begin(m, stage, iteration);
  return true;
}

// --- Serving ---------------------------------------------------------------------------------------

/** Gives a resident its part of what is left. "self": it preempted itself. */
function give(m: Machine, stage: StageState, iteration: Iteration, job: Job): "next" | "self" {
  const engine = stage.engine!;
  const session = job.session!;
  let tokens = Math.min(wants(job, engine.exclusive ? 0 : iteration.chunk), iteration.left);
  if (engine.exclusive && iteration.chunk > 0 && !job.decode) {
    tokens = Math.min(tokens, iteration.chunk);
  }
  if (engine.granule !== null && !job.decode && tokens < job.remaining - EPSILON) {
    const granule = readFree(m, engine.granule);
    tokens = granule === Infinity ? 0 : Math.floor((tokens + EPSILON) / granule) * granule;
    if (tokens <= 0) {
      iteration.refused = true;
      return "next";
    }
  }
  if (!(tokens > 0)) return "next";
  if (job.growing >= 0) {
    if (session.grower !== null) return "next";
    const allocation = innermost(session, job.growing);
    if (allocation === undefined) throw new RunError(runErrors.scope(m.pools[job.growing]!.name));
    const missing = allocation.position + tokens - allocation.amount;
    if (missing > EPSILON) {
      const growth = grow(m, allocation, missing, job);
      if (growth === "self") return "self";
      if (growth === "stalled") return "next";
    }
  }
  iteration.jobs.push(job);
  iteration.tokens.push(tokens);
  iteration.left -= tokens;
  iteration.scheduled += tokens;
  if (!job.decode) iteration.prefilled += tokens;
  return "next";
}

/** The first resident in an order that `considered` does not hold and `only` does not exclude. */
function nextResident(
  m: Machine,
  stage: StageState,
  iteration: Iteration,
  order: readonly Eval[] | null,
  considered: ReadonlySet<Job>,
  only: Eval | null,
): Job | undefined {
  let best: Job | undefined;
  let bestKeys: number[] = [];
  for (const job of stage.engine!.residents) {
    if (considered.has(job)) continue;
    if (order === null && only === null) return job;
    if (only !== null && readForResident(m, stage, iteration, job, only) === 0) continue;
    if (order === null) return job;
    const keys = order.map((key) => readForResident(m, stage, iteration, job, key));
    if (best === undefined || compareKeys(keys, bestKeys) < 0) {
      best = job;
      bestKeys = keys;
    }
  }
  return best;
}

function readForResident(
  m: Machine,
  stage: StageState,
  iteration: Iteration,
  job: Job,
  eval_: Eval,
): number {
  fillContext(m, stage, iteration);
  m.context[CONTEXT.Decoding] = job.decode ? 1 : 0;
  m.context[CONTEXT.Admission] = job.admission === Infinity ? LAST_ADMISSION : job.admission;
  m.context[CONTEXT.Remaining] = job.remaining;
  m.session = job.session;
  m.stream = "session";
  m.attributes = job.session!.attributes;
  return eval_();
}

/** Admits the head of one of the engine's queues with what is left; false when none fits. */
function admitOne(m: Machine, stage: StageState, iteration: Iteration): boolean {
  for (const at of stage.engine!.admits) {
    const waiter = nextWaiter(m, m.pools[at]!);
    if (waiter === undefined) continue;
    const needs = fits(m, waiter);
    if (needs === null) return false;
    m.newJobsFrom = m.nextJob;
    admit(m, waiter, needs);
    iteration.admitted += 1;
    m.runReady!();
    return true;
  }
  return false;
}

function formDefault(m: Machine, stage: StageState, iteration: Iteration): void {
  const { order } = stage.engine!;
  const considered = new Set<Job>();
  for (;;) {
    const job = nextResident(m, stage, iteration, order, considered, null);
    if (job === undefined) {
      const open = iteration.left > 0 && iteration.preempted === 0 && !iteration.refused;
      if (open && admitOne(m, stage, iteration)) continue;
      return;
    }
    considered.add(job);
    const before = iteration.jobs.length;
    if (give(m, stage, iteration, job) === "self") return;
    if (iteration.jobs.length > before && iteration.left <= 0) return;
  }
}

function formExclusive(m: Machine, stage: StageState, iteration: Iteration): void {
  const { order, residents } = stage.engine!;
  const alone = residents.some((job) => !job.decode);
  const considered = new Set<Job>();
  const { budget } = iteration;
  for (;;) {
    const job = nextResident(m, stage, iteration, order, considered, null);
    if (job === undefined) {
      if (iteration.left <= 0 || iteration.preempted > 0 || iteration.refused) return;
      if (iteration.jobs.some((other) => !other.decode)) return;
      const { left } = iteration;
      iteration.left = budget;
      const admitted = admitOne(m, stage, iteration);
      iteration.left = left;
      if (admitted) continue;
      return;
    }
    considered.add(job);
    if (job.decode) {
      if (alone) continue;
      if (give(m, stage, iteration, job) === "self") return;
      continue;
    }
    const kept = { jobs: iteration.jobs.splice(0), tokens: iteration.tokens.splice(0) };
    const { left, scheduled } = iteration;
    iteration.left = budget;
    iteration.scheduled = 0;
    const outcome = give(m, stage, iteration, job);
    if (iteration.jobs.length > 0) return;
    // It got nothing: the decodes chosen before stay, but for those that it preempted.
    iteration.left = left;
    iteration.scheduled = scheduled;
    kept.jobs.forEach((other, i) => {
      const tokens = kept.tokens[i]!;
      if (other.gone) {
        iteration.left += tokens;
        iteration.scheduled -= tokens;
      } else {
        iteration.jobs.push(other);
        iteration.tokens.push(tokens);
      }
    });
    if (outcome === "self") return;
  }
}

function guardOf(m: Machine, stage: StageState, iteration: Iteration, guard: Eval): boolean {
  fillContext(m, stage, iteration);
  const value = readFree(m, guard);
  if (value !== 0 && value !== 1) throw new RunError(runErrors.guard(stage.name, value));
  return value === 1;
}

/** A schedule with a body, statement by statement; `served` are the residents that had their turn. */
function runBody(
  m: Machine,
  stage: StageState,
  iteration: Iteration,
  body: readonly BodyOp[],
  served: Set<Job>,
): void {
  const engine = stage.engine!;
  for (const op of body) {
    switch (op.kind) {
      case "serve":
        serveAll(m, stage, iteration, op.by ?? engine.order, op.only, served);
        break;
      case "admit":
        while (iteration.left > 0 && !iteration.refused) {
          if (op.gate !== null && !guardOf(m, stage, iteration, op.gate)) break;
          if (!admitOne(m, stage, iteration)) break;
          if (!serveAll(m, stage, iteration, engine.order, op.only, served, true)) break;
        }
        break;
      case "branch": {
        const taken = guardOf(m, stage, iteration, op.guard) ? op.yes : op.no;
        runBody(m, stage, iteration, taken, served);
        break;
      }
      case "set": {
        fillContext(m, stage, iteration);
        const value = readFree(m, op.value);
        if (!Number.isFinite(value)) {
          const { name } = m.program.registers![op.register]!;
          throw new RunError(runErrors.register(name, value));
        }
        m.registers[op.register] = value;
        break;
      }
    }
  }
}

/** Serves residents that had no turn yet; false when one preempted itself, which ends a statement. */
function serveAll(
  m: Machine,
  stage: StageState,
  iteration: Iteration,
  order: readonly Eval[] | null,
  only: Eval | null,
  served: Set<Job>,
  newcomers = false,
): boolean {
  const from = newcomers ? m.newJobsFrom : -1;
  while (iteration.left > 0) {
    const skipped = new Set(served);
    if (newcomers) {
      for (const job of stage.engine!.residents) if (job.number < from) skipped.add(job);
    }
    const job = nextResident(m, stage, iteration, order, skipped, only);
    if (job === undefined) break;
    served.add(job);
    if (give(m, stage, iteration, job) === "self") return false;
  }
  return true;
}
