/** What recordings must fit, and how the fault of a file is said: with its path in front. */
import { GanglionError } from "../base/errors.ts";
import type { Plan } from "../model/mod.ts";

export type SampleShape = Pick<Plan, "sampleShape" | "sampleSize">;

/** Reads something of a file; what cannot be read is `input_unreadable`, and says which file. */
export function explained<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new GanglionError("input_unreadable", `${path}: ${reason}`, { path }, { cause });
  }
}
