/**
 * Flows: jobs that hold several ps stages at once and share their capacities, by progressive filling
 * (`maxmin`) or by the tightest stage (`bottleneck`). Rates change only when the set of flows does;
 * the earliest finish alone is scheduled, and it is void once rates are computed anew.
 */
import type { Machine } from "./interpreter_machine.ts";
import { complete, type JobFields, makeJob, passAtOnce } from "./interpreter_stages.ts";
import type { Job, StageState } from "./interpreter_state.ts";
import type { Share } from "./ir.ts";

export function startFlow(m: Machine, stage: StageState, fields: JobFields): void {
  if (passAtOnce(m, fields)) return;
  const job = makeJob(m, stage, fields);
  job.start = m.now;
  for (const at of job.flow!) m.stages[at]!.present += 1;
  readFlows(m);
  m.flows.add(job);
  for (const at of job.flow!) m.stages[at]!.flows.add(job);
  m.flowsChanged = true;
}

/** Takes a flow off its stages without counting it. */
export function removeFlow(m: Machine, job: Job): void {
  job.gone = true;
  readFlows(m);
  for (const at of job.flow!) {
    const stage = m.stages[at]!;
    stage.present -= 1;
    stage.flows.delete(job);
  }
  m.flows.delete(job);
  m.flowsChanged = true;
}

function endFlow(m: Machine, job: Job): void {
  removeFlow(m, job);
  for (const at of job.flow!) complete(m, m.stages[at]!, job);
  if (job.session !== null) {
    job.session.job = null;
    m.makeReady(job.session);
  }
}

/** The end of the flow that finishes first. */
export function finishFlow(m: Machine, plan: number): void {
  if (plan !== m.flowPlan) return;
  const job = earliest(m);
  if (job !== undefined) endFlow(m, job);
}

function readFlows(m: Machine): void {
  const passed = m.now - m.flowsRead;
  if (passed > 0) {
    for (const job of m.flows) job.remaining = Math.max(job.remaining - job.rate * passed, 0);
  }
  m.flowsRead = m.now;
}

function earliest(m: Machine): Job | undefined {
  let first: Job | undefined;
  let least = Infinity;
  for (const job of m.flows) {
    const time = job.remaining / job.rate;
    if (time < least) {
      least = time;
      first = job;
    }
  }
  return first;
}

/** After the set of flows changed: everybody's rate and the next finish. */
export function planFlows(m: Machine, share: Share): void {
  if (!m.flowsChanged) return;
  m.flowsChanged = false;
  m.flowPlan += 1;
  readFlows(m);
  if (share === "MaxMin") fillProgressively(m);
  else shareAtBottleneck(m);
  const first = earliest(m);
  if (first === undefined) return;
  m.heap.push(m.now + first.remaining / first.rate, { kind: "flow", plan: m.flowPlan });
}

function capacityOf(m: Machine, at: number): number {
  m.session = null;
  m.stream = "machine";
  return m.stages[at]!.capacity();
}

function shareAtBottleneck(m: Machine): void {
  for (const job of m.flows) {
    let rate = Infinity;
    for (const at of job.flow!) {
      rate = Math.min(rate, capacityOf(m, at) / m.stages[at]!.flows.size);
    }
    job.rate = rate;
  }
}

/** Everybody's rate rises together; a stage that fills stops its flows, the rest go on. */
function fillProgressively(m: Machine): void {
  const free = new Map<number, number>();
  const rising = new Map<number, number>();
  for (const stage of m.stages) {
    if (stage.kind !== "flow" || stage.flows.size === 0) continue;
    free.set(stage.index, capacityOf(m, stage.index));
    rising.set(stage.index, stage.flows.size);
  }
  const fixed = new Set<Job>();
  while (fixed.size < m.flows.size) {
    let tightest = -1;
    let level = Infinity;
    for (const [at, capacity] of free) {
      const count = rising.get(at)!;
      if (count === 0) continue;
      const share = capacity / count;
      if (share < level) {
        level = share;
        tightest = at;
      }
    }
    if (tightest < 0) return;
    for (const job of m.stages[tightest]!.flows) {
      if (fixed.has(job)) continue;
      fixed.add(job);
      job.rate = level;
      for (const at of job.flow!) {
        rising.set(at, rising.get(at)! - 1);
        free.set(at, free.get(at)! - level);
      }
    }
  }
}
