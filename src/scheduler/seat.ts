/**
 * Where one session's state is: in a slot of the executor, or on the host. Where a device can be lost,
 * the host also keeps an older state of a seated session and the frames that ran since.
 */
import type { RowState } from "../engine/executor.ts";
import type { TakenFrame } from "./session_types.ts";
import type { Session } from "./slot_scheduler.ts";

export class Seat {
  /** Its row of the batch; null while the state is on the host. */
  slot: Session | null = null;
  /** Grows with every use of any of them. */
  lastUse = 0;
  /** The state before the journal, null for rest. Means nothing while seated without a journal. */
  base: RowState | null;
  /** The session's step number at `base`. */
  baseStep: number;
  journal: TakenFrame[] = [];
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

  note(frame: TakenFrame): void {
    this.journal.push(frame);
    this.journalSteps += frame.steps;
    this.journalBytes += frame.input.byteLength + (frame.readoutBefore?.scores.byteLength ?? 0);
  }
}
