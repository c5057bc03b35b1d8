/** `ganglion compare`: equal, different, and the membrane where they part. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { parseNpy, writeNpy } from "../../src/base/npy.ts";
import { shiftBetween } from "../../src/cli/difference.ts";
import { membraneAt } from "../../src/membrane.ts";
import { compilePlan, graphOf } from "../../src/model/mod.ts";
import { nn, sequential } from "../../src/model/nn/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { DIGITS, ganglion, recording, scratchFolder } from "./command_line.ts";

async function outputs(): Promise<Float32Array> {
  const { stdout } = await ganglion("bun", ["infer", DIGITS, recording(7), "--device", "cpu"]);
  return parseNpy(stdout).values;
}

test("equal is 0, different is 1, with the place, both values and the membrane", async () => {
  using folder = scratchFolder();
  const theirs = folder.path("theirs.npy");
  const values = await outputs();
  const compare = (...flags: string[]) =>
    ganglion("bun", ["compare", DIGITS, recording(7), theirs, "--device", "cpu", ...flags]);
  writeFileSync(theirs, writeNpy(values, [25, 10]));
  const equal = await compare();
  expect([equal.code, equal.text]).toEqual([0, "equal: 250 values, largest difference 0\n"]);

  const at = values.findIndex((value) => value === 1);
  const [step, neuron] = [Math.floor(at / 10), at % 10];
  values[at] = 0;
  writeFileSync(theirs, writeNpy(values, [25, 10]));
  const text = await compare();
  expect(text.code).toBe(1);
  expect(text.text).toMatch(
    new RegExp(
      `^different +1 of 250 values, the largest by 1\nfirst +step ${step}, neuron ${neuron}\n` +
        'ours +1\ntheirs +0\nmembrane +[0-9.]+ of "readout" before its reset\n' +
        "threshold +1\\.00004578; the membrane is [0-9.]+ above it, \\d+ units in the last place\n",
    ),
  );
  const json = await compare("--json");
  expect([json.code, JSON.parse(json.text)]).toMatchObject([1, {
    equal: false,
    differ: 1,
    of: 250,
    first: { recording: 0, step, neuron, index: [neuron], ours: 1, theirs: 0 },
    membrane: { node: "readout", distance: expect.any(Number) },
    theirs_later_by_steps: null,
  }]);
  expect(JSON.parse(json.text).membrane.distance).toBeGreaterThan(0);
  expect((await compare("--tolerance", "1")).code).toBe(0);
});

test("recordings of a batch, one step late, and a shape that is not ours", async () => {
  using folder = scratchFolder();
  const one = parseNpy(await Bun.file(recording(7)).bytes()).values;
  const both = new Float32Array(2 * one.length);
  both.set(one);
  both.set(one, one.length);
  const [input, theirs] = [folder.path("input.npy"), folder.path("theirs.npy")];
  writeFileSync(input, writeNpy(both, [2, 25, 64]));
  const values = await outputs();
  const late = new Float32Array(500);
  late.set(values);
  late.set(values.subarray(0, 240), 260);
  writeFileSync(theirs, writeNpy(late, [2, 25, 10]));
  const args = ["compare", DIGITS, input, theirs, "--device", "cpu"];
  const shifted = await ganglion("deno", args);
  expect(shifted.code).toBe(1);
  expect(shifted.text).toMatch(/first +recording 1, step \d+, neuron \d+ \(1 recordings differ\)/);
  expect(shifted.text).toEndWith("\nTheirs are ours, 1 step later.\n");
  writeFileSync(theirs, writeNpy(late, [500]));
  const odd = await ganglion("bun", args);
  expect([odd.code, odd.text]).toEqual([1, ""]);
  expect(odd.stderr).toMatch(/theirs\.npy has shape \[500\]; our outputs have \[2, 25, 10\]/);
});

describe("the membrane", () => {
  test("is that before the reset, with feedback and delays in flight", async () => {
    const graph = graphOf({
      nodes: {
        in: { type: "Input", shape: [1] },
        lif: { type: "LIF", tau: 2e-4, r: 2, v_leak: 0, v_threshold: 1 },
        wait: { type: "Delay", delay: 2e-4 },
        back: { type: "Linear", weight: [[0.25]] },
        out: { type: "Output", shape: [1] },
      },
      edges: [["in", "lif"], ["lif", "wait"], ["wait", "back"], ["back", "lif"], ["lif", "out"]],
    });
    const plan = compilePlan(graph, { dt: 1e-4 });
    const input = Float32Array.from({ length: 40 }, (_, i) => (i * 5) % 4 / 2);
    const executor = new ReferenceExecutor(plan, { slots: 1, frame: 40 });
    const row = { slot: 0, steps: 40, fresh: true, input, record: ["lif.v", "lif.s", "back.y"] };
    const { probes } = (await executor.step([row]))[0]!;
    const f = Math.fround;
    for (let step = 0; step < 40; step++) {
      const last = step === 0 ? 0 : probes["lif.v"]![step - 1]!;
      const x = f(input[step]! + probes["back.y"]![step]!);
      const wanted = f(f(0.5 * last) + f(1 * x)); // d = 0.5, k·r = 1
      const found = await membraneAt({ plan, input, step, neuron: 0 });
      expect(found).toMatchObject({ node: "lif", v: wanted, threshold: 1 });
      expect(found!.distance! > 0).toBe(probes["lif.s"]![step] === 1);
    }
  });

  test("knows the threshold of a layer that adapts", async () => {
    const plan = sequential([nn.ALIF({ tau: 3, beta: 0.5, tauAdapt: 4 })], { input: [1] });
    const input = Float32Array.from({ length: 30 }, (_, i) => (i * 7) % 5 / 4);
    const executor = new ReferenceExecutor(plan, { slots: 1, frame: 30 });
    const row = { slot: 0, steps: 30, fresh: true, input };
    const { output } = (await executor.step([row]))[0]!;
    for (let step = 0; step < 30; step++) {
      const { threshold, distance } = (await membraneAt({ plan, input, step, neuron: 0 }))!;
      expect(distance! >= 0).toBe(output[step] === 1);
      if (output.subarray(0, step).includes(1)) expect(threshold).toBeGreaterThan(1);
    }
  });

  test("is null where no neuron leaves the model, and has no threshold where none is", async () => {
    const read = (type: object) =>
      graphOf({
        nodes: { in: { type: "Input", shape: [1] }, last: type },
        edges: [["in", "last"]],
      });
    const ask = (type: object) => {
      const plan = compilePlan(read(type), { dt: 1e-4 });
      const input = Float32Array.of(3);
      return membraneAt({ plan, input, step: 0, neuron: 0 });
    };
    expect(await ask({ type: "Scale", scale: [2] })).toBeNull();
    expect(await ask({ type: "LI", tau: [1e-3], r: [10], v_leak: [0] }))
      .toEqual({ node: "last", v: 3, threshold: null, distance: null, ulps: null });
  });
});

test("a shift in time is found in either direction, silence is none", () => {
  const ours = Float32Array.of(0, 0, 1, 0, 0, 1, 0, 0);
  const later = Float32Array.of(0, 0, 0, 0, 1, 0, 0, 1);
  expect(shiftBetween(ours, later, 2, 0)).toBe(1);
  expect(shiftBetween(later, ours, 2, 0)).toBe(-1);
  expect(shiftBetween(ours, new Float32Array(8), 2, 0)).toBeNull();
});
