/**
 * A whole server whose executor sleeps instead of computing, so that its capacity is known and what is
 * left is the server's own cost. One argument, `SleepingSettings` as JSON; prints its address as
 * `ganglion serve` does and ends on SIGTERM. Outputs are zeros. Started by `startSleepingServer`.
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
import { digitsPlan } from "./digits.ts";
import type { SleepingSettings } from "./sleeping_server.ts";

const settings: SleepingSettings = JSON.parse(process.argv[2] ?? "{}");
const { stepMs = 20, rowMs = 0, slots = 8, frame = 10, port = 0 } = settings;

class SleepingExecutor extends ReferenceExecutor {
  override async step(batch: readonly BatchRow[]): Promise<RowResult[]> {
    await new Promise((resolve) => setTimeout(resolve, stepMs + rowMs * batch.length));
    const { outputSize } = this.plan;
    return batch.map(({ steps }) => ({ output: new Float32Array(steps * outputSize), probes: {} }));
  }
}

const clock = realClock;
const limits = makeLimits({ ...settings.limits, slots, frame });
const executor: Executor = new SleepingExecutor(await digitsPlan(), { slots, frame });
const metrics = new ServerMetrics("0.0.0", null);
const serverEvents = new ServerEvents({ clock, eventsMax: 16, readersMax: 16 });
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
const listener = await listen(app, { host: "127.0.0.1", port });
process.stdout.write(`listening http://127.0.0.1:${listener.port}\n`);
process.on("SIGTERM", () => process.exit(0));
