/**
 * A program for a child process: does reading a mapped range right after `mapAsync`, without awaiting
 * it, give the device's data? Where it does not, the runtime may abort the process: hence a child,
 * see runtime/fast_readback.ts. Prints `eager` when a thousand readings were right.
 */
import { realClock } from "../base/clock.ts";

const ROUNDS = 1000;
const WORDS = 64;
const DRAIN_EVERY = 64;

const SHADER = `
@group(0) @binding(0) var<storage, read_write> values: array<u32>;
@group(0) @binding(1) var<uniform> round: u32;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  // Work enough that an early look would see the round before.
  var x = round * 2654435761u + id.x;
  for (var i = 0u; i < 2000u; i++) { x = x * 1664525u + 1013904223u; }
  values[id.x] = x;
}`;

function expected(round: number, index: number): number {
  let x = (Math.imul(round, 2654435761) + index) >>> 0;
  for (let i = 0; i < 2000; i++) x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
  return x;
}

async function probe(): Promise<boolean> {
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  const device = await adapter?.requestDevice();
  if (!device) return false;
  const module = device.createShaderModule({ code: SHADER });
  const pipeline = await device.createComputePipelineAsync({
    layout: "auto",
    compute: { module, entryPoint: "main" },
  });
  const bytes = WORDS * 4;
  const { STORAGE, COPY_SRC, COPY_DST, UNIFORM, MAP_READ } = GPUBufferUsage;
  const values = device.createBuffer({ size: bytes, usage: STORAGE | COPY_SRC });
  const round = device.createBuffer({ size: 16, usage: UNIFORM | COPY_DST });
  const staging = Array.from(
    { length: 3 },
    () => device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST }),
  );
  for (const buffer of staging) {
    await buffer.mapAsync(GPUMapMode.READ);
    buffer.unmap();
  }
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer: values } }, {
      binding: 1,
      resource: { buffer: round },
    }],
  });
  for (let i = 0; i < ROUNDS; i++) {
    device.queue.writeBuffer(round, 0, new Uint32Array([i, 0, 0, 0]));
    const buffer = staging[i % staging.length]!;
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(values, 0, buffer, 0, bytes);
    device.queue.submit([encoder.finish()]);
    buffer.mapAsync(GPUMapMode.READ).catch(() => undefined);
    const read = new Uint32Array(buffer.getMappedRange());
    const at = i % WORDS;
    const right = read[at] === expected(i, at);
    buffer.unmap();
    if (!right) return false;
    if (i % DRAIN_EVERY === 0) await turn();
  }
  device.destroy();
  return true;
}

function turn(): Promise<void> {
  return new Promise((resolve) => realClock.after(0, resolve));
}

const right = await probe().catch(() => false);
console.log(right ? "eager" : "awaited");
