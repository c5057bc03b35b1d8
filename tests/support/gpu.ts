/** The WebGPU device of the runtime that runs the tests. Fails loudly when there is none. */
import { GpuExecutor, openDevice } from "../../src/engine/mod.ts";
import type { ReadbackMode } from "../../src/engine/mod.ts";
import { findGpu } from "../../src/runtime/gpu.ts";
import type { Make } from "../contract/cases.ts";
import { gpuFaults } from "./faults.ts";

export const makeGpu = (readback: ReadbackMode): Make => async (plan, size) => {
  const { gpu } = await findGpu();
  const open = await openDevice(gpu);
  const executor = await GpuExecutor.create(plan, open, { ...size, readback, numerics: "test" });
  return { executor, faults: gpuFaults(open.device) };
};
