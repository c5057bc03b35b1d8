/**
 * Where a GPU comes from: `navigator.gpu` where the runtime has it (Deno; one day Bun), else on Bun
 * the native package `bun-webgpu` (Dawn), which is optional: there is none for every platform.
 */
export interface GpuSource {
  readonly gpu: GPU;
  /** `navigator.gpu` or `bun-webgpu`. */
  readonly name: string;
}

export type GpuSearch = GpuSource | { readonly gpu: null; readonly reason: string };

let search: Promise<GpuSearch> | null = null;

/**
 * Never throws: without a source it says why. Having one does not mean that there is an adapter. There
 * is one a process: every Dawn instance adds work to each turn of the event loop and is never freed.
 */
export function findGpu(): Promise<GpuSearch> {
  return search ??= searchGpu();
}

async function searchGpu(): Promise<GpuSearch> {
  const { navigator } = globalThis as { navigator?: { gpu?: GPU } };
  if (navigator?.gpu) return { gpu: navigator.gpu, name: "navigator.gpu" };
  if (!("Bun" in globalThis)) return { gpu: null, reason: "this runtime has no WebGPU" };
  try {
    const { createGPUInstance, globals } = await import("bun-webgpu");
    globals(); // GPUBufferUsage and the other constants
    return { gpu: createGPUInstance(), name: "bun-webgpu" };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { gpu: null, reason: `bun-webgpu cannot be loaded: ${text.split("\n", 1)[0]}` };
  }
}
