/** The door of the executor's thread: both ends of it. */
export type { FromThread, ToThread } from "./protocol.ts";
export { RemoteExecutor, type RemoteOptions, type Thread } from "./remote_executor.ts";
export { type Port, serveExecutor } from "./serve_executor.ts";
