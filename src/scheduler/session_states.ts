/** What is done with the states of a model's sessions, each between two rounds: all or nothing. */
import { GanglionError } from "../base/errors.ts";
import type { Limits } from "../base/limits.ts";
import type { SessionImage, Snapshot } from "../checkpoint/mod.ts";
import { checkState } from "../model/row_state.ts";
import type { ModelHost } from "./model_host.ts";
import type { Residency } from "./residency.ts";
import { Seat } from "./seat.ts";
import { fullError } from "./service_types.ts";
import type { StepLoop } from "./step_loop.ts";
import type { StreamSession } from "./stream_session.ts";

export interface StateParts {
  readonly host: ModelHost;
  readonly loop: StepLoop;
  readonly residency: Residency;
}

/** The session's state after the last frame that ran. */
export function readSnapshot(
  { host, loop, residency }: StateParts,
  session: StreamSession,
): Promise<Snapshot> {
  return loop.between(async () => {
    session.assertOpen();
    const [state] = await residency.read([session]);
    session.assertOpen();
    return { state: state!, step: session.stepsDone, numerics: host.info.numerics };
  });
}

export function restoreSnapshot(
  { loop, residency }: StateParts,
  session: StreamSession,
  { state, step }: Snapshot,
): Promise<void> {
  session.assertQuiet();
  return loop.between(async () => {
    session.assertOpen();
    session.assertQuiet();
    await residency.write(session, state, step);
    session.assertOpen();
    session.restored(step);
  });
}

/** `start` makes the session that begins on the seat. */
export function forkSession(
  { loop, residency }: StateParts,
  session: StreamSession,
  start: (seat: Seat) => StreamSession,
): Promise<StreamSession> {
  return loop.between(async () => {
    session.assertOpen();
    if (residency.sessions >= residency.capacity) throw fullError(residency.capacity);
    const [state] = await residency.read([session]);
    session.assertOpen();
    const fork = start(new Seat(state!, session.stepsDone));
    await bringIfRoom(residency, fork);
    return fork;
  });
}

/** Puts a session that began on the host into a slot, if one is free. */
export function takeSlot({ loop, residency }: StateParts, session: StreamSession): Promise<void> {
  return loop.between(() => bringIfRoom(residency, session));
}

/** Without a slot, or where the device takes no state now, it stays on the host until its next chunk. */
async function bringIfRoom(residency: Residency, session: StreamSession): Promise<void> {
  await residency.bring([session], { mayPark: false }).catch(() => undefined);
}

/** What checkpoints hold of sessions, all at one moment; ended ones left out. */
export function captureSessions(
  { host, loop, residency }: StateParts,
  sessions: readonly StreamSession[],
): Promise<[StreamSession, SessionImage][]> {
  return loop.between(async () => {
    const states = await residency.read(sessions);
    const { plan, info } = host;
    return sessions.flatMap((session, i): [StreamSession, SessionImage][] => {
      if (states[i] === null || session.endReason !== null) return [];
      const state = session.restNext ? null : states[i]!;
      const about = { modelDigest: plan.digest, numerics: info.numerics, state };
      return [[session, { ...session.image(), ...about }]];
    });
  });
}

/** Throws when a session of another process cannot go on with this model. */
export function checkImage(host: ModelHost, image: SessionImage, limits: Limits): void {
  if (image.modelDigest !== host.plan.digest) {
    throw new GanglionError("snapshot_refused", `The model "${image.model}" has changed`, {
      reason: "model",
    });
  }
  host.checkRecord(image.record, limits.recordValuesMax);
  if (image.state !== null) checkState(host.plan, image.state);
}
