/** The door of the engine: opening a device, and the executor that runs a plan on it. */
export { describeAdapter, type DeviceLimits, type OpenDevice, openDevice } from "./device.ts";
export type * from "./executor.ts";
export { candidates as kernelCandidates, choiceName, type KernelChoice } from "./choice.ts";
export { type EngineOptions, GpuExecutor } from "./webgpu.ts";
export type { ReadbackMode } from "./readback.ts";
