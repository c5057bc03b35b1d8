/** One served model: a name, what runs it, and its slots. */
import type { Executor, ExecutorInfo } from "../engine/executor.ts";
import { type Plan, type Probe, probesOf } from "../model/plan.ts";
import { SlotScheduler } from "./slot_scheduler.ts";

export interface ModelHostOptions {
  /** How clients name it. */
  readonly id: string;
  readonly executor: Executor;
}

export class ModelHost {
  readonly id: string;
  readonly executor: Executor;
  readonly scheduler: SlotScheduler;
  /** What a session may record, by name. */
  readonly probes: ReadonlyMap<string, Probe>;

  constructor({ id, executor }: ModelHostOptions) {
    this.id = id;
    this.executor = executor;
    this.scheduler = new SlotScheduler(executor, { partialFrames: true });
    this.probes = new Map(probesOf(executor.plan).map((probe) => [probe.name, probe]));
  }

  get plan(): Plan {
    return this.executor.plan;
  }

  get info(): ExecutorInfo {
    return this.executor.info;
  }
}
