/**
 * The report of a run, as data in the shape of the original's JSON (`serq run --json`), with its
 * names and its order. A number that does not exist is NaN here and null in JSON.
 */
import type { Interpreter } from "./interpreter.ts";
import type { Machine } from "./interpreter_machine.ts";
import type { ClaimState, Observation, PoolState, StageState } from "./interpreter_state.ts";
import { needOverCap } from "./interpreter_pools.ts";
import type { Claim } from "./ir.ts";
import { quantile, sampleHalfWidth, signalStatistics } from "./statistics.ts";

export interface ObservationReport {
  readonly count: number;
  readonly mean: number;
  /** Half width of the 95 % confidence interval. */
  readonly ci: number;
  readonly cv2: number;
  readonly p99: number;
  /** `p50`, `p99.9`, …: those that were asked for, rising. */
  readonly percentiles?: Readonly<Record<string, number>>;
}

export interface GaugeReport {
  readonly mean: number;
  readonly ci: number;
  readonly min: number;
  readonly max: number;
}

export interface ClaimReport {
  readonly name: string;
  readonly kind: "every_iteration" | "some_iteration" | "at_end";
  readonly result:
    | "holds"
    | "fails"
    | "witnessed"
    | "not_witnessed"
    | "not_evaluated"
    | "out_of_scope";
  readonly checked: number;
  readonly failures: number;
  readonly first: number | null;
  readonly note: string | null;
}

export interface StageReport {
  readonly name: string;
  readonly index: number | null;
  readonly mean_number: number;
  readonly utilization: number;
  readonly completed: number;
  readonly throughput: number;
  readonly mean_wait: number;
  readonly mean_service: number;
  readonly iterations: number;
  readonly prefill_only: number;
  readonly decode_only: number;
  readonly mixed: number;
  readonly mean_decodes: number;
  readonly mean_decode_batch: number;
  readonly mean_decode_step: number;
  readonly mean_itl: number;
  readonly itl_p50: number;
  readonly itl_p99: number;
  readonly idle_with_work: boolean;
}

export interface PoolReport {
  readonly name: string;
  readonly index: number | null;
  readonly mean_used: number;
  readonly mean_cached: number;
  readonly mean_queue: number;
  readonly mean_holders: number;
  readonly mean_wait: number;
  readonly admissions: number;
  readonly evicted_entries: number;
  readonly evicted_units: number;
  readonly preemptions: number;
  readonly spills: number;
  readonly rejected: number;
  readonly stuck: number;
  /** A hold at the head of `queue` waits for more of this pool than its cap. */
  readonly over_cap: { readonly queue: string; readonly need: number } | null;
  readonly growing_at_end: number;
  readonly growing_stalled: boolean;
}

export interface Report {
  readonly horizon: number;
  readonly end: number;
  readonly warmup: number;
  readonly seed: number;
  readonly events: number;
  readonly arrivals: number;
  readonly ended: number;
  readonly turns: number;
  readonly mean_live: number;
  readonly observes: Readonly<Record<string, ObservationReport>>;
  /** `ttft`, `tpot` and `response` of each turn, as its client saw them. */
  readonly client: Readonly<Record<"ttft" | "tpot" | "response", ObservationReport>>;
  readonly gauges: Readonly<Record<string, GaugeReport>>;
  readonly claims?: readonly ClaimReport[];
  readonly stages: readonly StageReport[];
  readonly pools: readonly PoolReport[];
}

/**
 * Reads the report off a run, finished or stopped. `percentiles` of every observation come on top of
 * what the original reports.
 */
export function reportOf(interpreter: Interpreter, percentiles: readonly number[] = []): Report {
  const m = interpreter.machine;
  const { program, now } = m;
  const claims = program.claims ?? [];
  return {
    horizon: program.horizon,
    end: now,
    warmup: program.warmup,
    seed: program.seed,
    events: m.events,
    arrivals: m.arrivals,
    ended: m.ended,
    turns: m.turns,
    mean_live: m.liveAverage.mean(now),
    observes: Object.fromEntries(
      m.observations.map((o) => [o.name, observationReport(o, percentiles)]),
    ),
    client: {
      ttft: observationReport(m.client.ttft, percentiles),
      tpot: observationReport(m.client.tpot, percentiles),
      response: observationReport(m.client.response, percentiles),
    },
    gauges: Object.fromEntries(m.gauges.map(({ name, times, values }) => {
      const { mean, halfWidth, min, max } = signalStatistics(times, values, program.warmup, now);
      return [name, { mean, ci: halfWidth, min, max }];
    })),
    ...(claims.length === 0
      ? {}
      : { claims: m.claims.map((state, i) => claimReport(m, claims[i]!, state)) }),
    stages: m.stages.map((stage) => stageReport(m, stage)),
    pools: m.pools.map((pool) => poolReport(m, pool)),
  };
}

function observationReport(
  { values, moments }: Observation,
  percentiles: readonly number[],
): ObservationReport {
  const samples = values.values();
  return {
    count: moments.count,
    mean: moments.mean,
    ci: sampleHalfWidth(samples),
    cv2: moments.cv2,
    p99: quantile(samples, 0.99),
    ...(percentiles.length === 0 ? {} : {
      percentiles: Object.fromEntries(
        percentiles.map((percent) => [`p${percent}`, quantile(samples, percent / 100)]),
      ),
    }),
  };
}

function claimReport(m: Machine, claim: Claim, state: ClaimState): ClaimReport {
  const { checked, failures, first } = state;
  const kind = claim.kind === "AtEnd"
    ? "at_end"
    : "EveryIteration" in claim.kind
    ? "every_iteration"
    : "some_iteration";
  const base = { name: claim.name, kind, checked, failures, first, note: null } as const;
  if (state.outOfScope) return { ...base, result: "out_of_scope" };
  if (kind === "at_end") {
    if (state.result === null) {
      const note = `${m.live.size} session(s) live at the end`;
      return { ...base, result: "not_evaluated", note };
    }
    return { ...base, result: state.result ? "holds" : "fails" };
  }
  if (kind === "some_iteration") {
    return { ...base, result: first === null ? "not_witnessed" : "witnessed" };
  }
  return { ...base, result: failures === 0 ? "holds" : "fails" };
}

function stageReport(m: Machine, stage: StageState): StageReport {
  const { now, program } = m;
  const { engine } = stage;
  return {
    name: program.stages[stage.index]!.name,
    index: program.stages[stage.index]!.index ?? null,
    mean_number: stage.number.mean(now),
    utilization: stage.busy.mean(now),
    completed: stage.completed,
    throughput: stage.completed / (now - program.warmup),
    mean_wait: stage.waits.mean,
    mean_service: stage.services.mean,
    iterations: engine?.iterations ?? 0,
    prefill_only: engine?.prefillOnly.mean(now) ?? 0,
    decode_only: engine?.decodeOnly.mean(now) ?? 0,
    mixed: engine?.mixed.mean(now) ?? 0,
    mean_decodes: engine?.decodes.mean(now) ?? 0,
    mean_decode_batch: engine?.decodeBatch.mean ?? NaN,
    mean_decode_step: engine?.decodeStep.mean ?? NaN,
    mean_itl: engine?.gaps.mean ?? NaN,
    itl_p50: engine?.gaps.quantile(0.5) ?? NaN,
    itl_p99: engine?.gaps.quantile(0.99) ?? NaN,
    idle_with_work: engine !== null && engine.running === null && engine.idleWithWork &&
      (engine.residents.length > 0 || engine.admits.some((at) => m.pools[at]!.queue.length > 0)),
  };
}

function poolReport(m: Machine, pool: PoolState): PoolReport {
  const { now, program } = m;
  const stalled = new Set(pool.growers.map(({ allocation }) => allocation.session));
  return {
    name: program.pools[pool.index]!.name,
    index: program.pools[pool.index]!.index ?? null,
    mean_used: pool.usedAverage.mean(now),
    mean_cached: pool.cachedAverage.mean(now),
    mean_queue: pool.queueAverage.mean(now),
    mean_holders: pool.holdersAverage.mean(now),
    mean_wait: pool.waits.mean,
    admissions: pool.admissions,
    evicted_entries: pool.evictedEntries,
    evicted_units: pool.evictedUnits,
    preemptions: pool.preemptions,
    spills: pool.spills,
    rejected: pool.rejected,
    stuck: pool.stuck,
    over_cap: overCap(m, pool),
    growing_at_end: pool.growers.length,
    growing_stalled: stalled.size > 0 && [...pool.holders.keys()].every((s) => stalled.has(s)),
  };
}

/** By the first queue, in the order of declaration. */
function overCap(m: Machine, pool: PoolState): PoolReport["over_cap"] {
  for (const queue of m.pools) {
    const need = needOverCap(m, queue, pool);
    if (need !== null) return { queue: queue.name, need };
  }
  return null;
}
