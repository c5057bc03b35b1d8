/** The WebGPU device of the runtime that runs the tests. Fails loudly when there is none. */
import { GpuExecutor, openDevice } from "../../src/engine/mod.ts";
import type { EngineOptions, ReadbackMode } from "../../src/engine/mod.ts";
import { findGpu } from "../../src/runtime/gpu.ts";
import type { Make } from "../contract/cases.ts";
import { gpuFaults } from "./faults.ts";

/** What may be chosen of the kernels without changing a bit. */
export type Kernels = NonNullable<EngineOptions["kernels"]>;

export const makeGpu =
  (readback: ReadbackMode, kernels: Kernels = {}): Make => async (plan, size) => {
    const { gpu } = await findGpu();
    const open = await openDevice(gpu);
    const options = { ...size, kernels, readback, numerics: "test" };
    const executor = await GpuExecutor.create(plan, open, options);
    return { executor, faults: gpuFaults(open.device) };
  };
