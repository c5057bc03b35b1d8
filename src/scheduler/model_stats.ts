/** How full a model is, and what its sessions and devices went through. */
import type { Admission } from "./admission.ts";
import type { ModelHost } from "./model_host.ts";
import type { Residency, ResidencyCounts } from "./residency.ts";
import type { StreamSession } from "./stream_session.ts";

/** What a model has at a moment. */
export interface ModelStats {
  readonly model: string;
  readonly slots: number;
  readonly slotsFree: number;
  /** Requests that wait for a slot. */
  readonly waiting: number;
  readonly sessions: number;
  /** Sessions whose state is on the host. */
  readonly parked: number;
  readonly framesWaiting: number;
  readonly readers: number;
  /** Since the start. */
  readonly counts: Readonly<ResidencyCounts>;
}

interface Parts {
  readonly host: ModelHost;
  readonly residency: Residency;
  readonly admission: Admission;
}

export function statsOf(
  { host: { id, scheduler }, residency, admission }: Parts,
  sessions: readonly StreamSession[],
): ModelStats {
  return {
    model: id,
    slots: scheduler.slots,
    slotsFree: scheduler.slotsFree,
    waiting: admission.waiting,
    sessions: sessions.length,
    parked: sessions.filter(({ seat }) => seat.slot === null).length,
    framesWaiting: sessions.reduce((sum, { queue }) => sum + queue.framesWaiting, 0),
    readers: sessions.reduce((sum, { readers }) => sum + readers, 0),
    counts: residency.counts,
  };
}
