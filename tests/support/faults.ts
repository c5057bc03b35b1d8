/** Ways to make executors fail in the middle of a step, for tests. */
import type { CpuExecutor } from "../../src/cpu/mod.ts";
import { LAYERS } from "../../src/layers/mod.ts";
import type { Plan } from "../../src/model/plan.ts";
import type { Subject } from "../contract/cases.ts";

type Faults = Subject["faults"];
type Kernels = CpuExecutor["kernels"];

/** Replaces a method of an object for one call; returns how to put it back. */
function breakOnce<T extends object>(
  target: T,
  method: keyof T,
  broken: () => unknown,
): () => void {
  const own = Object.getOwnPropertyDescriptor(target, method);
  Object.defineProperty(target, method, { configurable: true, value: broken, writable: true });
  return () => {
    if (own) Object.defineProperty(target, method, own);
    else delete (target as Record<PropertyKey, unknown>)[method as PropertyKey];
  };
}

const fail = (stage: string) => () => {
  throw new Error(`injected fault: ${stage}`);
};

/** The twins throw: at the first element, and at the first element of the second row of `frames` steps. */
export function hostFaults(plan: Plan, frame: number): Faults {
  const elements = plan.nodes.reduce(
    (sum, { op, size }) => op.op === "pointwise" ? sum + size : sum,
    0,
  );
  const steps = Object.values(LAYERS) as { name: string; step: (...args: never[]) => number }[];
  const failAfter = (calls: number) => () => {
    const saved = steps.map((layer) => layer.step);
    let count = 0;
    steps.forEach((layer, i) => {
      layer.step = (...args) => {
        if (count++ >= calls) throw new Error("injected fault: compute");
        return saved[i]!(...args);
      };
    });
    return () => steps.forEach((layer, i) => layer.step = saved[i]!);
  };
  return [
    { stage: "first element", arm: failAfter(0) },
    { stage: "second row", arm: failAfter(elements * frame) },
  ];
}

/** The CPU executor fails within its first row's frame, and within its second row's. */
export function cpuFaults({ kernels, plan, frame }: CpuExecutor): Faults {
  const kept = plan.nodes.filter(({ state }) => state.some(({ name }) => name === "last"));
  // Node by node: the row's state, then each step its output and what the next step reads.
  const rowCopies = 1 + frame * (1 + kept.length);
  const failAfter = kernels.frame === null
    ? (row: number) => failingCopy(kernels, row * rowCopies + 1)
    : (row: number) => failingFrame(kernels, row);
  return [
    { stage: "first row", arm: () => failAfter(0) },
    { stage: "second row", arm: () => failAfter(1) },
  ];
}

function failingCopy(kernels: Kernels, most: number): () => void {
  const { copy } = kernels;
  let count = 0;
  kernels.copy = (...args) => {
    if (count++ >= most) fail("compute")();
    copy(...args);
  };
  return () => void (kernels.copy = copy);
}

/** Runs the first step of the frame that fails. */
function failingFrame(kernels: Kernels, most: number): () => void {
  const frame = kernels.frame!;
  let count = 0;
  kernels.frame = (row, input, isBits, steps, output) => {
    const fails = count++ >= most;
    frame(row, input, isBits, fails ? 1 : steps, output);
    if (fails) fail("compute")();
  };
  return () => void (kernels.frame = frame);
}

/** Every call that the engine makes in a step throws once, and a readback brings another step's data. */
export function gpuFaults(device: GPUDevice): Faults {
  const { queue } = device;
  // Bun's package has no global GPUBuffer.
  const sample = device.createBuffer({ size: 16, usage: GPUBufferUsage.COPY_DST });
  const staging = Object.getPrototypeOf(sample) as GPUBuffer;
  return [
    { stage: "upload", arm: () => breakOnce(queue, "writeBuffer", fail("upload")) },
    { stage: "encode", arm: () => breakOnce(device, "createCommandEncoder", fail("encode")) },
    { stage: "submit", arm: () => breakOnce(queue, "submit", fail("submit")) },
    {
      stage: "submit lost in silence",
      arm: () => breakOnce(queue, "submit", () => undefined),
    },
    { stage: "map", arm: () => breakOnce(staging, "mapAsync", fail("map")) },
    { stage: "mapped range", arm: () => breakOnce(staging, "getMappedRange", fail("range")) },
  ];
}
