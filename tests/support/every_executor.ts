/**
 * Registers a suite with bun:test on the reference, the CPU executor, this runtime's WebGPU
 * (SwiftShader under `npm test`) and, in a process of its own, Deno's WebGPU (lavapipe).
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import type { ReadbackMode } from "../../src/engine/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import type { Make } from "../contract/cases.ts";
import { cpuFaults, hostFaults } from "./faults.ts";
import { makeGpu } from "./gpu.ts";
import { runDeno } from "./processes.ts";
import { type SuiteName, SUITES } from "./suites.ts";

const CASE_MS = 60_000;

const MAKERS: Readonly<Record<string, Make>> = {
  reference: (plan, size) =>
    Promise.resolve({
      executor: new ReferenceExecutor(plan, size),
      faults: hostFaults(plan, size.frame),
    }),
  cpu: (plan, size) => {
    const executor = new CpuExecutor(plan, size);
    return Promise.resolve({ executor, faults: cpuFaults(executor) });
  },
  "webgpu on bun": makeGpu("awaited"),
};

/** Every choice of kernels: the bits may not depend on it. */
const CHOICES: Readonly<Record<string, Make>> = {
  "cpu, plain kernels": (plan, size) =>
    Promise.resolve({
      executor: new CpuExecutor(plan, { ...size, kernels: "plain" }),
      faults: hostFaults(plan, size.frame),
    }),
  "webgpu on bun, a kernel a layer": makeGpu("awaited", { path: "layers" }),
  "webgpu on bun, 64 lanes, tlist, texture": makeGpu("awaited", {
    lanes: 64,
    quads: 1,
    weights: "texture",
    input: "tlist",
  }),
};

export interface DenoRun {
  readonly readback: ReadbackMode;
  readonly kernels?: "auto" | "layers";
}

export interface Runs {
  /** Also with every choice of kernels. */
  readonly choices?: boolean;
  readonly deno: readonly DenoRun[];
}

export function onEveryExecutor(suite: SuiteName, { choices, deno }: Runs): void {
  const cases = SUITES[suite]();
  for (const [name, make] of Object.entries({ ...MAKERS, ...(choices ? CHOICES : {}) })) {
    describe(`${suite}: ${name}`, () => {
      for (const { name, run } of cases) test(name, () => run(make), CASE_MS);
    });
  }
  for (const run of deno) onDeno(suite, run);
}

/** Registers a suite on Deno's WebGPU, in a process of its own. */
export function onDeno(suite: SuiteName, { readback, kernels = "auto" }: DenoRun): void {
  const cases = SUITES[suite]();
  describe(`${suite}: webgpu on deno, ${readback} readback, ${kernels} kernels`, () => {
    let results: Record<string, string | null> = {};
    beforeAll(async () => {
      const args = [suite, readback, kernels];
      const { stdout, stderr, code } = await runDeno("tests/support/suite_on_deno.ts", args);
      expect(stderr).toBe("");
      expect(code).toBe(0);
      results = JSON.parse(stdout) as typeof results;
    }, 5 * CASE_MS);
    // null: passed; else the failure's text; undefined: it never ran.
    for (const { name } of cases) test(name, () => expect(results[name]).toBeNull());
  });
}
