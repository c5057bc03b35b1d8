/** Every choice of kernels on this runtime's WebGPU and on Deno's; see choice_cases.ts. */
import { describe, test } from "bun:test";
import { onDeno } from "../support/every_executor.ts";
import { choiceCases } from "./choice_cases.ts";
import { makeGpu } from "../support/gpu.ts";

/** A driver compiles a dozen kernels a case. */
const CASE_MS = 240_000;

describe("choices: webgpu on bun", () => {
  for (const { name, run } of choiceCases()) test(name, () => run(makeGpu("awaited")), CASE_MS);
});

onDeno("choices", { readback: "awaited" });
