/**
 * Where one session's state is: in a slot of the executor, or on the host. Where a device can be lost,
 * the host also keeps an older state of a seated session and the frames that ran since.
 */
import type { Frames } from "../base/frames.ts";
import type { ReadoutImage } from "../checkpoint/mod.ts";
import type { RowState } from "../engine/executor.ts";
import type { Session } from "./slot_scheduler.ts";

/** A frame that ran, to be run again if the device is lost. */
export interface JournalFrame {
  readonly input: Frames;
  readonly steps: number;
  /** It started from rest. */
  readonly reset: boolean;
  /** The chunk that it belongs to. */
  readonly seq: number;
  /** See `RanFrame`. */
  readonly readoutBefore: ReadoutImage | null;
}

export class Seat {
  /** Its row of the batch; null while the state is on the host. */
  slot: Session | null = null;
  /** The state before the journal, null for rest. Means nothing while seated without a journal. */
  base: RowState | null;
  /** The session's step number at `base`. */
  baseStep: number;
  journal: JournalFrame[] = [];
  journalSteps = 0;
  journalBytes = 0;

  constructor(base: RowState | null = null, baseStep = 0) {
    this.base = base;
    this.baseStep = baseStep;
  }

  /** The host knows this state; what ran before is not needed any more. */
  rebase(base: RowState | null, step: number): void {
    this.base = base;
    this.baseStep = step;
    this.journal = [];
    this.journalSteps = 0;
    this.journalBytes = 0;
  }

  /** Forgets the frames from an index on. */
  cutJournal(from: number): void {
    const kept = this.journal.slice(0, from);
    this.rebase(this.base, this.baseStep);
    for (const frame of kept) this.note(frame);
  }

  note(frame: JournalFrame): void {
    this.journal.push(frame);
    this.journalSteps += frame.steps;
    this.journalBytes += frame.input.byteLength + (frame.readoutBefore?.scores.byteLength ?? 0);
  }
}
