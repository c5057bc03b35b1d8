/** Parameters → coefficients, layouts and mode bits. */
import { describe, expect, test } from "bun:test";
import {
  MODE_CUBA_OLD,
  MODE_GE,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
} from "../../src/layers/mod.ts";
import type { CompileOptions, Plan, PlanOp, PointwiseOp } from "../../src/model/mod.ts";
import { codes, fails, lif, model, plan } from "./helpers.ts";

function compiled(node: object, options: CompileOptions = {}, size = 1, outSize = size): Plan {
  return plan(model({ node }, "input>node node>output", size, outSize), { dt: 1e-3, ...options });
}

function opOf(node: object, options: CompileOptions = {}, size = 1, outSize = size): PlanOp {
  return compiled(node, options, size, outSize).nodes[1]!.op;
}

const pointwise = (node: object, options: CompileOptions = {}, size = 1): PointwiseOp =>
  opOf(node, options, size) as PointwiseOp;

const f32 = (...values: number[]): number[] => values.map(Math.fround);

describe("neurons", () => {
  test("LIF, euler and exact, rounded once", () => {
    const node = lif(1, {
      tau: [0.003],
      r: [2],
      v_leak: [0.1],
      v_threshold: [0.7],
      v_reset: [0.2],
    });
    const d = 1 - 1 / 3;
    expect([...pointwise(node).coefficients]).toEqual(f32(d, 2 / 3, 0.1 / 3, 0.7, 0.2));
    const e = Math.exp(-1 / 3);
    expect([...pointwise(node, { discretization: "exact" }).coefficients])
      .toEqual(f32(e, (1 - e) * 2, (1 - e) * 0.1, 0.7, 0.2));
  });

  test("coefficients lie name by name, then element by element", () => {
    const node = { type: "LI", tau: [0.002, 0.004], r: [1, 2], v_leak: [0, 1] };
    expect([...pointwise(node, {}, 2).coefficients]).toEqual([0.5, 0.75, 0.5, 0.5, 0, 0.25]);
  });

  test("CubaLIF and CubaLI", () => {
    const fields = { tau_syn: [0.002], tau_mem: [0.004], r: [3], v_leak: [1], w_in: [5] };
    const li = pointwise({ type: "CubaLI", ...fields });
    expect([...li.coefficients]).toEqual([0.5, 2.5, 0.75, 0.75, 0.25]);
    const lifNode = { type: "CubaLIF", ...fields, v_threshold: [2], v_reset: [-1] };
    expect([...pointwise(lifNode).coefficients]).toEqual([0.5, 2.5, 0.75, 0.75, 0.25, 2, -1]);
  });

  test("absent w_in is 1, absent v_reset 0", () => {
    const node = {
      type: "CubaLIF",
      tau_syn: [0.002],
      tau_mem: [0.004],
      r: [3],
      v_leak: [1],
      v_threshold: [2],
    };
    expect([...pointwise(node).coefficients]).toEqual([0.5, 0.5, 0.75, 0.75, 0.25, 2, 0]);
  });

  test("the gain of an IF", () => {
    const node = (r: number) => ({ type: "IF", r: [r], v_threshold: [1] });
    const gain = (r: number, options: CompileOptions = {}) =>
      pointwise(node(r), options).coefficients[0];
    expect([gain(1), gain(1000), gain(500)]).toEqual([1, 1, 0.5]);
    expect(gain(1, { ifGain: "r_dt" })).toBe(Math.fround(1e-3));
    expect(gain(500, { ifGain: "r" })).toBe(500);
    const level = (r: number) =>
      compiled(node(r)).notes.find(({ code }) => code === "if_gain")?.level;
    expect([level(1), level(1000), level(500)]).toEqual(["info", "info", "warning"]);
    expect(pointwise({ type: "I", r: [1] }).coefficients[0]).toBe(Math.fround(1e-3));
  });

  test("options become mode bits, and the reset value", () => {
    const node = lif(1, { v_reset: [0.25] });
    const read = (options: CompileOptions) => {
      const { mode, coefficients } = pointwise(node, options);
      return [mode, coefficients[4]];
    };
    expect(read({})).toEqual([0, 0.25]);
    expect(read({ compare: "ge" })).toEqual([MODE_GE, 0.25]);
    expect(read({ reset: "zero" })).toEqual([0, 0]);
    expect(read({ reset: "subtract" })).toEqual([MODE_RESET_SUBTRACT, 0]);
    expect(read({ reset: "none" })).toEqual([MODE_RESET_NONE, 0]);
    expect(read({ cubaOrder: "old" })).toEqual([0, 0.25]);
    const cuba = { type: "CubaLI", tau_syn: [1], tau_mem: [1], r: [1], v_leak: [0] };
    expect(pointwise(cuba, { cubaOrder: "old", compare: "ge" }).mode).toBe(MODE_CUBA_OLD);
    const threshold = { type: "Threshold", threshold: [1] };
    expect(pointwise(threshold, { compare: "ge", reset: "subtract" }).mode).toBe(MODE_GE);
  });

  test("euler cannot follow a tau below dt; both ways out are named", async () => {
    const node = lif(1, { tau: [5e-4] });
    await fails(() => compiled(node), "model_invalid", '"node"', "tau", "--dt", "exact");
    expect(compiled(node, { discretization: "exact" }).nodes).toHaveLength(2);
    expect(pointwise(lif(1, { tau: [1e-3] })).coefficients[0]).toBe(0);
    for (const tau of [0, -1, 1e-40]) {
      const exact = { discretization: "exact" } as const;
      await fails(
        () => compiled(lif(1, { tau: [tau] }), exact),
        "model_invalid",
        "tau",
        "positive",
      );
    }
  });

  test("numbers beyond f32 are refused, the smallest become +0", async () => {
    await fails(() => compiled(lif(1, { r: [1e300] })), "model_invalid", '"node"', "gain");
    const tiny = pointwise(lif(1, { v_leak: [-0], v_reset: [1e-40], r: [-1e-39] }));
    expect([...tiny.coefficients].map((each) => Object.is(each, -0))).not.toContain(true);
    expect([tiny.coefficients[1], tiny.coefficients[4]]).toEqual([0, 0]);
  });

  test("options that do not exist are refused", async () => {
    const bad = { reset: "sometimes" } as unknown as CompileOptions;
    await fails(() => compiled(lif(1), bad), "usage", "reset", "subtract", "sometimes");
  });
});

describe("linear nodes", () => {
  test("dense weights are turned in-major, block by block", () => {
    const op = opOf({ type: "Affine", weight: [[1, 2, 3], [4, 5, 6]], bias: [7, 8] }, {}, 3, 2);
    expect(op).toEqual({
      op: "dense",
      blocks: 1,
      inputs: 3,
      outputs: 2,
      weights: Float32Array.of(1, 4, 2, 5, 3, 6),
      bias: Float32Array.of(7, 8),
    });
    const stack = { type: "Linear", weight: [[[1, 2]], [[3, 4]]] };
    const graph = {
      nodes: { a: { type: "Input", shape: [2, 2] }, stack, b: { type: "Output", shape: [2, 1] } },
      edges: [["a", "stack"], ["stack", "b"]],
    };
    const weights = Float32Array.of(1, 2, 3, 4);
    expect(plan(graph).nodes[1]!.op).toMatchObject({ blocks: 2, weights, bias: null });
  });

  test("convolution weights are [groups][in][y][x][out]", () => {
    // weight[o][0][0][k] = 10·o + k, four outputs in two groups.
    const weight = [0, 10, 20, 30].map((o) => [[[o, o + 1]]]);
    const graph = {
      nodes: {
        a: { type: "Input", shape: [2, 1, 2] },
        c: { type: "Conv2d", weight, groups: 2 },
        b: { type: "Output", shape: [4, 1, 1] },
      },
      edges: [["a", "c"], ["c", "b"]],
    };
    const weights = Float32Array.of(0, 10, 1, 11, 20, 30, 21, 31);
    expect(plan(graph).nodes[1]!.op).toMatchObject({ op: "conv", groups: 2, weights, bias: null });
  });

  test("average pools carry f32(1/n), sum pools nothing", () => {
    const pool = (type: string, pad: number) => ({
      nodes: {
        a: { type: "Input", shape: [1, 3, 3] },
        p: { type, kernel_size: [3, 1], stride: 1, padding: [pad, 0] },
        b: { type: "Output" },
      },
      edges: [["a", "p"], ["p", "b"]],
    });
    expect(plan(pool("AvgPool2d", 1)).nodes[1]!.op)
      .toMatchObject({ scale: Float32Array.of(1 / 3), outSize: [3, 3] });
    expect(plan(pool("SumPool2d", 0)).nodes[1]!.op).toMatchObject({ scale: null, outSize: [1, 3] });
  });

  test("weights that f32 cannot hold are refused", async () => {
    const node = { type: "Linear", weight: [[1e39]] };
    await fails(() => compiled(node), "model_invalid", '"node"', "weight");
  });
});

describe("delays", () => {
  test("halves go to even, with a warning", () => {
    const node = { type: "Delay", delay: [0.5, 1.5, 2.5, 3.25].map((steps) => steps / 1024) };
    const result = compiled(node, { dt: 1 / 1024 }, 4);
    expect(result.nodes[1]!.op).toMatchObject({ steps: Uint32Array.of(0, 2, 2, 3), stepsMax: 3 });
    expect(codes(result)).toContain("delay_rounded");
    const whole = compiled({ type: "Delay", delay: [0.003, 0.0070001] }, {}, 2);
    expect(whole.nodes[1]!.op).toMatchObject({ steps: Uint32Array.of(3, 7) });
    expect(codes(whole)).not.toContain("delay_rounded");
  });

  test("negative ones are refused", async () => {
    await fails(() => compiled({ type: "Delay", delay: [-1] }), "model_invalid", '"node"', "delay");
  });
});

describe("kinds", () => {
  const kinds = (nodes: Record<string, object>, edges: string): string[] =>
    plan(model(nodes, edges)).nodes.map(({ name, kind }) => `${name} ${kind}`);
  const wait = { type: "Delay", delay: [2e-3] };

  test("a delay passes its source's kind on, the input's as real", () => {
    expect(kinds({ d: wait, n: lif(1), e: wait }, "input>d d>n n>e e>output"))
      .toEqual(["input input", "d real", "n spike", "e spike"]);
  });

  test("sums of spikes are counts, with anything else real", () => {
    const nodes = { a: lif(1), b: lif(1), d: wait };
    expect(kinds(nodes, "input>a input>b a>d b>d d>output"))
      .toEqual(["input input", "a spike", "b spike", "d.sum count", "d count"]);
    expect(kinds(nodes, "input>a a>b input>d b>d d>output"))
      .toEqual(["input input", "a spike", "b spike", "d.sum real", "d real"]);
  });

  test("round a cycle too", () => {
    expect(kinds({ n: lif(1), d: wait }, "input>n n>d d>d d>output"))
      .toEqual(["input input", "n spike", "d count", "d.sum count"]);
  });
});
