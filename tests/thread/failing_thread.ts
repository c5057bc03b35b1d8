/**
 * A thread whose executor fails a step of 3 steps, dies in one of 4, and never ends one of 5; it fails to
 * read 3 states, and takes its time for 4.
 */
import { CpuExecutor } from "../../src/cpu/mod.ts";
import { GanglionError } from "../../src/base/errors.ts";
import type { BatchRow, RowResult, RowState, StepPhases } from "../../src/engine/executor.ts";
import { ownPort } from "../../src/runtime/mod.ts";
import { type FromThread, serveExecutor, type ToThread } from "../../src/thread/mod.ts";

class Failing extends CpuExecutor {
  phases: StepPhases | undefined;

  override step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    const { steps, slot } = batch[0]!;
    if (steps === 3) return Promise.reject(new GanglionError("step_failed", "no luck", { slot }));
    if (steps === 4) {
      setTimeout(() => {
        throw new Error("the end");
      }, 0);
      return new Promise(() => undefined);
    }
    if (steps === 5) return new Promise(() => undefined);
    // Of one step it tells how long the parts took.
    this.phases = steps === 2 ? { uploadMs: 1, computeMs: 2, readbackMs: 3 } : undefined;
    return super.step(batch);
  }

  override async readStates(slots: readonly number[]): Promise<RowState[]> {
    if (slots.length === 3) throw new GanglionError("device_lost", "no states");
    if (slots.length === 4) await new Promise((resolve) => setTimeout(resolve, 50));
    return super.readStates(slots);
  }
}

serveExecutor(
  ownPort<FromThread, ToThread>(),
  ({ plan }) => Promise.resolve(new Failing(plan, { slots: 1, frame: 4 })),
);
