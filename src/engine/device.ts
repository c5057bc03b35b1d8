/**
 * Choosing a WebGPU device: what is asked for, what is refused, and what it is called. A null adapter
 * (it computes nothing, without an error) is refused by name.
 */
import { GanglionError } from "../base/errors.ts";

export interface OpenDevice {
  readonly device: GPUDevice;
  /** For people: `llvmpipe (LLVM 15.0.6, 256 bits)`. */
  readonly name: string;
  readonly software: boolean;
  readonly limits: DeviceLimits;
}

export interface DeviceLimits {
  readonly storageBytesMax: number;
  readonly bufferBytesMax: number;
  readonly groupsMax: number;
}

/** What an adapter says of itself, as one line; empty fields and bare numbers left out. */
export function describeAdapter(info: GPUAdapterInfo): string {
  const parts = [info.description, info.device, info.architecture, info.vendor];
  const known = [...new Set(parts.filter((part) => part !== undefined && /[^\d]/.test(part)))];
  return known.length > 0 ? known.join(", ") : "unnamed adapter";
}

function isSoftware(name: string): boolean {
  return /llvmpipe|lavapipe|swiftshader|softpipe|warp|cpu/i.test(name);
}

/**
 * Opens the best adapter of `gpu`: hardware is preferred by the runtime. Asks for the largest buffers
 * that the adapter offers, nothing else beyond WebGPU's defaults. Throws `device_unavailable` with the
 * reason when there is no adapter or only a null one.
 */
export async function openDevice(gpu: GPU | null): Promise<OpenDevice> {
  if (gpu === null) {
    throw new GanglionError("device_unavailable", "This runtime has no WebGPU");
  }
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) {
    throw new GanglionError("device_unavailable", "WebGPU found no adapter: no Vulkan driver?");
  }
  const name = describeAdapter(adapter.info);
  if (/null[- ]?backend|^null\b/i.test(name)) {
    throw new GanglionError(
      "device_unavailable",
      `WebGPU gave a null adapter ("${name}"), which computes nothing: the Vulkan driver does not suit`,
    );
  }
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  const wanted = {
    requiredLimits: { maxStorageBufferBindingSize, maxBufferSize, ...zeroLimits(adapter.limits) },
  };
  const device = await adapter.requestDevice(wanted).catch((error: unknown) => {
    // bun-webgpu 0.1.5 rarely hands Dawn limits that it has freed already; any other refusal stands.
    if (!/unexpected chained struct/i.test(String(error))) throw error;
    return adapter.requestDevice(wanted);
  });
  return {
    device,
    name,
    software: isSoftware(name),
    limits: {
      storageBytesMax: Math.min(maxStorageBufferBindingSize, maxBufferSize),
      bufferBytesMax: maxBufferSize,
      groupsMax: device.limits.maxComputeWorkgroupsPerDimension,
    },
  };
}

/**
 * Limits of render stages that an adapter gives as 0. bun-webgpu asks for their defaults when they are
 * left out, and then refuses its own request.
 */
function zeroLimits(limits: GPUSupportedLimits): Record<string, number> {
  const given = limits as unknown as Record<string, number | undefined>;
  const names = ["Vertex", "Fragment"].flatMap((stage) => [
    `maxStorageBuffersIn${stage}Stage`,
    `maxStorageTexturesIn${stage}Stage`,
  ]);
  return Object.fromEntries(names.filter((name) => given[name] === 0).map((name) => [name, 0]));
}
