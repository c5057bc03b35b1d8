/** A real server of the digits model with steps of a known length that compute nothing. */
import type { Limits } from "../../src/base/limits.ts";
import { type ServerProcess, startProgram } from "./server_process.ts";

export interface SleepingSettings {
  /** Length of a step, and what each row of its batch adds. */
  readonly stepMs?: number;
  readonly rowMs?: number;
  readonly slots?: number;
  readonly frame?: number;
  readonly port?: number;
  readonly limits?: Partial<Limits>;
}

export function startSleepingServer(
  runtime: "deno" | "bun",
  settings: SleepingSettings,
): Promise<ServerProcess> {
  return startProgram(runtime, "tests/support/sleeping_server_child.ts", [
    JSON.stringify(settings),
  ]);
}
