/**
 * A session's time-line: steps that ran, in epochs. Step numbers go on across epochs, but where the
 * state was put back; a position is an epoch, the steps done in it so far, and the count of events
 * since the last step.
 */
import type { SpanImage, TimelineImage } from "../checkpoint/mod.ts";
import type { Position } from "./outbox.ts";
import type { Epoch } from "./session_types.ts";

/** Epochs that are remembered; positions in older ones are unknown. */
const EPOCHS_MAX = 1024;

export class Timeline {
  readonly #spans: SpanImage[];
  #stepsDone: number;
  #part = 0;

  /** Begins with epoch 1 at a step, or goes on where an image ends. */
  constructor(from: TimelineImage | { readonly step: number } = { step: 0 }) {
    if ("spans" in from) {
      this.#spans = [...from.spans];
      this.#stepsDone = from.stepsDone;
      this.#part = from.part;
    } else {
      this.#spans = [{ epoch: 1, fromStep: from.step, toStep: null, isCut: false }];
      this.#stepsDone = from.step;
    }
  }

  get epochs(): readonly Epoch[] {
    return this.#spans;
  }

  get epoch(): number {
    return this.#spans.at(-1)!.epoch;
  }

  get stepsDone(): number {
    return this.#stepsDone;
  }

  toImage(): TimelineImage {
    return { spans: [...this.#spans], stepsDone: this.#stepsDone, part: this.#part };
  }

  /** Begins an epoch at a step, by default the next one where we are. */
  newEpoch(
    step: number = this.#stepsDone,
    { isCut = false, epoch = this.epoch + 1 }: { isCut?: boolean; epoch?: number } = {},
  ): void {
    this.#spans.push({ ...this.#spans.pop()!, toStep: this.#stepsDone, isCut });
    this.#stepsDone = step;
    this.#part = 0;
    this.#spans.push({ epoch, fromStep: step, toStep: null, isCut: false });
    if (this.#spans.length > EPOCHS_MAX) this.#spans.shift();
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

  /**
   * Where a reader that names a position goes on: there, or at the cut behind which it lies. Null
   * when the position is on no time-line of ours.
   */
  resolve(position: Position): Position | null {
    // Epochs that began after a checkpoint are missing behind its cut.
    const span = this.#spans.findLast(({ epoch }) => epoch <= position.epoch);
    if (span === undefined) return null;
    const { epoch, fromStep, toStep, isCut } = span;
    const to = toStep ?? this.#stepsDone;
    const isInside = epoch === position.epoch && position.step >= fromStep;
    if (isInside && position.step <= to) return position;
    return isCut && (isInside || epoch < position.epoch)
      ? { epoch, step: to, part: Number.MAX_SAFE_INTEGER }
      : null;
  }

  #here(): Position {
    return { epoch: this.epoch, step: this.#stepsDone, part: this.#part };
  }
}
