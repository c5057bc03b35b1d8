/** One served model: a name, what runs it, and its slots. */
import { assert } from "../base/assert.ts";
import { GanglionError } from "../base/errors.ts";
import type { ReadoutImage } from "../checkpoint/mod.ts";
import type { Executor, ExecutorInfo } from "../engine/executor.ts";
import { type Plan, type Probe, probesOf } from "../model/plan.ts";
import type { Predictor } from "./session_types.ts";
import { SlotScheduler } from "./slot_scheduler.ts";

/** Names of values that an error lists. */
const NAMES_SHOWN = 30;

export interface ModelHostOptions {
  /** How clients name it. */
  readonly id: string;
  readonly executor: Executor;
  /** Makes the running prediction of one session; absent where the model's run has no readout. */
  readonly predictor?: () => Predictor;
  /** Name of each class, where the model's run names them. */
  readonly labels?: readonly string[];
  /** Makes another executor when the device of this one was lost. Without it sessions end then. */
  readonly rebuild?: () => Promise<Executor>;
}

export class ModelHost {
  readonly id: string;
  /** False: sessions end with their device. */
  readonly canRebuild: boolean;
  readonly #rebuild: (() => Promise<Executor>) | undefined;
  #executor: Executor;
  #scheduler: SlotScheduler;
  /** What a session may record, by name. */
  readonly probes: ReadonlyMap<string, Probe>;
  /** Name of each value of the output; null where they have none. */
  readonly labels: readonly string[] | null;

  readonly #predictor: (() => Predictor) | undefined;

  constructor({ id, executor, predictor, labels, rebuild }: ModelHostOptions) {
    this.id = id;
    this.#predictor = predictor;
    this.labels = labels ?? null;
    this.canRebuild = rebuild !== undefined;
    this.#rebuild = rebuild;
    this.#executor = executor;
    this.#scheduler = new SlotScheduler(executor, { partialFrames: true });
    this.probes = new Map(probesOf(executor.plan).map((probe) => [probe.name, probe]));
  }

  /** What computes now; another one after a device was lost. */
  get executor(): Executor {
    return this.#executor;
  }

  /** Goes with the executor: its slots are all free after `rebuild`. */
  get scheduler(): SlotScheduler {
    return this.#scheduler;
  }

  /** Puts another executor in the place of one whose device was lost. */
  async rebuild(): Promise<void> {
    assert(this.#rebuild !== undefined, "the host was told how");
    const lost = this.#executor;
    const next = await this.#rebuild();
    assert(next.plan.digest === lost.plan.digest, "the same model");
    assert(next.slots === lost.slots && next.frame === lost.frame, "the same size");
    this.#executor = next;
    this.#scheduler = new SlotScheduler(next, { partialFrames: true });
    // What is left of the lost one goes in its own time; it may never answer.
    void (async () => await lost.close())().catch(() => undefined);
  }

  get plan(): Plan {
    return this.#executor.plan;
  }

  get info(): ExecutorInfo {
    return this.#executor.info;
  }

  /** Whether sessions may ask for their running prediction. */
  get hasReadout(): boolean {
    return this.#predictor !== undefined;
  }

  /**
   * A session's own running prediction, which goes on from another one's where that is given. Throws
   * where the model's run names no readout, or another one.
   */
  makePredictor(from?: ReadoutImage): Predictor {
    if (this.#predictor !== undefined) {
      const predictor = this.#predictor();
      if (from !== undefined) predictor.load(from);
      return predictor;
    }
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
      const names = [...this.probes.keys()];
      const more = names.length > NAMES_SHOWN
        ? `, and ${names.length - NAMES_SHOWN} more that GET /v1/models/${this.id}/graph lists`
        : "";
      throw new GanglionError(
        "invalid_body",
        `The model has no value named "${unknown}"; it has: ` +
          names.slice(0, NAMES_SHOWN).join(", ") + more,
        { field: "record" },
      );
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
