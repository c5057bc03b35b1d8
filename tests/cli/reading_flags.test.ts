/** Every reading choice as a flag, as a field of run.json and as an option: the same model, shown by inspect. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadOptions } from "../../src/cli/reading.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { readSettings } from "../../src/config.ts";
import { loadModel } from "../../src/load_model.ts";
import {
  type CompileOptions,
  compilePlan,
  graphOf,
  printPlan,
  writeNirBytes,
} from "../../src/model/mod.ts";
import { ganglion, RUNTIMES, scratchFolder } from "./command_line.ts";

const leaky = { v_leak: [0.25, 0.25], v_threshold: [1, 1], v_reset: [0.25, 0.25] };
const graph = graphOf({
  nodes: {
    input: { type: "Input", shape: [2] },
    weights: { type: "Affine", weight: [[1, 0.5], [0.25, 1]], bias: [0, 0] },
    cuba: { type: "CubaLIF", tau_syn: [0.01, 0.02], tau_mem: [0.02, 0.03], r: [2, 2], ...leaky },
    lif: { type: "LIF", tau: [0.01, 0.02], r: [1.5, 1.5], ...leaky },
    adder: { type: "IF", r: [1, 1], v_threshold: [1, 1] },
    output: { type: "Output", shape: [2] },
  },
  edges: [["input", "weights"], ["weights", "cuba"], ["cuba", "lif"], ["lif", "adder"], [
    "adder",
    "output",
  ]],
});

const DT = { dt: 1e-3 };
const CHOICES: readonly (readonly [flags: string, option: CompileOptions, shown: RegExp])[] = [
  ["--discretization exact", { discretization: "exact" }, /reading +exact/],
  ["--compare ge", { compare: "ge" }, /fires at v >= threshold/],
  ["--reset subtract", { reset: "subtract" }, /reset subtract/],
  ["--if-gain r", { ifGain: "r" }, /IF gain r,/],
  ["--cuba-order old", { cubaOrder: "old" }, /CubaLIF old current/],
  ["--gain unit", { gain: "unit" }, /gain unit/],
  ["--spikes many", { spikes: "many" }, /several spikes a step/],
  ["--form box", { form: "box" }, /form box/],
  ["--late spikes", { late: "spikes" }, /spikes a step late/],
  ["--late weights", { late: "weights" }, /weights a step late/],
  ["--synapse before", { synapse: "before" }, /inputs decay with the current/],
  ["--rest v_leak", { rest: "v_leak" }, /starts at v_leak/],
  ["--rest v_reset", { rest: "v_reset" }, /starts at v_reset/],
  ["--clamp on", { clamp: true }, /IF stops at -threshold/],
  ["--dialect sinabs --clamp off", { dialect: "sinabs", clamp: false }, /dialect +sinabs/],
  ["--flatten-batch", { flattenBatch: true }, /Flatten counts the batch/],
];

const usual = compilePlan(graph, DT).digest;

test.each(CHOICES)("%s", async (flags, option, shown) => {
  using scratch = scratchFolder();
  const folder = scratch.path("net");
  mkdirSync(folder);
  writeFileSync(join(folder, "model.nir"), await writeNirBytes(graph, {}));
  writeFileSync(join(folder, "run.json"), JSON.stringify({ ...DT, options: option }));

  const wanted = compilePlan(graph, { ...DT, ...option });
  expect(wanted.digest).not.toBe(usual);
  expect((await loadModel(folder)).digest).toBe(wanted.digest);

  const names = Object.values(COMMANDS["inspect"]!.flags).flat();
  const reading = readSettings(names, [...flags.split(" "), "--dt", "1e-3"], {});
  const given = await loadModel(join(folder, "model.nir"), {
    ...loadOptions(reading),
    isolated: false,
  });
  expect(given.digest).toBe(wanted.digest);
  expect(printPlan(given)).toMatch(shown);
});

test.each(RUNTIMES)("inspect shows what was chosen, on %s", async (runtime) => {
  using scratch = scratchFolder();
  const file = scratch.path("net.nir");
  writeFileSync(file, await writeNirBytes(graph, DT));
  const flags = ["--form", "box", "--late", "weights", "--synapse", "before", "--clamp", "on"];
  const { code, text } = await ganglion(runtime, [
    ...["inspect", file, "--json", "--rest", "v_leak", "--discretization", "exact"],
    ...flags,
  ]);
  const chosen = { form: "box", late: "weights", synapse: "before", rest: "v_leak", clamp: true };
  expect([code, JSON.parse(text)]).toEqual([
    0,
    expect.objectContaining({ discretization: "exact", options: expect.objectContaining(chosen) }),
  ]);
  const wrong = await ganglion(runtime, ["inspect", file, "--clamp", "yes"]);
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/--clamp takes on, off/)]);
});
