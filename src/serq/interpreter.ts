/**
 * The interpreter: a discrete-event simulation of a program in IR form. Events are taken in order of
 * time, key and sequence; after each, everything that can go on at that instant does (`settle`). The
 * clock is virtual. `run` is a generator of control: `step` handles one event, so that another clock
 * can drive the machine, stop it and ask for the report so far.
 */
import { buildMachine } from "./interpreter_build.ts";
import { checkDeadlock } from "./interpreter_deadlock.ts";
import { tryIteration } from "./interpreter_engine.ts";
import type { ExpressionCompiler } from "./interpreter_expressions.ts";
import { finishFlow, planFlows } from "./interpreter_flows.ts";
import { retryPool, retryPools } from "./interpreter_growth.ts";
import { checkIntegrity } from "./interpreter_integrity.ts";
import { endIteration } from "./interpreter_iterations.ts";
import type { Machine } from "./interpreter_machine.ts";
import { endLease } from "./interpreter_pools.ts";
import { execute, refuse } from "./interpreter_sessions.ts";
import { spawn, type Workload } from "./interpreter_spawn.ts";
import { finishPlain, finishShare, planShare } from "./interpreter_stages.ts";
import type { Eval, Event } from "./interpreter_state.ts";
import { isPresent, type Program, type Share, type TraceTurn } from "./ir.ts";
import { RunError, runErrors } from "./run_errors.ts";
import { poissonGap } from "./variates.ts";

export interface InterpreterOptions {
  /** The recorded sessions of a program with a trace. */
  readonly corpus?: readonly (readonly TraceTurn[])[];
  /** Keep a list of all iterations. */
  readonly traceIterations?: boolean;
  /** Keep time, session and turn of every observed value. */
  readonly dump?: boolean;
  /** Check at every event that nothing leaked. */
  readonly integrity?: boolean;
}

const ARRIVE: Event = { kind: "arrive" };

export class Interpreter {
  readonly machine: Machine;
  private readonly workload: Workload;
  private readonly share: Share;
  private readonly integrity: boolean;
  private readonly gap: Eval | null;
  private finished = false;

  constructor(program: Program, options: InterpreterOptions = {}) {
    const { machine, workload, share, expressions } = buildMachine(program, options);
    this.machine = machine;
    this.workload = workload;
    this.share = share;
    this.integrity = options.integrity ?? false;
    this.gap = gapOf(program, machine, expressions);
    machine.refuse = (session) => refuse(machine, session, workload);
    machine.runReady = () => this.runReady();
    this.start();
  }

  private start(): void {
    const { machine: m } = this;
    const { program } = m;
    if (program.warmup > 0) m.heap.push(program.warmup, { kind: "warm" });
    const { arrival } = program;
    if (typeof arrival === "object") {
      if ("Poisson" in arrival) m.heap.push(0, ARRIVE);
      else if ("Renewal" in arrival) m.heap.push(this.nextGap(), ARRIVE);
      else {
        const count = "Closed" in arrival ? arrival.Closed : arrival.Batch;
        for (let i = 0; i < count; i++) spawn(m, this.workload);
      }
    }
    this.settle();
  }

  /** Handles the next event; false when the run is over. */
  step(): boolean {
    const { machine: m } = this;
    const { horizon, arrivals } = m.program;
    if (this.finished) return false;
    const time = m.heap.peekTime();
    const drained = isPresent(arrivals) && m.arrivals >= arrivals && m.live.size === 0;
    if (drained || time > horizon) return false;
    if (time > m.now) this.readGauges();
    const event = m.heap.pop();
    if (event === undefined) return false;
    m.now = time;
    m.events += 1;
    this.handle(event);
    this.settle();
    return true;
  }

  /** Runs to the end, or until `stop` says so every so many events. */
  run(stop?: () => boolean, every = 4096): void {
    for (let count = 1; this.step(); count++) {
      if (stop !== undefined && count % every === 0 && stop()) break;
    }
    this.finish();
  }

  /** Closes the books; safe to call at any event. */
  finish(): void {
    if (this.finished) return;
    this.finished = true;
    const { machine: m } = this;
    const { horizon, warmup, arrivals } = m.program;
    const over = m.heap.size === 0 || m.heap.peekTime() > horizon ||
      (isPresent(arrivals) && m.live.size === 0);
    this.readGauges();
    if (isPresent(arrivals)) {
      if (over && m.arrivals < arrivals) {
        throw new RunError(runErrors.horizonReached(horizon, m.arrivals, arrivals));
      }
      if (over && m.live.size > 0) {
        throw new RunError(runErrors.undrained(m.live.size, horizon));
      }
      if (over && m.now <= warmup) throw new RunError(runErrors.noInterval(m.now, warmup));
    }
    if (over) {
      // Holds ask for what they asked for at the last event.
      checkDeadlock(m);
      if (!isPresent(arrivals)) m.now = horizon;
    }
    for (const claim of m.claims) {
      if (claim.kind !== "end" || claim.outOfScope || m.live.size > 0) continue;
      m.session = null;
      m.stream = "machine";
      claim.result = claim.eval() !== 0;
      claim.checked = 1;
      if (claim.result) continue;
      claim.failures = 1;
      claim.first = m.now;
    }
  }

  private handle(event: Event): void {
    const { machine: m } = this;
    switch (event.kind) {
      case "finish":
        finishPlain(m, m.stages[event.stage]!, event);
        return;
      case "share":
        finishShare(m, event.stage, event.plan);
        return;
      case "flow":
        finishFlow(m, event.plan);
        return;
      case "iteration":
        endIteration(m, event.stage, event.iteration);
        return;
      case "lease":
        if (event.lease.over) return;
        endLease(m, event.lease);
        retryPools(m);
        return;
      case "warm":
        this.endWarmup();
        return;
      case "arrive": {
        const { arrivals } = m.program;
        if (!isPresent(arrivals) || m.arrivals + 1 < arrivals) {
          m.heap.push(m.now + this.nextGap(), ARRIVE);
        }
        spawn(m, this.workload);
      }
    }
  }

  private nextGap(): number {
    const { machine: m } = this;
    const { arrival } = m.program;
    if (typeof arrival === "object" && "Poisson" in arrival) {
      return poissonGap(m.sharedStream("arrivals"), arrival.Poisson);
    }
    m.session = null;
    m.stream = "arrivals";
    const gap = this.gap!();
    if (!(gap > 0 && gap < Infinity)) throw new RunError(runErrors.gap(gap));
    return gap;
  }

  private runReady(): void {
    const { machine: m } = this;
    while (m.readyAt < m.readyEnd) {
      const session = m.ready[m.readyAt++]!;
      if (session.status === "ready") execute(m, session, this.workload);
    }
    m.readyAt = 0;
    m.readyEnd = 0;
  }

  private settle(): void {
    const { machine: m } = this;
    do {
      this.runReady();
      for (const pool of m.pools) {
        if (pool.growers.length > 0 || pool.queue.length > 0) retryPool(m, pool);
      }
    } while (m.readyEnd > 0);
    const quiet = m.heap.peekTime() > m.now;
    for (const stage of m.stages) {
      if (stage.kind === "ps") planShare(m, stage);
      else if (stage.engine !== null && quiet && stage.engine.running === null) {
        const { residents, admits } = stage.engine;
        const due = residents.length > 0 || admits.some((at) => m.pools[at]!.queue.length > 0);
        if (due) tryIteration(m, stage);
      }
    }
    planFlows(m, this.share);
    this.recordAverages();
    if (this.integrity) checkIntegrity(m);
  }

  private recordAverages(): void {
    const { machine: m } = this;
    const { now } = m;
    m.liveAverage.set(now, m.live.size);
    for (const stage of m.stages) {
      stage.number.set(now, stage.present);
      if (stage.kind === "flow") {
        let rate = 0;
        for (const job of stage.flows) rate += job.rate;
        stage.busy.set(now, rate / stage.capacity());
      } else {
        stage.busy.set(now, stage.present > 0 ? 1 : 0);
      }
    }
    for (const pool of m.pools) {
      pool.usedAverage.set(now, pool.used);
      pool.cachedAverage.set(now, pool.cached);
      pool.queueAverage.set(now, pool.queue.length);
      pool.holdersAverage.set(now, pool.holders.size);
    }
  }

  private endWarmup(): void {
    const { machine: m } = this;
    const { now } = m;
    m.warm = true;
    m.liveAverage.restart(now);
    for (const stage of m.stages) {
      stage.number.restart(now);
      stage.busy.restart(now);
      const { engine } = stage;
      if (engine === null) continue;
      for (const average of [engine.prefillOnly, engine.decodeOnly, engine.mixed, engine.decodes]) {
        average.restart(now);
      }
    }
    for (const pool of m.pools) {
      for (
        const average of [
          pool.usedAverage,
          pool.cachedAverage,
          pool.queueAverage,
          pool.holdersAverage,
        ]
      ) average.restart(now);
    }
  }

  private readGauges(): void {
    const { machine: m } = this;
    for (const gauge of m.gauges) {
      m.session = null;
      m.stream = "machine";
      const value = gauge.eval();
      const { times, values } = gauge;
      if (values.length > 0 && Object.is(values[values.length - 1], value)) continue;
      times.push(m.now);
      values.push(value);
    }
  }
}

function gapOf(program: Program, m: Machine, expressions: ExpressionCompiler): Eval | null {
  const { arrival } = program;
  void m;
  return typeof arrival === "object" && "Renewal" in arrival
    ? expressions.compile(arrival.Renewal)
    : null;
}
