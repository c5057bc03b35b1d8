/** Builds the machine of a program: its pools, stages and expressions, all empty at time 0. */
import { EventHeap } from "./heap.ts";
import { LinkedList } from "./linked_list.ts";
import type { InterpreterOptions } from "./interpreter.ts";
import { StatementCompiler } from "./interpreter_compile.ts";
import { ExpressionCompiler } from "./interpreter_expressions.ts";
import { Machine, observation } from "./interpreter_machine.ts";
import type { Workload } from "./interpreter_spawn.ts";
import type { BodyOp, EngineState, StageState } from "./interpreter_state.ts";
import {
  type Expr,
  isPresent,
  type IterationStatement,
  type Program,
  realValue,
  type Share,
  type StageKind,
  type Step,
} from "./ir.ts";
import { RunError, runErrors } from "./run_errors.ts";
import { Estimator, Histogram, TimeAverage, Welford } from "./statistics.ts";

export interface Built {
  readonly machine: Machine;
  readonly workload: Workload;
  readonly share: Share;
  readonly expressions: ExpressionCompiler;
}

export function buildMachine(program: Program, options: InterpreterOptions): Built {
  const machine = new Machine(program, {
    trace: options.traceIterations ?? false,
    dump: options.dump ?? false,
  });
  const expressions = new ExpressionCompiler(machine);
  for (const register of program.registers ?? []) machine.registers.push(realValue(register.init));
  const shared = sharedStages(program);
  addPools(machine, expressions);
  program.stages.forEach((stage, index) => {
    machine.stages.push(stageState(machine, expressions, index, stage.kind, shared.has(index)));
  });
  addReaders(machine, expressions, options.dump ?? false);
  const statements = new StatementCompiler(program, expressions);
  const corpus = options.corpus ?? [];
  if (isPresent(program.trace) && corpus.length === 0) throw new RunError(runErrors.emptyTrace());
  const workload: Workload = {
    init: statements.block(program.init),
    turn: statements.block(program.turn),
    session: statements.block(program.session),
    corpus,
    ordered: program.trace_ordered,
  };
  return { machine, workload, share: shareOf(program), expressions };
}

function addPools(machine: Machine, expressions: ExpressionCompiler): void {
  const { program } = machine;
  program.pools.forEach((pool, index) => {
    const memoryOf = program.stages.flatMap(({ kind }, at) =>
      "Step" in kind && kind.Step.memory === index ? [at] : []
    );
    const { preempt, spill } = pool;
    machine.pools.push({
      index,
      name: memberName(pool),
      cap: realValue(pool.cap),
      block: pool.block ?? 0,
      evictKeys: pool.evict === "Lru" ? null : expressions.all(pool.evict.By),
      victimKeys: preempt === "None" ? null : expressions.all(preempt.By.keys),
      requeueTail: preempt !== "None" && preempt.By.tail === true,
      queueKeys: !isPresent(pool.queue) ? null : expressions.all(pool.queue),
      spill: !isPresent(spill) ? null : {
        to: spill.to,
        via: spill.via,
        work: expressions.compile(spill.work),
        when: expressions.compile(spill.when),
      },
      admitVia: pool.admit_via ?? -1,
      reserveHeld: pool.reserve_held ?? false,
      memoryOf,
      used: 0,
      cached: 0,
      entries: new Map(),
      allocations: new Set(),
      holders: new Map(),
      entered: [],
      queue: [],
      growers: [],
      usedAverage: new TimeAverage(),
      cachedAverage: new TimeAverage(),
      queueAverage: new TimeAverage(),
      holdersAverage: new TimeAverage(),
      waits: new Welford(),
      admissions: 0,
      evictedEntries: 0,
      evictedUnits: 0,
      preemptions: 0,
      spills: 0,
      rejected: 0,
      stuck: 0,
    });
  });
}

/** `kv`, or `kv[2]` for a member of a family. */
export function memberName({ name, index }: { name: string; index?: number | null }): string {
  return !isPresent(index) ? name : `${name}[${index}]`;
}

function stageState(
  machine: Machine,
  expressions: ExpressionCompiler,
  index: number,
  kind: StageKind,
  shared: boolean,
): StageState {
  return {
    index,
    name: memberName(machine.program.stages[index]!),
    kind: kindOf(kind, shared),
    servers: "Fifo" in kind ? kind.Fifo : 0,
    capacity: "Ps" in kind ? expressions.compile(kind.Ps) : () => NaN,
    engine: "Step" in kind ? engineState(machine, expressions, index, kind.Step) : null,
    jobs: new LinkedList(),
    flows: new Set(),
    waiting: [],
    present: 0,
    virtual: 0,
    read: 0,
    rate: 0,
    changed: false,
    plan: 0,
    tags: new EventHeap(),
    number: new TimeAverage(),
    busy: new TimeAverage(),
    waits: new Welford(),
    services: new Welford(),
    completed: 0,
    estimator: new Estimator(),
  };
}

function kindOf(kind: StageKind, shared: boolean): StageState["kind"] {
  if ("Step" in kind) return "engine";
  if ("Fifo" in kind) return "fifo";
  if (shared) return "flow";
  return "Ctx" in kind.Ps && kind.Ps.Ctx === "N" ? "delay" : "ps";
}

function engineState(
  machine: Machine,
  expressions: ExpressionCompiler,
  index: number,
  step: Step,
): EngineState {
  const { serve } = step;
  const order = serve === "ExclusivePrefill" || serve.By.length === 0 ? null : serve.By;
  return {
    step,
    budget: expressions.compile(step.budget),
    chunk: expressions.compile(step.chunk),
    cost: expressions.compile(step.cost),
    granule: expressions.optional(step.granule),
    order: order === null ? null : expressions.all(order),
    exclusive: serve === "ExclusivePrefill",
    body: !isPresent(step.iteration)
      ? null
      : step.iteration.map((statement) => bodyOp(expressions, statement)),
    memory: step.memory ?? -1,
    admits: machine.program.pools.flatMap((pool, at) => pool.admit_via === index ? [at] : []),
    residents: [],
    running: null,
    iterations: 0,
    served: 0,
    idleWithWork: false,
    prefillOnly: new TimeAverage(),
    decodeOnly: new TimeAverage(),
    mixed: new TimeAverage(),
    decodes: new TimeAverage(),
    decodeBatch: new Welford(),
    decodeStep: new Welford(),
    gaps: new Histogram(),
  };
}

function bodyOp(expressions: ExpressionCompiler, statement: IterationStatement): BodyOp {
  if ("Serve" in statement) {
    const { only, by } = statement.Serve;
    return {
      kind: "serve",
      only: expressions.optional(only),
      by: !isPresent(by) ? null : expressions.all(by),
    };
  }
  if ("Admit" in statement) {
    const { only, gate } = statement.Admit;
    return { kind: "admit", only: expressions.optional(only), gate: expressions.optional(gate) };
  }
  if ("Branch" in statement) {
    const [guard, yes, no] = statement.Branch;
    return {
      kind: "branch",
      guard: expressions.compile(guard),
      yes: yes.map((inner) => bodyOp(expressions, inner)),
      no: no.map((inner) => bodyOp(expressions, inner)),
    };
  }
  const [register, value] = statement.Set;
  return { kind: "set", register, value: expressions.compile(value) };
}

/** The stages that some run holds together with others: a family counts whole. */
function sharedStages(program: Program): Set<number> {
  const shared = new Set<number>();
  for (const statement of program.blocks.flat()) {
    if (typeof statement !== "object" || !("Run" in statement)) continue;
    const { stage, also } = statement.Run;
    if (also === undefined || also.length === 0) continue;
    for (const { base, count } of [stage, ...also]) {
      for (let at = base; at < base + Math.max(count, 1); at++) shared.add(at);
    }
  }
  return shared;
}

function shareOf(program: Program): Share {
  for (const statement of program.blocks.flat()) {
    if (typeof statement === "object" && "Run" in statement && isPresent(statement.Run.share)) {
      return statement.Run.share;
    }
  }
  return "MaxMin";
}

function addReaders(machine: Machine, expressions: ExpressionCompiler, dump: boolean): void {
  const { program } = machine;
  const claims = program.claims ?? [];
  const aggregated = new Set(claims.flatMap(({ expr }) => aggregates(expr)));
  program.observes.forEach((name, index) => {
    machine.observations.push(observation(name, { all: aggregated.has(index), dump }));
  });
  for (const { name, expr } of program.gauges ?? []) {
    machine.gauges.push({ name, eval: expressions.compile(expr), times: [], values: [] });
  }
  for (const { name, given, kind, expr } of claims) {
    machine.claims.push({
      name,
      kind: kind === "AtEnd" ? "end" : "EveryIteration" in kind ? "every" : "some",
      stage: kind === "AtEnd" ? -1 : Object.values(kind)[0]!,
      given: expressions.optional(given),
      eval: expressions.compile(expr),
      checked: 0,
      failures: 0,
      first: null,
      outOfScope: false,
      result: null,
    });
  }
}

/** The observations that a claim's expression aggregates. */
function aggregates(expr: Expr): number[] {
  if ("Agg" in expr) return [expr.Agg[1]];
  if ("Cost" in expr) return aggregates(expr.Cost[1]);
  if ("Unary" in expr) return aggregates(expr.Unary[1]);
  if ("Binary" in expr) return [...aggregates(expr.Binary[1]), ...aggregates(expr.Binary[2])];
  if ("Cond" in expr) return expr.Cond.flatMap(aggregates);
  if ("Call" in expr) {
    return expr.Call[1].flatMap((arg) => ("Expr" in arg ? aggregates(arg.Expr) : []));
  }
  return [];
}
