/** Sessions on slots: the library's scheduler, and the service above it that `http` talks to. */
export { CancelledError, Future, type FutureState } from "./future.ts";
export {
  type Outputs,
  type SchedulerOptions,
  Session,
  SlotScheduler,
  type SubmitOptions,
} from "./slot_scheduler.ts";
export { checkMemory } from "./memory.ts";
export { ModelHost, type ModelHostOptions } from "./model_host.ts";
export { Service } from "./service.ts";
export type { OpenOptions, Phase, ServiceOptions } from "./service_types.ts";
export type { ModelStats } from "./model_stats.ts";
export { type Observer, observers, type RanStep, type ServiceEvent } from "./observer.ts";
export type { EndReason, Epoch, Notice, Prediction, Predictor } from "./session_types.ts";
export type { StateStore } from "./state_keeper.ts";
export { StreamSession } from "./stream_session.ts";
export type { Chunk, ChunkInput, ChunkOutputs, ChunkState } from "./chunk.ts";
export type { ErrorEvent, OutboxEvent, OutputEvent, Position } from "./outbox.ts";
export type { Opening, OutputReader, ReaderEvent, ReadFrom, Resume } from "./reader.ts";
