/** Dialects: what they choose, what wins over them, and what they say of a file that contradicts them. */
import { describe, expect, test } from "bun:test";
import { FLAGS } from "../../src/config.ts";
import {
  type CompileOptions,
  compilePlan,
  DIALECT_NAMES,
  graphOf,
  type Plan,
  printPlan,
} from "../../src/model/mod.ts";
import { frameworkManifest } from "../conformance/framework_cases.ts";
import { fails } from "./helpers.ts";

const ones = (value: number) => [value, value];

const LIF = { type: "LIF", tau: ones(0.01), r: ones(1), v_leak: ones(0), v_threshold: ones(1) };
const IF = { type: "IF", r: ones(1), v_threshold: ones(1) };
const CUBA = { ...LIF, type: "CubaLIF", tau_mem: ones(0.01), tau_syn: ones(0.02), w_in: ones(1) };

function cubaOf(fields: object = {}): object {
  const { tau: _, ...rest } = { ...CUBA, ...fields };
  return rest;
}

function chain(node: object, options: CompileOptions = {}): Plan {
  const nodes = {
    input: { type: "Input", shape: [2] },
    fc: { type: "Affine", weight: [[1, 2], [3, 4]], bias: [0.5, 0.25] },
    node,
    output: { type: "Output", shape: [2] },
  };
  const edges = [["input", "fc"], ["fc", "node"], ["node", "output"]];
  return compilePlan(graphOf({ nodes, edges }), options);
}

function codes(plan: Plan, level = "warning"): string[] {
  return plan.notes.filter((note) => note.level === level).map(({ code }) => code);
}

describe("choices", () => {
  test("the flag knows every dialect, and every dialect has a case of the framework itself", () => {
    expect(FLAGS.dialect.placeholder).toBe(DIALECT_NAMES.join("|"));
    const proven = new Set(frameworkManifest().map(({ dialect }) => dialect));
    expect([...proven].sort()).toEqual([...DIALECT_NAMES].sort());
  });

  test("what is asked for wins, and is not named as the dialect's", () => {
    const plan = chain(LIF, { dialect: "sinabs", dt: 0.001, spikes: "one", gain: "file" });
    expect(plan.options).toMatchObject({ dialect: "sinabs", spikes: "one", gain: "file" });
    expect(plan.options).toMatchObject({ reset: "subtract", compare: "ge", clamp: true });
    expect([plan.discretization, plan.dt, plan.dtSource]).toEqual(["exact", 0.001, "flag"]);
    const chosen = plan.notes.filter(({ code }) => code === "dialect").map(({ text }) =>
      text.split(/[ :]/)[0]
    );
    expect(chosen).toEqual(["discretization", "compare", "reset", "synapse", "clamp"]);
  });

  test("inspect says which choices came from it, and why", () => {
    const text = printPlan(chain(LIF, { dialect: "norse" }));
    expect(text).toContain("dialect    norse: as Norse 1.1.0 computes");
    expect(text).toContain("time step  0.001 s (the dialect's)");
    expect(text).toMatch(/Choices of the dialect\n {2}- discretization euler: dv = /);
    expect(printPlan(chain(LIF))).not.toContain("ialect");
  });

  test("a framework that is not known", async () => {
    const wrong = { dialect: "norsk" } as unknown as CompileOptions;
    await fails(() => chain(LIF, wrong), "usage", "did you mean norse");
    await fails(
      () => chain(LIF, { spikes: "many", reset: "subtract_next", dt: 1e-3 }),
      "usage",
      "subtract_next",
    );
  });

  test("neurons that count give counts", () => {
    const plan = chain(LIF, { dialect: "rockpool", dt: 0.001 });
    expect(plan.nodes.at(-1)).toMatchObject({ kind: "count", op: { layer: "lif_count" } });
    expect(chain(LIF, { dt: 0.001 }).nodes.at(-1)!.kind).toBe("spike");
  });
});

describe("what a file says against it", () => {
  const contradicted = (node: object, options: CompileOptions) =>
    chain(node, { dt: 1e-3, ...options }).notes
      .filter(({ code }) => code === "dialect_contradicted").map(({ text }) => text);

  test.each(
    [
      ["snntorch", IF, /Leaky of beta 0\.9/],
      ["snntorch", cubaOf(), /r is not tau_mem\/dt/],
      ["snntorch", { ...LIF, v_leak: ones(0.1) }, /refuses v_leak/],
      ["norse", { ...LIF, r: ones(2) }, /reads r as 1/],
      ["norse", { ...LIF, v_reset: ones(0.5) }, /resets to 0/],
      ["sparx", cubaOf(), /reads no such node/],
      ["sinabs", { ...LIF, tau: ones(1e-4) }, /count seconds/],
      ["rockpool", LIF, /importer fails on a LIF/],
      ["spikingjelly", { ...LIF, r: ones(3) }, /neither 1 nor tau\/dt/],
      ["spikingjelly", IF, /r is not 1\/dt/],
      ["spyx", { ...LIF, v_leak: [0, 0.1] }, /does not use v_leak/],
    ] as const,
  )("%s", (dialect, node, text) => {
    expect(contradicted(node, { dialect })).toEqual([expect.stringMatching(text)]);
  });

  test("Lava has no bias", () => {
    expect(contradicted(LIF, { dialect: "lava" })).toEqual([expect.stringMatching(/no bias/)]);
  });

  test("nothing is said where it fits", () => {
    expect(contradicted(LIF, { dialect: "norse" })).toEqual([]);
    expect(contradicted({ ...LIF, r: ones(10) }, { dialect: "spikingjelly" })).toEqual([]);
  });

  test("gains that give another dt away", () => {
    const made = { ...LIF, r: ones(10) }; // made with 1e-3
    expect(codes(chain(made, { dialect: "snntorch" }))).toEqual(["dialect_dt"]);
    expect(codes(chain(made, { dialect: "snntorch", dt: 1e-3 }))).toEqual([]);
  });

  test("a tau below dt, with what it means in Norse's files", async () => {
    const short = { ...LIF, tau: ones(1e-5) };
    await fails(() => chain(short, { dialect: "norse" }), "model_invalid", "--dt 1e-6");
  });

  test("metadata: who wrote it, its dt and its discretisation", () => {
    const graph = graphOf({
      nodes: {
        input: { type: "Input", shape: [2] },
        lif: LIF,
        output: { type: "Output", shape: [2] },
      },
      edges: [["input", "lif"], ["lif", "output"]],
      metadata: { dt: 0.002, discretization: "euler", exporter: "sparx" },
    });
    expect(codes(compilePlan(graph), "info")).toContain("dialect_hint");
    const plan = compilePlan(graph, { dialect: "sparx" });
    expect([plan.dt, plan.dtSource, plan.discretization]).toEqual([0.002, "metadata", "euler"]);
    expect(codes(plan, "info")).toContain("discretization_metadata");
    expect(codes(plan, "info")).toContain("gain_kept"); // the input has no weights
    const asked = compilePlan(graph, { dialect: "sparx", discretization: "exact" });
    expect(asked.discretization).toBe("exact");
  });
});

describe("arithmetic", () => {
  const coefficients = (node: object, options: CompileOptions) => {
    const { op } = chain(node, options).nodes.at(-1)!;
    if (op.op !== "pointwise") throw new Error("a neuron");
    return [op.layer, ...op.coefficients.filter((_, k) => k % 2 === 0)] as const;
  };
  const f = Math.fround;

  test("snnTorch divides the threshold", () => {
    const lif = { ...LIF, r: ones(4), v_threshold: ones(0.3), v_reset: ones(0.1) };
    expect(coefficients(lif, { dialect: "snntorch", dt: 1e-3 }))
      .toEqual(["lif", f(0.9), 1, 0, f(0.3 / 0.4), 0]);
    // With v_reset asked for, it is in the same unit.
    expect(coefficients(lif, { dialect: "snntorch", dt: 1e-3, reset: "v_reset" }).at(-1)).toBe(
      f(0.25),
    );
    expect(coefficients({ ...LIF, r: ones(10.000001) }, { dialect: "snntorch", dt: 1e-3 })[4]).toBe(
      1,
    );
  });

  test("Rockpool finds dt in r", () => {
    const [dt, tau] = [1e-3, 0.02];
    const r = ones(f((tau * Math.exp(-dt / tau)) / dt));
    const plan = chain(cubaOf({ tau_mem: ones(tau), r }), { dialect: "rockpool" });
    expect([plan.dt, plan.dtSource]).toEqual([dt, "dialect"]);
  });

  test("a rest that is one value is taken, others are not", () => {
    const rest = (v_leak: number[]) =>
      chain({ ...LIF, v_leak }, { dialect: "norse" }).nodes.at(-1)!.state[0]!.rest;
    expect([rest([0.5, 0.5]), rest([0.5, 0.25]), rest([0, 0])]).toEqual([0.5, 0, 0]);
    expect(codes(chain({ ...LIF, v_leak: [0.5, 0.25] }, { dialect: "norse" }))).toEqual([
      "rest_zero",
    ]);
  });

  test("late spikes and late weights are Delays of one step", () => {
    const names = (options: CompileOptions) => chain(LIF, options).nodes.map(({ name }) => name);
    expect(names({ dialect: "spyx", dt: 1e-3 })).toEqual(["input", "fc", "node", "node.late"]);
    expect(names({ dialect: "lava", dt: 1e-3 })).toEqual(["input", "fc", "fc.late", "node"]);
  });

  test("a threshold that cannot be counted", async () => {
    const zero = { ...LIF, v_threshold: [1, 0] };
    await fails(() => chain(zero, { dialect: "sinabs" }), "model_invalid", "v_threshold must be");
  });

  test("gains go into convolutions by channel, not where a channel has several", () => {
    const conv = (r: number[]) => {
      const shape = [2, 1, 2];
      const all = (value: number) => ({ shape, data: new Array<number>(4).fill(value) });
      const nodes = {
        input: { type: "Input", shape: [1, 1, 2] },
        conv: { type: "Conv2d", weight: [[[[1]]], [[[2]]]], bias: [1, 1] },
        lif: {
          type: "LIF",
          tau: all(0.01),
          r: { shape, data: r },
          v_leak: all(0),
          v_threshold: all(1),
        },
        output: { type: "Output", shape },
      };
      const edges = [["input", "conv"], ["conv", "lif"], ["lif", "output"]];
      const options = { dialect: "sparx", discretization: "euler", dt: 1e-3 } as const;
      const plan = compilePlan(graphOf({ nodes, edges }), options);
      const { op } = plan.nodes.find(({ name }) => name === "conv")!;
      if (op.op !== "conv") throw new Error("a convolution");
      return [[...op.weights], [...op.bias!], codes(plan, "info").includes("gain_kept")];
    };
    expect(conv([10, 10, 5, 5])).toEqual([[1, 1], [1, 0.5], false]);
    expect(conv([10, 9, 5, 5])).toEqual([[1, 2], [1, 1], true]);
  });
});

describe("files with one reading", () => {
  test("the axis of the batch in Input and Output", async () => {
    const nodes = {
      input: { type: "Input", shape: [1, 2] },
      lif: LIF,
      output: { type: "Output", shape: [1, 2] },
    };
    const graph = graphOf({ nodes, edges: [["input", "lif"], ["lif", "output"]] });
    const plan = compilePlan(graph, { dt: 1e-3 });
    expect([plan.sampleShape, plan.outputShape]).toEqual([[2], [2]]);
    expect(codes(plan)).toEqual(["batch_axis"]);
    await fails(() => compilePlan(graph, { dt: 1e-3, strict: true }), "model_invalid", "lif");
  });

  test("spyx's recurrent layers, whose Input feeds the weights", () => {
    const layer = {
      type: "NIRGraph",
      nodes: {
        in: { type: "Input", shape: [2] },
        lif: LIF,
        w_rec: { type: "Linear", weight: [[0, 1], [1, 0]] },
        out: { type: "Output", shape: [2] },
      },
      edges: [["in", "w_rec"], ["w_rec", "lif"], ["lif", "w_rec"], ["lif", "out"]],
    };
    const rewired = (dialect: "spyx" | "norse") =>
      codes(chain(layer, { dialect, dt: 1e-3 })).includes("rewired_recurrence");
    expect([rewired("spyx"), rewired("norse")]).toEqual([true, false]);
  });
});
