/**
 * Engines: how an iteration is formed, started and ended. The residents are served in order, each a
 * part of the budget; what is left admits who waits, one at a time, and serves it at once. A growth
 * that does not fit may preempt residents, whose tokens come back.
 */
import {
  admit as admitWaiter,
  compareKeys,
  fits,
  grow,
  innermost,
  nextWaiter,
} from "./interpreter_pools.ts";
import { addResident, readTotals, wants } from "./interpreter_residents.ts";
import { complete, type JobFields, makeJob, passAtOnce } from "./interpreter_stages.ts";
import {
  type BodyOp,
  CONTEXT,
  type EngineState,
  EPSILON,
  type Eval,
  type Iteration,
  type Job,
  type Machine,
  type StageState,
} from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

export function startEngineJob(m: Machine, stage: StageState, fields: JobFields): void {
  if (passAtOnce(m, fields)) return;
  const job = makeJob(m, stage, fields);
  job.start = m.now;
  stage.present += 1;
  addResident(stage, job);
}

/** Reads an expression for the deployment, for no session. */
function readFree(m: Machine, eval_: Eval): number {
  m.session = null;
  m.stream = "machine";
  return eval_();
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
  m.context[CONTEXT.Admission] = job.admission === Infinity ? 18446744073709551615 : job.admission;
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
    admitWaiter(m, waiter, needs);
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
    if (give(m, stage, iteration, job) === "self") return;
    if (iteration.jobs.length > 0) return;
    // It got nothing (it stalled): the decodes chosen before stay.
    iteration.jobs.push(...kept.jobs);
    iteration.tokens.push(...kept.tokens);
    iteration.left = left;
    iteration.scheduled = scheduled;
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

// --- The iteration's life --------------------------------------------------------------------------

function begin(m: Machine, stage: StageState, iteration: Iteration): void {
  const engine = stage.engine!;
  let attention = 0;
  iteration.jobs.forEach((job, i) => {
    const tokens = iteration.tokens[i]!;
    const allocation = job.growing >= 0 ? innermost(job.session!, job.growing) : undefined;
    if (!job.decode) attention += tokens * ((allocation?.position ?? 0) + tokens / 2);
    if (allocation !== undefined) {
      allocation.position += tokens;
      allocation.scope.moved = true;
    }
  });
  readTotals(m, stage, iteration.jobs);
  m.context[CONTEXT.Nres] = engine.residents.length;
  m.context[CONTEXT.Ntok] = iteration.scheduled;
  m.context[CONTEXT.Npre] = iteration.prefilled;
  m.context[CONTEXT.Attn] = attention;
  checkClaims(m, stage, iteration);
  const duration = Math.max(0, readFree(m, engine.cost));
  if (!(duration > 0) && iteration.scheduled > 0) {
    throw new RunError(runErrors.iterationTime(stage.name, duration));
  }
  m.heap.push(m.now + duration, { kind: "iteration", stage, iteration });
  engine.running = iteration;
  engine.iterations += 1;
  engine.served += iteration.scheduled;
  m.iterations += 1;
  const decodes = iteration.jobs.filter((job) => job.decode).length;
  recordMix(m, engine, decodes, iteration.jobs.length - decodes);
  if (m.warm && decodes > 0) {
    engine.decodeBatch.push(decodes);
    engine.decodeStep.push(duration);
  }
  m.iterationTrace?.push({
    stage: stage.name,
    start: m.now,
    end: m.now + duration,
    batch: iteration.jobs.map((job, i) => ({
      session: job.session!.serial,
      decode: job.decode,
      tokens: iteration.tokens[i]!,
    })),
  });
}

/** What kind of iteration runs from now on. */
function recordMix(m: Machine, engine: EngineState, decodes: number, prefills: number): void {
  engine.prefillOnly.set(m.now, prefills > 0 && decodes === 0 ? 1 : 0);
  engine.decodeOnly.set(m.now, decodes > 0 && prefills === 0 ? 1 : 0);
  engine.mixed.set(m.now, decodes > 0 && prefills > 0 ? 1 : 0);
  engine.decodes.set(m.now, decodes);
}

function checkClaims(m: Machine, stage: StageState, iteration: Iteration): void {
  const about = m.claims.filter((claim) => claim.stage === stage.index);
  if (about.length === 0) return;
  const engine = stage.engine!;
  let demand = 0;
  for (const job of engine.residents) demand += wants(job, iteration.chunk);
  m.context[CONTEXT.Demand] = demand;
  m.context[CONTEXT.Served] = engine.served;
  m.context[CONTEXT.Arrived] = m.arrivals;
  for (const claim of about) {
    const holds = readFree(m, claim.eval) !== 0;
    claim.checked += 1;
    if (!holds) claim.failures += 1;
    if (claim.first === null && holds === (claim.kind === "some")) claim.first = m.now;
  }
}

/** The end of an iteration: tokens are counted, finished jobs leave in batch order. */
export function endIteration(m: Machine, stage: StageState, iteration: Iteration): void {
  const engine = stage.engine!;
  if (engine.running !== iteration) return;
  engine.running = null;
  recordMix(m, engine, 0, 0);
  const finished: Job[] = [];
  iteration.jobs.forEach((job, i) => {
    if (job.gone) return;
    job.remaining -= iteration.tokens[i]!;
    const done = job.remaining <= EPSILON;
    if (job.decode || done) countToken(m, stage, engine, job);
    if (done) finished.push(job);
  });
  for (const job of finished) {
    job.gone = true;
    stage.present -= 1;
    engine.residents.splice(engine.residents.indexOf(job), 1);
    complete(m, stage, job);
    job.session!.job = null;
    m.makeReady(job.session!);
  }
}

function countToken(m: Machine, stage: StageState, engine: EngineState, job: Job): void {
  const session = job.session!;
  const turn = session.attributes[m.program.slot_turn]!;
  const { token } = session;
  const known = token !== null && token.turn === turn;
  const decoded = job.decode || (known && token.follows);
  const resumed = known && token.preempted && token.stage === stage.index;
  if (known && (decoded || resumed) && m.warm) engine.gaps.push(m.now - token.time);
  session.token = { turn, time: m.now, stage: stage.index, follows: decoded, preempted: false };
}
