/** The door for layers: what it refuses, in words; and where an error in a user's shader points. */
import { describe, expect, test } from "bun:test";
import { GanglionError } from "../../src/base/errors.ts";
import { defineLayer, layerNamed, LAYERS, type PointwiseLayer } from "../../src/layers/mod.ts";
import { nn, sequential } from "../../src/model/nn/mod.ts";
import { makeGpu } from "../support/gpu.ts";
import { runDeno } from "../support/processes.ts";

const head = (name: string, states = 1, coefs = 1) =>
  `fn ${name}_step(x: f32, state: ptr<function, array<f32, ${states}>>, ` +
  `coef: ptr<function, array<f32, ${coefs}>>, mode: u32) -> f32`;

const good = (name: string) => ({
  name,
  wgsl: `${head(name)} { return x; }`,
  emits: "real" as const,
  step: (x: number) => x,
});

function refusal(definition: object): string {
  try {
    defineLayer(definition as Parameters<typeof defineLayer>[0]);
  } catch (error) {
    expect(error).toBeInstanceOf(GanglionError);
    return (error as GanglionError).message;
  }
  throw new Error("it was taken");
}

describe("defineLayer", () => {
  test("every built-in layer came through it", () => {
    for (const [name, layer] of Object.entries(LAYERS)) expect(layerNamed(name)).toBe(layer);
  });

  test("the same definition may come twice, another may not take its name", () => {
    const first = defineLayer(good("twice_test"));
    expect(defineLayer(good("twice_test")).wgsl).toBe(first.wgsl);
    const other = { ...good("twice_test"), emits: "spike", step: () => 0 };
    expect(refusal(other)).toMatch(/"twice_test".*name already.*choose another/);
    expect(refusal({ ...good("lif") })).toMatch(/name already/);
  });

  test.each([
    [{ ...good("a"), name: "My-Layer" }, /lower-case/],
    [{ ...good("bad_a"), wgsl: "fn other() {}" }, /must define fn bad_a_step\(x: f32/],
    [{ ...good("bad_b"), state: { v: 0, u: 0 } }, /array of 1 for 2 state fields/],
    [
      { ...good("bad_c"), coefficients: { a: () => 1, b: () => 2 } },
      /array of 1 for 2 coefficients/,
    ],
    [{ ...good("bad_d"), wgsl: `@group(0) ${head("bad_d")}` }, /has @group/],
    [{ ...good("bad_e"), state: { v: NaN } }, /rest value of "v" is NaN/],
    [{ ...good("bad_f"), state: { last: 0 } }, /cannot be called "last"/],
    [{ ...good("bad_g"), emits: "spikes" }, /emits is "spikes"/],
    [{ ...good("bad_h"), parameters: { tau: { default: Infinity } } }, /default of "tau"/],
    [{ ...good("bad_i"), coefficients: { d: () => NaN } }, /coefficient "d" is NaN/],
    [{ ...good("bad_j"), emits: "spike", step: () => 2, coefficients: {} }, /twin returned 2/],
    [{ ...good("bad_k"), nir: "LIF" }, /NIR type "LIF" is a built-in one/],
    [{ ...good("bad_l"), state: [{ name: "v", rest: 0 }, { name: "v", rest: 0 }] }, /two of state/],
  ])("refuses %#", (definition, message) => {
    expect(refusal(definition)).toMatch(message);
  });

  test("a plan with a layer that is not defined here is refused by name", () => {
    expect(() => layerNamed("nowhere")).toThrow(/"nowhere".*import the file/);
  });

  test("parameters are checked by node and name, and make the plan's digest", () => {
    const layer: PointwiseLayer = defineLayer({
      ...good("checked_test"),
      parameters: { tau: { min: 1, unit: "ms" }, gain: { default: 1 } },
      coefficients: { gain: ({ gain, tau }, dt) => gain * dt / tau },
    });
    const plan = (values: Record<string, number | number[]>) =>
      sequential([nn.Neuron(layer, values)], { input: [2] });
    expect(() => plan({})).toThrow(/"checked_test_0".*needs "tau"/);
    expect(() => plan({ tau: 0.5 })).toThrow(/tau must be at least 1, not 0.5 ms/);
    expect(() => plan({ tau: [1, 2, 3] })).toThrow(/"tau" has 3 values for 2 features/);
    expect(() => plan({ tau: 1, teu: 1 })).toThrow(/no parameter "teu"; it has tau, gain/);
    expect(plan({ tau: 4 }).digest).not.toBe(plan({ tau: 5 }).digest);
    expect(plan({ tau: [4, 4] }).digest).toBe(plan({ tau: 4 }).digest);
  });
});

test("layers whose helpers have the same name serve in one model", async () => {
  const layer = (name: string, factor: number) =>
    defineLayer({
      ...good(name),
      wgsl: `fn helper(x: f32) -> f32 {\n  return x * ${factor}.0;\n}\n` +
        `${head(name)} {\n  return snap(helper(x));\n}`,
      step: (x: number) => Math.fround(x * factor),
    });
  const modules = [nn.Neuron(layer("helped_a", 2)), nn.Neuron(layer("helped_b", 4))];
  const plan = sequential(modules, { input: [2] });
  const { executor } = await makeGpu("awaited")(plan, { slots: 1, frame: 1 });
  const input = Float32Array.of(1, -0.5);
  const [result] = await executor.step([{ slot: 0, steps: 1, fresh: true, input }]);
  expect([...result!.output]).toEqual([8, -4]);
  await executor.close();
});

describe("an error in a user's WGSL points at their line", () => {
  const wrong = {
    ...good("faulty_test"),
    wgsl: `// A layer with a mistake in line 3.\n${
      head("faulty_test")
    } {\n  return x + nonsense;\n}`,
  };

  test("on Bun", async () => {
    const plan = sequential([nn.Neuron(defineLayer(wrong))], { input: [2] });
    const made = makeGpu("awaited")(plan, { slots: 1, frame: 1 });
    expect(made).rejects.toThrow(/layer "faulty_test".*\n +line 3 of its WGSL:.*nonsense/);
    await made.catch(() => {});
  });

  test("on Deno", async () => {
    const { stdout } = await runDeno("tests/layers/faulty_on_deno.ts", [JSON.stringify(wrong)]);
    expect(stdout).toMatch(/layer "faulty_test".*\n +line 3 of its WGSL:.*nonsense/);
  });
});
