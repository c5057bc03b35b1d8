/** The program of the executor's thread: chooses an executor as the server would, and serves it. */
import { chooseExecutor, type DeviceChoice } from "./choose_executor.ts";
import { ownPort } from "./runtime/mod.ts";
import { type FromThread, serveExecutor, type ToThread } from "./thread/mod.ts";

/** What the server passes along. */
export interface ThreadSettings {
  readonly slots: number;
  readonly frame: number;
  readonly device: DeviceChoice;
  readonly cpuThreads: number;
  readonly measure: boolean;
}

serveExecutor(
  ownPort<FromThread, ToThread>(),
  ({ plan, settings }, say) => chooseExecutor(plan, { ...(settings as ThreadSettings), say }),
);
