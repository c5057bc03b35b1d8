/**
 * A whole server whose WebGPU device is destroyed again and again: MODEL, milliseconds between two
 * losses. Prints its address like `ganglion serve`; ends on SIGTERM.
 */
import process from "node:process";
import { makeLimits } from "../../src/base/limits.ts";
import { listen, onSignal, say, writeOut } from "../../src/runtime/mod.ts";
import { createServer } from "../../src/serve.ts";

const [model, everyMs] = process.argv.slice(2);
const server = await createServer({
  models: [model!],
  device: "webgpu",
  limits: makeLimits({ slots: 4, sessionsMax: 8, checkpointSteps: 50 }),
  version: "test",
  say,
});
const listener = await listen(server, { host: "127.0.0.1", port: 0 });
const timer = setInterval(() => {
  // The engine learns of it as it would of a driver that resets.
  void server.models[0]!.executor.close().catch(() => undefined);
}, Number(everyMs));
onSignal("SIGTERM", () => {
  clearInterval(timer);
  void server.close().then(() => process.exit(0));
});
await writeOut(`listening http://127.0.0.1:${listener.port}\n`);
