/**
 * A session's time-line: steps that ran, in epochs. Step numbers go on across epochs; a position is
 * an epoch, the steps done in it so far, and the count of events since the last step.
 */
import type { Position } from "./outbox.ts";
import type { Epoch } from "./session_types.ts";

/** Epochs that are remembered; positions in older ones are unknown. */
const EPOCHS_MAX = 1024;

export class Timeline {
  readonly #epochs: Epoch[] = [{ epoch: 1, fromStep: 0 }];
  #stepsDone = 0;
  #part = 0;

  get epochs(): readonly Epoch[] {
    return this.#epochs;
  }

  get epoch(): number {
    return this.#epochs.at(-1)!.epoch;
  }

  get stepsDone(): number {
    return this.#stepsDone;
  }

  newEpoch(): void {
    this.#part = 0;
    this.#epochs.push({ epoch: this.epoch + 1, fromStep: this.#stepsDone });
    if (this.#epochs.length > EPOCHS_MAX) this.#epochs.shift();
  }

  /** Steps ran; the position of their output. */
  advance(steps: number): Position {
    this.#stepsDone += steps;
    this.#part = 0;
    return this.#here();
  }

  /** The position of something that happened between steps. */
  mark(): Position {
    this.#part++;
    return this.#here();
  }

  /** Whether a position lies on this time-line. */
  knows({ epoch, step }: Position): boolean {
    const index = this.#epochs.findIndex((each) => each.epoch === epoch);
    if (index < 0) return false;
    const to = this.#epochs[index + 1]?.fromStep ?? this.#stepsDone;
    return step >= this.#epochs[index]!.fromStep && step <= to;
  }

  #here(): Position {
    return { epoch: this.epoch, step: this.#stepsDone, part: this.#part };
  }
}
