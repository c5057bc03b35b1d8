/**
 * A server whose executor sleeps for the time given instead of computing: capacity is known, so that
 * overload can be measured. `STEP_MS SLOTS FRAMES_QUEUED`; prints its address, ends with its parent.
 */
import process from "node:process";
import { realClock } from "../../src/base/clock.ts";
import { makeLimits } from "../../src/base/limits.ts";
import type { BatchRow, Executor, RowResult } from "../../src/engine/executor.ts";
import { createApp, ServerEvents } from "../../src/http/mod.ts";
import { ServerMetrics } from "../../src/metrics/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { listen } from "../../src/runtime/mod.ts";
import { ModelHost, observers, Service } from "../../src/scheduler/mod.ts";
import { digitsPlan } from "../support/digits.ts";

const FRAME = 10;
const [stepMs = 40, slots = 8, framesQueued = 4] = process.argv.slice(2).map(Number);

class SleepingExecutor extends ReferenceExecutor {
  override async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    await new Promise((resolve) => setTimeout(resolve, stepMs));
    const { outputSize } = this.plan;
    return batch.map(({ steps }) => ({ output: new Float32Array(steps * outputSize), probes: {} }));
  }
}

const clock = realClock;
const limits = makeLimits({ queueStepsMax: framesQueued * FRAME, waitingSessionsMax: 0 });
const executor: Executor = new SleepingExecutor(await digitsPlan(), { slots, frame: FRAME });
const metrics = new ServerMetrics("0.0.0", null);
const serverEvents = new ServerEvents({ clock, eventsMax: 16, readersMax: 1 });
const service = new Service({
  models: [new ModelHost({ id: "digits", executor })],
  clock,
  limits,
  observe: observers(metrics.observe, serverEvents.observe),
});
const app = createApp({
  service,
  clock,
  limits,
  metrics,
  serverEvents,
  apiKeys: [],
  corsOrigin: null,
  version: "0.0.0",
});
const { port } = await listen(app, { host: "127.0.0.1", port: 0 });
process.stdout.write(`listening http://127.0.0.1:${port}\n`);
process.stdin.on("end", () => process.exit(0)).resume();
