/**
 * The client of Ganglion: sessions that survive cuts, frozen and restarted servers. No dependencies; the
 * same file on Deno, Bun, Node 20 and in browsers (there as client/ganglion.js). See docs/client.md.
 *
 * @example
 * ```ts
 * import { Ganglion } from "./client/mod.ts";
 *
 * const client = new Ganglion("http://127.0.0.1:8787");
 * const session = await client.open({ model: "digits" });
 * await session.send(new Float32Array(25 * 64).fill(1)); // 25 time steps
 * for await (const { startStep, shape, data } of session.outputs()) {
 *   console.log(startStep, shape, data);
 *   if (startStep + shape[0]! === 25) break;
 * }
 * await session.close();
 * ```
 */
export { Ganglion, type ModelView, type OpenRequest } from "./client.ts";
export {
  type Abortable,
  type OutputsOptions,
  type Receipt,
  Session,
  type SessionOptions,
  type SessionView,
} from "./session.ts";
export {
  type ChunkData,
  type Encoding,
  eventsOf,
  type Output,
  packBits,
  type Prediction,
  type SpikeEvent,
} from "./codec.ts";
export { GanglionError } from "./errors.ts";
export type { StreamNotice } from "./reader.ts";
export type { ConnectionOptions } from "./transport.ts";
