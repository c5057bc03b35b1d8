/** A run's readout as a server keeps it for each session: the best class so far, with its name. */
import { GanglionError } from "../base/errors.ts";
import { Readout, type ReadoutName, type SavedReadout } from "./readouts.ts";

/** What a readout decides after some step; the shape that `scheduler` hands on. */
export interface NamedPrediction {
  readonly class: number;
  readonly label: string | null;
  readonly score: number;
}

export class RunningReadout {
  readonly #readout: Readout;
  readonly #labels: readonly string[] | undefined;

  constructor(name: ReadoutName, classes: number, labels?: readonly string[]) {
    this.#readout = new Readout(name, classes);
    this.#labels = labels;
  }

  /** Takes in whole steps of outputs. */
  push(outputs: Float32Array): void {
    this.#readout.push(outputs);
  }

  reset(): void {
    this.#readout.reset();
  }

  save(): SavedReadout {
    return this.#readout.save();
  }

  /** Throws when another readout saved it. */
  load(saved: SavedReadout): void {
    const { name, classes } = this.#readout;
    if (saved.readout !== name || saved.scores.length !== classes) {
      throw new GanglionError(
        "snapshot_refused",
        `The readout was "${saved.readout}" over ${saved.scores.length} classes, and is "${name}" ` +
          `over ${classes}`,
        { reason: "model" },
      );
    }
    this.#readout.load(saved);
  }

  /** After the steps so far; null before the first. */
  prediction(): NamedPrediction | null {
    const best = this.#readout.prediction();
    if (best === null) return null;
    return {
      class: best,
      label: this.#labels?.[best] ?? null,
      score: this.#readout.scores()[best]!,
    };
  }
}
