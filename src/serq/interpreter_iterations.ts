/** The life of an iteration that was formed: positions advance, its end is scheduled, tokens count. */
import { countClientToken } from "./interpreter_client.ts";
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import { innermost } from "./interpreter_pools.ts";
import { readFree, readTotals, wants } from "./interpreter_residents.ts";
import { complete } from "./interpreter_stages.ts";
import {
  type EngineState,
  EPSILON,
  type Iteration,
  type Job,
  type StageState,
} from "./interpreter_state.ts";
import { RunError, runErrors } from "./run_errors.ts";

export function begin(m: Machine, stage: StageState, iteration: Iteration): void {
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
  countClientToken(m, session, job.decode);
  const turn = session.attributes[m.program.slot_turn]!;
  const { token } = session;
  const known = token !== null && token.turn === turn;
  const decoded = job.decode || (known && token.follows);
  const resumed = known && token.preempted && token.stage === stage.index;
  if (known && (decoded || resumed) && m.warm) engine.gaps.push(m.now - token.time);
  session.token = { turn, time: m.now, stage: stage.index, follows: decoded, preempted: false };
}
