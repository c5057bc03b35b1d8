/** One served model: a name, what runs it, and its slots. */
import { GanglionError } from "../base/errors.ts";
import type { Executor, ExecutorInfo } from "../engine/executor.ts";
import { type Plan, type Probe, probesOf } from "../model/plan.ts";
import type { Predictor } from "./session_types.ts";
import { SlotScheduler } from "./slot_scheduler.ts";

export interface ModelHostOptions {
  /** How clients name it. */
  readonly id: string;
  readonly executor: Executor;
  /** Makes the running prediction of one session; absent where the model's run has no readout. */
  readonly predictor?: () => Predictor;
}

export class ModelHost {
  readonly id: string;
  readonly executor: Executor;
  readonly scheduler: SlotScheduler;
  /** What a session may record, by name. */
  readonly probes: ReadonlyMap<string, Probe>;

  readonly #predictor: (() => Predictor) | undefined;

  constructor({ id, executor, predictor }: ModelHostOptions) {
    this.id = id;
    this.#predictor = predictor;
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

  /** A session's own running prediction. Throws where the model's run names no readout. */
  makePredictor(): Predictor {
    if (this.#predictor !== undefined) return this.#predictor();
    throw new GanglionError(
      "invalid_body",
      `The model "${this.id}" has no readout: serve a run folder whose run.json names one`,
      { field: "readout" },
    );
  }

  /** Values a step that recording these names takes. */
  recordedValues(names: readonly string[]): number {
    return names.reduce((sum, name) => sum + (this.probes.get(name)?.size ?? 0), 0);
  }

  /** The names without repeats. Throws when one is unknown or all are too much. */
  checkRecord(names: readonly string[], valuesMax: number): string[] {
    const record = [...new Set(names)];
    const unknown = record.find((name) => !this.probes.has(name));
    if (unknown !== undefined) {
      throw new GanglionError("invalid_body", `The model has no value named "${unknown}"`, {
        field: "record",
      });
    }
    const values = this.recordedValues(record);
    if (values > valuesMax) {
      throw new GanglionError(
        "invalid_body",
        `${values} values a step would be recorded, the limit is ${valuesMax}`,
        { field: "record", values, values_max: valuesMax },
      );
    }
    return record;
  }
}
