/** What `doctor` asks of a device: who it is, what it offers, and where its driver ends long loops. */
import { type DeviceLimits, openDevice } from "./device.ts";

export interface DeviceReport {
  readonly name: string;
  readonly software: boolean;
  readonly limits: DeviceLimits;
  /** Turns of one loop that were done, of `LOOP_TURNS` that were asked for. */
  readonly loopTurns: number;
}

/** More than the 65,535 after which some software drivers leave every loop in silence. */
export const LOOP_TURNS = 70_000;

const LOOP = `
@group(0) @binding(0) var<storage, read_write> result: array<u32, 2>;
@group(0) @binding(1) var<uniform> turns: u32;
@compute @workgroup_size(1)
fn main() {
  var count = 0u;
  var value = turns;
  for (var i = 0u; i < turns; i++) {
    value = value * 1664525u + 1013904223u;
    count += 1u + (value & 0u);
  }
  result[0] = count;
  result[1] = value;
}`;

/** Opens the adapter that an engine would get, looks, and closes it. Throws as `openDevice` does. */
export async function examineDevice(gpu: GPU): Promise<DeviceReport> {
  const { device, name, software, limits } = await openDevice(gpu);
  try {
    return { name, software, limits, loopTurns: await countTurns(device) };
  } finally {
    device.destroy();
  }
}

async function countTurns(device: GPUDevice): Promise<number> {
  const { STORAGE, COPY_SRC, COPY_DST, UNIFORM, MAP_READ } = GPUBufferUsage;
  const result = device.createBuffer({ size: 8, usage: STORAGE | COPY_SRC });
  const turns = device.createBuffer({ size: 16, usage: UNIFORM | COPY_DST });
  const staging = device.createBuffer({ size: 8, usage: MAP_READ | COPY_DST });
  const module = device.createShaderModule({ code: LOOP });
  const pipeline = await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module, entryPoint: "main" },
  });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [
      { binding: 0, resource: { buffer: result } },
      { binding: 1, resource: { buffer: turns } },
    ],
  });
  device.queue.writeBuffer(turns, 0, new Uint32Array([LOOP_TURNS, 0, 0, 0]));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(result, 0, staging, 0, 8);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const [count] = new Uint32Array(staging.getMappedRange());
  staging.unmap();
  return count!;
}
