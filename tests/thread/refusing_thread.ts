/** A thread that has no executor to offer. */
import { GanglionError } from "../../src/base/errors.ts";
import { ownPort } from "../../src/runtime/mod.ts";
import { type FromThread, serveExecutor, type ToThread } from "../../src/thread/mod.ts";

serveExecutor(
  ownPort<FromThread, ToThread>(),
  () => Promise.reject(new GanglionError("device_unavailable", "nothing here")),
);
