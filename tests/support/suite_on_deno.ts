/** Runs a suite on Deno's WebGPU; prints `{case: null | failure}` as JSON. */
import process from "node:process";
import { makeGpu } from "./gpu.ts";
import { type SuiteName, SUITES } from "./suites.ts";

const [suite, readback, kernels] = process.argv.slice(2);
const make = makeGpu(
  readback === "eager" ? "eager" : "awaited",
  kernels === "layers" ? { path: kernels, weights: "texture" } : {},
);
const results: Record<string, string | null> = {};
for (const { name, run } of SUITES[suite as SuiteName]()) {
  try {
    await run(make);
    results[name] = null;
  } catch (error) {
    results[name] = error instanceof Error ? error.stack ?? error.message : String(error);
  }
}
console.log(JSON.stringify(results));
process.exit(0);
