/** Shapes along the edges: formulas against a count by hand, spreading, repairs, caps. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compilePlan, type GraphLike, graphOf, type Plan } from "../../src/model/mod.ts";
import { codes, fails, lif, linear, plan } from "./helpers.ts";

/** Input → node → Output, the Output's shape left open. */
function around(node: object, shape: readonly number[]): GraphLike {
  return {
    nodes: { input: { type: "Input", shape }, node, output: { type: "Output" } },
    edges: [["input", "node"], ["node", "output"]],
  };
}

const zeros = (shape: readonly number[]) => ({
  shape,
  data: new Float32Array(shape.reduce((size, axis) => size * axis, 1)),
});

/** How often a window of `kernel` taps, `dilation` apart, fits when it moves by `stride`. */
function fits(n: number, kernel: number, stride: number, pad: number, dilation: number): number {
  let count = 0;
  for (let at = -pad; at + dilation * (kernel - 1) < n + pad; at += stride) count++;
  return count;
}

const axis = fc.record({
  n: fc.integer({ min: 1, max: 9 }),
  kernel: fc.integer({ min: 1, max: 4 }),
  stride: fc.integer({ min: 1, max: 3 }),
  pad: fc.integer({ min: 0, max: 2 }),
  dilation: fc.integer({ min: 1, max: 3 }),
});

describe("convolutions and pools", () => {
  test("Conv2d: each axis has its own formula, groups split the channels", () => {
    fc.assert(fc.property(axis, axis, fc.integer({ min: 1, max: 3 }), (y, x, groups) => {
      const sizes = [y, x].map((a) => fits(a.n, a.kernel, a.stride, a.pad, a.dilation));
      const node = {
        type: "Conv2d",
        weight: zeros([2 * groups, 1, y.kernel, x.kernel]),
        bias: zeros([2 * groups]),
        stride: [y.stride, x.stride],
        padding: [y.pad, x.pad],
        dilation: [y.dilation, x.dilation],
        groups,
      };
      const compile = () => compilePlan(graphOf(around(node, [groups, y.n, x.n])));
      if (sizes.includes(0)) expect(compile).toThrow("does not fit");
      else expect(compile().outputShape).toEqual([2 * groups, ...sizes]);
    }));
  });

  test("Conv1d is a Conv2d of height 1", () => {
    fc.assert(fc.property(axis, ({ n, kernel, stride, pad, dilation }) => {
      const size = fits(n, kernel, stride, pad, dilation);
      const node = {
        type: "Conv1d",
        weight: zeros([3, 2, kernel]),
        stride,
        padding: pad,
        dilation,
        input_shape: n,
      };
      const compile = () => compilePlan(graphOf(around(node, [2, n])));
      if (size === 0) return expect(compile).toThrow("does not fit");
      const { outputShape, nodes } = compile();
      expect(outputShape).toEqual([3, size]);
      expect(nodes[1]!.op).toMatchObject({ inSize: [1, n], outSize: [1, size], pad: [0, pad] });
    }));
  });

  test("same keeps the size and puts the smaller half in front", () => {
    fc.assert(fc.property(axis, axis, (y, x) => {
      const node = {
        type: "Conv2d",
        weight: zeros([1, 1, y.kernel, x.kernel]),
        padding: "same",
        dilation: [y.dilation, x.dilation],
      };
      const compiled = compilePlan(graphOf(around(node, [1, y.n, x.n])));
      expect(compiled.outputShape).toEqual([1, y.n, x.n]);
      expect(compiled.nodes[1]!.op).toMatchObject({
        pad: [y, x].map((a) => Math.floor(a.dilation * (a.kernel - 1) / 2)),
      });
    }));
  });

  test("pools take the same formula without dilation", () => {
    fc.assert(fc.property(axis, axis, (y, x) => {
      const sizes = [y, x].map((a) => fits(a.n, a.kernel, a.stride, a.pad, 1));
      const node = {
        type: "SumPool2d",
        kernel_size: [y.kernel, x.kernel],
        stride: [y.stride, x.stride],
        padding: [y.pad, x.pad],
      };
      const compile = () => compilePlan(graphOf(around(node, [2, y.n, x.n])));
      if (sizes.includes(0)) expect(compile).toThrow("does not fit");
      else expect(compile().outputShape).toEqual([2, ...sizes]);
    }));
  });

  test("wrong windows are refused by node and field", async () => {
    const conv = (fields: object) =>
      around({ type: "Conv2d", weight: zeros([2, 1, 3, 3]), ...fields }, [1, 5, 5]);
    const refuse = (fields: object, ...words: string[]) =>
      fails(() => plan(conv(fields)), "model_invalid", '"node"', ...words);
    await refuse({ padding: "same", stride: 2 }, "stride 1");
    await refuse({ stride: 0 }, "stride");
    await refuse({ padding: [1, 1, 1] }, "padding");
    await refuse({ padding: -1 }, "padding");
    await refuse({ dilation: [1.5, 1] }, "dilation", "1.5");
    await refuse({ groups: 0 }, "groups");
    await refuse({ groups: 3 }, "takes [3");
    await refuse({ input_shape: [6, 5] }, "takes [1,6,5]", "gives [1,5,5]");
    await refuse({ weight: zeros([2, 1, 3]) }, "axes");
    await refuse({ bias: zeros([3]) }, "bias");
  });

  test("a pool's window is bounded, since nothing in a file need be as large", async () => {
    const pool = (kernel: number) => {
      const fields = { kernel_size: kernel, stride: 1, padding: kernel / 2 };
      return plan(around({ type: "SumPool2d", ...fields }, [1, 5, 5]));
    };
    expect(pool(1000).outputShape).toEqual([1, 6, 6]);
    await fails(() => pool(2 ** 30), "model_unsupported", '"node"', "kernel_size");
  });
});

describe("Flatten", () => {
  const flat = (fields: object, options = {}): Plan =>
    plan(around({ type: "Flatten", ...fields }, [2, 3, 4]), { dt: 1e-3, ...options });

  test.each([
    [{ start_dim: 0, end_dim: -1 }, [24]],
    [{ start_dim: 1, end_dim: 2 }, [2, 12]],
    [{ start_dim: 0, end_dim: 1 }, [6, 4]],
    [{ start_dim: 1, end_dim: 1 }, [2, 3, 4]],
    [{ start_dim: -2 }, [2, 12]],
    [{}, [2, 12]],
  ])("%j gives %j", (fields, shape) => {
    expect(flat(fields).outputShape).toEqual(shape);
  });

  test("may count a batch axis", async () => {
    expect(flat({ start_dim: 1 }, { flattenBatch: true }).outputShape).toEqual([24]);
    expect(flat({ start_dim: 2, end_dim: 3 }, { flattenBatch: true }).outputShape).toEqual([2, 12]);
    await fails(() => flat({ start_dim: 0 }, { flattenBatch: true }), "model_invalid", "start_dim");
    await fails(() => flat({ start_dim: 3 }), "model_invalid", '"node"', "flattenBatch");
    await fails(() => flat({ start_dim: 2, end_dim: 1 }), "model_invalid", "earlier");
  });

  test("must be told the truth about its input", async () => {
    await fails(() => flat({ input_type: [2, 3, 5] }), "model_invalid", "[2,3,5]", "[2,3,4]");
  });
});

describe("populations", () => {
  test("one value is spread over what comes in", () => {
    const scalar = { type: "LIF", tau: 0.01, r: [1], v_leak: 0, v_threshold: 1, v_reset: 0 };
    const compiled = plan(around(scalar, [2, 3]));
    expect(compiled.outputShape).toEqual([2, 3]);
    expect(codes(compiled)).toContain("broadcast");
    const { op } = compiled.nodes[1]!;
    expect(op.op === "pointwise" && op.coefficients.length).toBe(5 * 6);
    const mixed = plan(around(lif(3, { tau: 0.01 }), [3]));
    expect(codes(mixed)).toContain("broadcast");
    expect(codes(plan(around(lif(3), [3])))).not.toContain("broadcast");
  });

  test("two shapes in one node are refused", async () => {
    const error = () => plan(around(lif(3, { r: [1, 1] }), [3]));
    await fails(error, "model_invalid", '"node"', "tau", "[3]", "r", "[2]");
  });

  test("a loop of scalars takes its shape from what feeds it", () => {
    const graph = around({ type: "LIF", tau: 1, r: 1, v_leak: 0, v_threshold: 1 }, [4]);
    expect(plan({ ...graph, edges: [...graph.edges, ["node", "node"]] }).outputShape).toEqual([4]);
  });
});

describe("edges whose ends differ", () => {
  test("name both nodes, both shapes and what to do", async () => {
    await fails(
      () => plan(around(lif(5), [4])),
      "model_invalid",
      '"node"',
      "[5]",
      '"input"',
      "[4]",
    );
    const error = fails(() => plan(around(linear(8, 2), [2, 4])), "model_invalid", "Flatten");
    expect((await error).facts).toMatchObject({ from: "input", gives: [2, 4], takes: [8] });
  });

  test("an Output that only reshapes is repaired, but not in strict", async () => {
    const graph = around(lif(4), [4]);
    const declared = {
      ...graph,
      nodes: { ...graph.nodes, output: { type: "Output", shape: [2, 2] } },
    };
    const compiled = plan(declared);
    expect(compiled.outputShape).toEqual([2, 2]);
    expect(codes(compiled)).toContain("reshaped_output");
    await fails(() => plan(declared, { strict: true }), "model_invalid", "[2,2]", "[4]");
    const wrong = { ...graph, nodes: { ...graph.nodes, output: { type: "Output", shape: [5] } } };
    await fails(() => plan(wrong), "model_invalid", "[5]", "[4]");
  });

  test("dense layers with leading axes take and give them", async () => {
    const stack = { type: "Affine", weight: zeros([2, 3, 4]), bias: zeros([2, 3]) };
    const compiled = plan(around(stack, [2, 4]));
    expect(compiled.outputShape).toEqual([2, 3]);
    expect(compiled.nodes[1]!.op).toMatchObject({ blocks: 2, inputs: 4, outputs: 3 });
    const wrong = { ...stack, bias: zeros([3]) };
    await fails(() => plan(around(wrong, [2, 4])), "model_invalid", "bias", "[3]", "[2,3]");
  });
});

describe("caps, before anything is allocated", () => {
  test("products beyond every number are seen", async () => {
    for (const shape of [[2 ** 27], [2 ** 32, 2 ** 32], [1e12, 1e12, 1e12], [2 ** 53 - 1, 3]]) {
      await fails(
        () => plan(around({ type: "Scale", scale: 1 }, shape)),
        "model_invalid",
        "values",
      );
    }
  });

  test("padding, spreading and delays cannot make a model huge", async () => {
    const conv = { type: "Conv2d", weight: zeros([1, 1, 1, 1]), padding: 1e6 };
    await fails(() => plan(around(conv, [1, 1, 1])), "model_invalid", '"node"', "values");
    const many = Object.fromEntries(
      Array.from({ length: 9 }, (_, i) => [`s${i}`, { type: "Scale", scale: 1 }]),
    );
    const names = ["input", ...Object.keys(many), "output"];
    const chain = {
      nodes: { input: { type: "Input", shape: [2 ** 23] }, ...many, output: { type: "Output" } },
      edges: names.slice(1).map((name, i) => [names[i]!, name]),
    };
    await fails(() => plan(chain), "model_invalid", "values a step");
    const delay = { type: "Delay", delay: 1e9 };
    await fails(() => plan(around(delay, [1])), "model_invalid", '"node"', "delay");
  });
});
