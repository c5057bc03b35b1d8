/**
 * Steps the digits on WebGPU without a pause. Prints `{ collections, grownMb, inThread }`: how many were
 * forced, by how much the process grew, and the type of `gc` in a thread.
 */
import process from "node:process";
import { chooseExecutor } from "../../src/choose_executor.ts";
import { LATEST } from "../../src/engine/collector.ts";
import { loadModel } from "../../src/load_model.ts";

// Awaited maps take 10 ms each on Deno.
process.env["GANGLION_READBACK"] ??= "eager";
const scope = globalThis as unknown as { gc(options: unknown): void };
const { gc } = scope;
let collections = 0;
scope.gc = (options) => {
  collections++;
  gc(options);
};

const digits = new URL("../../examples/digits/digits.nir", import.meta.url).pathname;
const plan = await loadModel(digits);
const executor = await chooseExecutor(plan, { slots: 1, frame: 1, device: "webgpu" });
const input = new Float32Array(plan.sampleSize);

async function run(steps: number): Promise<number> {
  for (let i = 0; i < steps; i++) {
    await executor.step([{ slot: 0, steps: 1, fresh: false, input }]);
  }
  return process.memoryUsage().rss / 2 ** 20;
}

const begin = await run(LATEST);
const end = await run(4 * LATEST);
const thread = new Worker("data:text/javascript,postMessage(typeof gc)", { type: "module" });
const inThread = await new Promise((resolve) => thread.onmessage = ({ data }) => resolve(data));
console.log(JSON.stringify({ collections, grownMb: Math.round(end - begin), inThread }));
process.exit(0);
