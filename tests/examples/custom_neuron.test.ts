/** The examples of docs/custom_neurons.md, run as a user runs them, on both runtimes. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { runOn } from "../support/processes.ts";

const PRINTED: Readonly<Record<string, string>> = {
  izhikevich: "4 24 70\n",
  resonate_and_fire: `${"0".repeat(24)}1${"0".repeat(18)}1${"0".repeat(18)}1${"0".repeat(17)}\n` +
    `${"0".repeat(80)}\n`,
};

for (const [name, printed] of Object.entries(PRINTED)) {
  const path = `examples/custom_neuron/${name}.ts`;

  test(`${name} takes less than 60 lines`, () => {
    expect(readFileSync(join(ROOT, path), "utf8").trimEnd().split("\n").length).toBeLessThan(60);
  });

  test.each(["bun", "deno"] as const)(`${name} runs on %s`, async (runtime) => {
    const { stdout, code } = await runOn(runtime, path);
    expect(stdout).toBe(printed);
    expect(code).toBe(0);
  });
}
