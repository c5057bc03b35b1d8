/**
 * Whether the server's own histogram tells the same story. It begins when a chunk was taken and ends when
 * its event is there; ours also has the request, the event's way and the client's lateness in it. So the
 * server's may be shorter by some time, the same for all but for that lateness, and otherwise has the same
 * shape.
 */
import type { Measurement } from "./types.ts";

export interface Agreement {
  /** Mean time that is ours and not the server's, in ms. */
  readonly outsideMs: number;
  readonly agrees: boolean;
  /** What does not fit; null where all does. */
  readonly reason: string | null;
}

/** Chunks at the edges of the measured time are counted by one side only. */
const COUNT_SHARE = 0.05;
/** A clock's tick, and what the chunks at the edges may move the mean by. */
const EARLIER_MS = 1;
const EARLIER_SHARE = 0.01;
const SHARE = 0.05;
const SHAPE_MS = 2;
const SHAPE_PART = 0.25;

/** Null where the server told nothing, or nothing was answered. */
export function agreementOf(
  { latencyMs, curve, server, unanswered, client }: Omit<Measurement, "windows">,
  sessions: number,
): Agreement | null {
  const count = latencyMs.count - unanswered;
  if (server === null || server.chunks === 0 || count === 0) return null;
  const outsideMs = latencyMs.mean - server.chunkMs.mean;
  const found = (reason: string | null): Agreement => ({
    outsideMs,
    agrees: reason === null,
    reason,
  });
  if (Math.abs(server.chunks - count) > COUNT_SHARE * count + sessions) {
    const others = server.chunks > count ? "; others use it too, or it was catching up" : "";
    return found(`the server counted ${server.chunks} chunks, we ${count}${others}`);
  }
  if (outsideMs < -EARLIER_MS - EARLIER_SHARE * latencyMs.mean) {
    return found(`the server's mean is ${(-outsideMs).toFixed(1)} ms above ours`);
  }
  for (const [bound, share] of server.chunkMs.shares) {
    const near = Math.max(SHAPE_MS, SHAPE_PART * bound, client.lagMs.p99);
    const [least, most] = [-near, near].map((by) => shareBelow(curve, bound + outsideMs + by));
    if (share >= least! - SHARE && share <= most! + SHARE) continue;
    const percent = (part: number): string => `${(100 * part).toFixed(0)} %`;
    return found(
      `${percent(share)} of the server's chunks took at most ${bound} ms, ` +
        `${percent(shareBelow(curve, bound + outsideMs))} of ours ${
          (bound + outsideMs).toFixed(1)
        }`,
    );
  }
  return found(null);
}

/** The share of latencies that are at most `ms`, as far as the curve tells. */
function shareBelow(curve: Measurement["curve"], ms: number): number {
  return curve.findLast(([, value]) => value <= ms)?.[0] ?? 0;
}
