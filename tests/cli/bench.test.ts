/** `ganglion bench`: what it prints, on both runtimes. */
import { expect, test } from "bun:test";
import { DIGITS, ganglion, RUNTIMES } from "./command_line.ts";

const ARGS = ["bench", DIGITS, "--seconds", "0.5", "--slots", "3", "--frame", "5"];

test.each(RUNTIMES)("the CPU executor, as JSON, on %s", async (runtime) => {
  const { code, text } = await ganglion(runtime, [...ARGS, "--device", "cpu", "--json"]);
  expect(code).toBe(0);
  const { model, frame, density, found } = JSON.parse(text);
  expect([model, frame, density]).toEqual(["digits", 5, 0.05]);
  expect(found).toHaveLength(1);
  const { executor, steps } = found[0];
  expect(executor.kind).toBe("cpu");
  expect(steps.map(({ rows }: { rows: number }) => rows)).toEqual([1, 2, 3]);
  for (const { rows, seconds, p10, p90, framesPerSecond, realTime } of steps) {
    expect(p10).toBeLessThanOrEqual(seconds);
    expect(p90).toBeGreaterThanOrEqual(seconds);
    expect(framesPerSecond).toBeCloseTo(rows / seconds);
    expect(realTime).toBeCloseTo(framesPerSecond * 5 * 1e-4);
  }
});

test("both executors, as tables; without a WebGPU its reason and the CPU's table", async () => {
  const [both, none] = await Promise.all([
    ganglion("deno", ARGS),
    ganglion("deno", ARGS, { VK_ICD_FILENAMES: "/none.json", VK_DRIVER_FILES: "/none.json" }),
  ]);
  expect(both.text).toMatch(/webgpu: .*\nsessions[^]*cpu: event-driven/);
  expect(none.text).not.toContain("webgpu:");
  expect(none.text).toContain("cpu: event-driven");
  expect(none.stderr).toContain("no WebGPU");
  expect([both.code, none.code]).toEqual([0, 0]);
});
