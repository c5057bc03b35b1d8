/**
 * Plain stages: fifo, processor sharing, delay. A job starts, waits, shares and finishes here; flows
 * over several stages are in interpreter_flows.ts, engines in interpreter_engine.ts. Processor sharing
 * runs in virtual time: a job is done when the stage's virtual clock reaches its tag.
 */
import { CONTEXT, type Machine } from "./interpreter_machine.ts";
import type { Job, Session, StageState } from "./interpreter_state.ts";

export interface JobFields {
  readonly session: Session | null;
  readonly work: number;
  readonly decode?: boolean;
  readonly growing?: number;
  readonly flow?: readonly number[];
}

export function makeJob(m: Machine, stage: StageState, fields: JobFields): Job {
  const { session, work } = fields;
  const job: Job = {
    kind: "finish",
    number: m.nextJob++,
    session,
    stage: stage.index,
    decode: fields.decode ?? false,
    growing: fields.growing ?? -1,
    remaining: work,
    arrival: m.now,
    start: NaN,
    tag: 0,
    admission: session?.admission ?? Infinity,
    gone: false,
    flow: fields.flow ?? null,
    rate: 0,
    before: null,
    after: null,
  };
  if (session !== null) {
    session.job = job;
    session.status = "running";
  }
  return job;
}

/** A run of no work yields and is done; it was never on the stage. */
export function passAtOnce(m: Machine, { session, work }: JobFields): boolean {
  if (work > 0) return false;
  if (session !== null) m.makeReady(session);
  return true;
}

/** Puts work on a fifo, ps or delay stage. */
export function startPlain(m: Machine, stage: StageState, fields: JobFields): void {
  if (passAtOnce(m, fields)) return;
  const job = makeJob(m, stage, fields);
  stage.present += 1;
  if (stage.kind === "fifo") {
    if (stage.jobs.size < stage.servers) serve(m, stage, job);
    else stage.waiting.push(job);
    return;
  }
  job.start = m.now;
  stage.jobs.add(job);
  if (stage.kind === "delay") {
    job.tag = m.now + job.remaining;
    m.heap.push(job.tag, job);
    return;
  }
  readVirtualClock(m, stage);
  job.tag = stage.virtual + job.remaining;
  stage.tags.push(job.tag, job);
  stage.changed = true;
}

function serve(m: Machine, stage: StageState, job: Job): void {
  job.start = m.now;
  job.tag = m.now + job.remaining;
  stage.jobs.add(job);
  m.heap.push(job.tag, job);
}

/** The end of a fifo or delay job, or of a job without work. */
export function finishPlain(m: Machine, stage: StageState, job: Job): void {
  if (job.gone) return;
  removeJob(m, stage, job);
  complete(m, stage, job);
  if (job.session !== null) {
    job.session.job = null;
    m.makeReady(job.session);
  }
}

/** The end of the processor-sharing job with the least tag. */
export function finishShare(m: Machine, stage: StageState, plan: number): void {
  if (plan !== stage.plan) return;
  const job = firstTag(stage);
  if (job === undefined) return;
  readVirtualClock(m, stage);
  stage.virtual = greater(stage.virtual, job.tag);
  finishPlain(m, stage, job);
}

/** Takes a job off its stage without counting it. */
export function removeJob(m: Machine, stage: StageState, job: Job): void {
  job.gone = true;
  stage.present -= 1;
  if (stage.kind === "ps") {
    readVirtualClock(m, stage);
    stage.changed = true;
  }
  // Service has begun, or it still waits.
  if (!Number.isNaN(job.start)) {
    stage.jobs.remove(job);
    const next = stage.kind === "fifo" ? stage.waiting.shift() : undefined;
    if (next !== undefined) serve(m, stage, next);
    return;
  }
  const at = stage.waiting.indexOf(job);
  if (at >= 0) stage.waiting.splice(at, 1);
}

export function complete(m: Machine, stage: StageState, job: Job): void {
  const wait = job.start - job.arrival;
  const service = m.now - job.start;
  stage.estimator.observe(job.start, wait, service);
  if (!m.warm) return;
  stage.completed += 1;
  stage.waits.push(wait);
  stage.services.push(service);
}

/** As the original's: a NaN, which an infinite rate makes of an instant, is no obstacle. */
function greater(a: number, b: number): number {
  if (Number.isNaN(a)) return b;
  return Number.isNaN(b) ? a : Math.max(a, b);
}

function readVirtualClock(m: Machine, stage: StageState): void {
  stage.virtual += stage.rate * (m.now - stage.read);
  stage.read = m.now;
}

function firstTag(stage: StageState): Job | undefined {
  let job = stage.tags.peek();
  while (job?.gone === true) {
    stage.tags.pop();
    job = stage.tags.peek();
  }
  return job;
}

/** After the jobs of a ps stage changed: its new rate and next finish. */
export function planShare(m: Machine, stage: StageState): void {
  if (!stage.changed) return;
  stage.changed = false;
  stage.plan += 1;
  readVirtualClock(m, stage);
  if (stage.present === 0) {
    stage.rate = 0;
    return;
  }
  m.session = null;
  m.stream = "machine";
  m.context[CONTEXT.N] = stage.present;
  stage.rate = stage.capacity() / stage.present;
  const job = firstTag(stage);
  if (job === undefined || !(stage.rate > 0)) return;
  const time = m.now + greater((job.tag - stage.virtual) / stage.rate, 0);
  m.heap.push(time, { kind: "share", stage, plan: stage.plan });
}

/** `work(s)`: what the jobs there still need. */
export function unfinishedWork(m: Machine, stage: StageState): number {
  let sum = -0;
  switch (stage.kind) {
    case "engine":
      for (const job of stage.engine!.residents) sum += job.remaining;
      return sum;
    case "flow":
      for (const job of stage.flows) sum += job.remaining - job.rate * (m.now - m.flowsRead);
      return sum;
    case "ps": {
      const now = stage.virtual + stage.rate * (m.now - stage.read);
      for (let job = stage.jobs.first; job !== null; job = job.after) sum += job.tag - now;
      return sum;
    }
    default:
      for (let job = stage.jobs.first; job !== null; job = job.after) {
        sum += job.remaining - (m.now - job.start);
      }
      return sum + stage.waiting.reduce((waiting, job) => waiting + job.remaining, -0);
  }
}
