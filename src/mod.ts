/**
 * Ganglion as a library. The parts stand in the order in which they are used: a model, a server of its
 * streams, the errors; below them what tools and tests need.
 *
 * @example
 * ```ts
 * import { StreamServer } from "./src/mod.ts";
 *
 * const server = await StreamServer.create("examples/digits/digits.nir", {
 *   slots: 8, // sessions at once
 *   frame: 5, // time steps of a frame
 *   sampleShape: [64], // one time step of input
 * });
 * const session = server.open(); // throws when no slot is free
 * const future = server.submit(session, new Float32Array(5 * 64).fill(1)); // one frame, [5, 64]
 * await server.run(); // one batched step per round of waiting frames
 * const { data, shape } = await future.result(); // shape is [5, 10]
 * console.log(shape.join(" x "), data.length); // 5 x 10 50
 * await server.close();
 * ```
 */

// A model: read from a NIR file or built from plain objects, then compiled into a plan.
export { graphOf, readNirBytes } from "./model/mod.ts";
export { compilePlan } from "./model/mod.ts";
export { describePlan, printPlan, probesOf } from "./model/mod.ts";
export { writeNirBytes } from "./model/mod.ts";
export { type CallParameters, type LoadOptions, type ModelSource } from "./load_model.ts";
export { loadModel, loadRun } from "./load_model.ts";
export type {
  CompileOptions,
  GraphLike,
  NirGraph,
  Plan,
  PlanNote,
  PlanSummary,
  Probe,
  Variables,
} from "./model/mod.ts";

// A run: what stands before a model and behind it.
export { encodeSample, recordingEncoder } from "./run/mod.ts";
export { type Encoder, parseRun, Readout, type ReadoutName, type RunRecord } from "./run/mod.ts";

// A model built layer by layer, and layers of your own (docs/custom_neurons.md).
export { type Module, nn, sequential, type SequentialOptions } from "./model/nn/mod.ts";
export { layeredRunFiles } from "./load_layers.ts";
export { defineLayer } from "./layers/mod.ts";
export type { LayerDefinition, LayerParameter, PointwiseLayer } from "./layers/mod.ts";
export { snap } from "./base/numeric.ts";

// A server of its streams.
export { StreamServer, type StreamServerOptions } from "./stream_server.ts";
export { CancelledError, Future, type FutureState, type Outputs } from "./scheduler/mod.ts";
export { Session, type SubmitOptions } from "./scheduler/mod.ts";
export type { DeviceChoice } from "./choose_executor.ts";
export { type RecordingPart, type Recordings, runRecordings } from "./run_recordings.ts";

// What can go wrong, by code.
export { type ErrorCode, GanglionError } from "./base/errors.ts";

// Arrays in NumPy's format, and tensors by name.
export { type NpyArray, parseNpy, writeNpy } from "./base/npy.ts";
export { readSafetensors, type Tensor, writeSafetensors } from "./model/mod.ts";

// The executors themselves, to drive without sessions.
export type { BatchRow, Executor, ExecutorInfo, RowResult, RowState } from "./engine/executor.ts";
export { CpuExecutor } from "./cpu/mod.ts";
export { ReferenceExecutor } from "./reference/mod.ts";

// A whole HTTP server: `{ fetch }`, to put on any port.
export { createServer, type ServeOptions, type Server } from "./serve.ts";
export { type Limits, makeLimits } from "./base/limits.ts";
