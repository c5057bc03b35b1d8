/**
 * The child process of fast_readback.ts: may a mapped range be read right after `mapAsync` was called?
 * Prints `eager` when hundreds of kernel results came back right that way. On a runtime where it may
 * not be done the call throws, or aborts the process; that is why this is a process of its own.
 */
import { findGpu } from "./gpu.ts";

const ROUNDS = 300;
const WORDS = 64;
const CODE = `
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read> round: array<u32>;
@compute @workgroup_size(${WORDS}, 1, 1)
fn main(@builtin(global_invocation_id) id: vec3u) {
  data[id.x] = round[0] * 2654435761u + id.x;
}`;

const { gpu } = await findGpu();
const adapter = await gpu?.requestAdapter();
if (!adapter) throw new Error("no adapter");
const device = await adapter.requestDevice();
const storage = GPUBufferUsage.STORAGE;
const data = device.createBuffer({ size: WORDS * 4, usage: storage | GPUBufferUsage.COPY_SRC });
const round = device.createBuffer({ size: 4, usage: storage | GPUBufferUsage.COPY_DST });
const pipeline = device.createComputePipeline({
  layout: "auto",
  compute: { module: device.createShaderModule({ code: CODE }), entryPoint: "main" },
});
const group = device.createBindGroup({
  layout: pipeline.getBindGroupLayout(0),
  entries: [data, round].map((buffer, binding) => ({ binding, resource: { buffer } })),
});
const staging = Array.from({ length: 3 }, () =>
  device.createBuffer({
    size: WORDS * 4,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  }));
// A buffer that was never mapped may not be read that way at all.
for (const buffer of staging) {
  await buffer.mapAsync(GPUMapMode.READ);
  buffer.unmap();
}
for (let n = 1; n <= ROUNDS; n++) {
  device.queue.writeBuffer(round, 0, Uint32Array.of(n));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(1);
  pass.end();
  const target = staging[n % staging.length]!;
  encoder.copyBufferToBuffer(data, 0, target, 0, WORDS * 4);
  device.queue.submit([encoder.finish()]);
  target.mapAsync(GPUMapMode.READ).catch(() => undefined);
  const read = new Uint32Array(target.getMappedRange()).slice();
  target.unmap();
  const right = read.every((word, i) => word === (Math.imul(n, 2654435761) + i) >>> 0);
  if (!right) throw new Error(`round ${n} read stale data`);
  if (n % 64 === 0) await new Promise((resolve) => setTimeout(resolve, 0));
}
console.log("eager");
