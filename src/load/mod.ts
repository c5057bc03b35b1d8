/**
 * Load: paced sessions against a running server, measured from the time at which each chunk was due. Knows
 * HTTP from outside only, as any client does.
 */
export type { Capacity, Trial } from "./capacity.ts";
export type { LoadInput } from "./chunks.ts";
export {
  type CapacityOptions,
  type CapacityResult,
  type LoadOptions,
  type LoadResult,
  type LoadSetting,
  runCapacity,
  runLoad,
} from "./run_load.ts";
export { ServerClient, type ServerModel } from "./server_client.ts";
export type { BucketMs, ServerChange } from "./server_state.ts";
export type { Ending, Measurement, Summary, WindowResult } from "./types.ts";
