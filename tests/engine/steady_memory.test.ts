/** Deno's memory under a load that never pauses, with the collections that the executor forces. */
import { expect, test } from "bun:test";
import { runDeno } from "../support/processes.ts";

/** 33,000 steps leave about 70 MB behind, of which Deno frees some by itself, now and then. */
const GROWTH_MB_MAX = 20;

test("steps on WebGPU without a pause leave nothing behind on Deno", async () => {
  const { code, stdout, stderr } = await runDeno("tests/support/steady_memory_child.ts");
  expect([code, stderr]).toEqual([0, ""]);
  const { collections, grownMb, inThread } = JSON.parse(stdout) as Record<string, unknown>;
  expect(collections).toBeGreaterThanOrEqual(4);
  expect(grownMb).toBeLessThan(GROWTH_MB_MAX);
  expect(inThread).toBe("function");
}, 240_000);
