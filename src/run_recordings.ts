/**
 * Many recordings through a server's slots: each runs from rest to its end in a session of its own, as
 * many at once as there are slots. Holds one recording a slot, whatever their number.
 */
import { GanglionError } from "./base/errors.ts";
import type { Outputs, Session } from "./scheduler/mod.ts";
import type { StreamServer } from "./stream_server.ts";

export interface Recordings {
  readonly count: number;
  /** `[steps, sampleSize]` of a recording, encoded. */
  readonly read: (index: number) => Promise<Float32Array>;
}

/** What came out of one frame of one recording. */
export interface RecordingPart {
  readonly recording: number;
  /** Its steps before this part. */
  readonly at: number;
  readonly steps: number;
  readonly outputs: Outputs;
  /** Nothing of this recording follows. */
  readonly last: boolean;
}

export interface RunRecordingsOptions {
  /** Probe names to return with the outputs. */
  readonly record?: readonly string[];
  /** Parts of a recording come in order; recordings in any. The next step waits for it. */
  readonly onPart: (part: RecordingPart) => Promise<void> | void;
}

interface Running {
  readonly recording: number;
  readonly session: Session;
  readonly input: Float32Array;
  at: number;
}

/** Runs all of them to their ends. The server must take partial frames and have a free slot. */
export async function runRecordings(
  server: StreamServer,
  { count, read }: Recordings,
  { record = [], onPart }: RunRecordingsOptions,
): Promise<void> {
  const { sampleSize } = server.plan;
  if (server.slotsFree === 0) {
    throw new GanglionError("no_slot", "All slots hold sessions; close one first");
  }
  const width = server.frame * sampleSize;
  let next = 0;
  let running: Running[] = [];
  while (next < count || running.length > 0) {
    while (next < count && server.slotsFree > 0) {
      const recording = next++;
      const input = await read(recording);
      if (input.length > 0) running.push({ recording, session: server.open(), input, at: 0 });
    }
    const futures = running.map(({ session, input, at }) =>
      server.submit(session, input.subarray(at, at + width), { record })
    );
    await server.step();
    for (const [i, each] of running.entries()) {
      const outputs = await futures[i]!.result();
      const steps = outputs.shape[0]!;
      const at = each.at / sampleSize;
      each.at += steps * sampleSize;
      const last = each.at >= each.input.length;
      await onPart({ recording: each.recording, at, steps, outputs, last });
      if (last) server.close(each.session);
    }
    running = running.filter(({ at, input }) => at < input.length);
  }
}
