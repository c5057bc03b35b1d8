/** Models from plain objects, variables put in their place, digests, and the text of `inspect`. */
import { describe, expect, test } from "bun:test";
import {
  applyVariables,
  compilePlan,
  describePlan,
  graphOf,
  printPlan,
  probesOf,
} from "../../src/model/mod.ts";
import { fails, lif, linear, model, plan } from "./helpers.ts";

const graph = model({ fc: linear(2, 2), lif: lif(2) }, "input>fc fc>lif lif>output", 2);

describe("graphOf", () => {
  test("takes numbers in every form", () => {
    const forms: unknown[] = [
      [[1, 2], [3, 4]],
      { shape: [2, 2], data: [1, 2, 3, 4] },
      { shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) },
      { shape: [2, 2], data: Float64Array.of(1, 2, 3, 4) },
    ];
    const digests = forms.map((weight) =>
      plan(model({ w: { type: "Linear", weight } }, "input>w w>output", 2)).digest
    );
    expect(new Set(digests).size).toBe(1);
  });

  test("refuses what is no array of numbers, by node and field", async () => {
    const refuse = (weight: unknown, ...words: string[]) =>
      fails(
        () => plan(model({ w: { type: "Linear", weight } }, "input>w w>output")),
        ...words as [
          "model_invalid",
        ],
      );
    await refuse([[1], [2, 3]], "model_invalid", '"w"', '"weight"', "ragged");
    await refuse([[1], 2], "model_invalid", "ragged");
    await refuse([["x"]], "model_invalid", "no number");
    await refuse([], "model_invalid", "empty");
    await refuse({ shape: [2, 2], data: [1] }, "model_invalid", "do not fill");
    await refuse({ shape: [-1], data: [] }, "model_invalid");
    await refuse([[NaN]], "model_invalid", "NaN");
    await refuse([[-Infinity]], "model_invalid", "-Infinity");
    await refuse(null, "model_unsupported", '"weight"');
    await fails(() => graphOf({ nodes: { a: {} }, edges: [] }), "model_invalid", "type");
    await fails(() => graphOf({ nodes: {}, edges: [["a"]] }), "model_invalid", "two ends");
    await fails(() => plan({ nodes: {}, edges: [] }), "model_invalid");
  });

  test("names from objects' own machinery are names like any other", () => {
    const nodes = { constructor: linear(1, 1), toString: lif(1) };
    const compiled = plan(model(nodes, "input>constructor constructor>toString toString>output"));
    expect(compiled.nodes.map(({ name }) => name)).toEqual(["input", "constructor", "toString"]);
  });
});

describe("applyVariables", () => {
  test("replaces fields, in nested graphs too, and ignores state", () => {
    const inner = {
      type: "NIRGraph",
      nodes: { i: { type: "Input", shape: [2] }, lif: lif(2), o: { type: "Output", shape: [2] } },
      edges: [["i", "lif"], ["lif", "o"]],
    };
    const source = graphOf(model({ g: inner }, "input>g g>output", 2));
    const changed = applyVariables(source, {
      "g.lif": { v_threshold: [5, 6] },
      state: { anything: [1] },
    });
    const thresholds = (from: typeof source) => {
      const { op } = compilePlan(from, { dt: 1e-3 }).nodes[1]!;
      return op.op === "pointwise" ? [...op.coefficients.slice(6, 8)] : [];
    };
    expect(thresholds(changed)).toEqual([5, 6]);
    expect(thresholds(source)).toEqual([1, 1]);
  });

  test("refuses unknown nodes, fields and bad numbers", async () => {
    const source = graphOf(graph);
    const set = (variables: object) => () => applyVariables(source, variables as never);
    await fails(set({ lif2: { tau: [1] } }), "model_invalid", '"lif2"');
    await fails(set({ lif: { w_in: [1] } }), "model_invalid", '"lif"', '"w_in"');
    await fails(set({ lif: { tau: [NaN, 1] } }), "model_invalid", '"tau"', "NaN");
    const uneven = applyVariables(source, { lif: { tau: [1, 1, 1] } });
    await fails(() => compilePlan(uneven), "model_invalid", '"lif"', "[3]");
  });
});

describe("digest", () => {
  const digest = (options = {}) => plan(graph, { dt: 1e-3, ...options }).digest;

  test("changes with what is computed, not with names of the model or notes", () => {
    expect(digest()).toMatch(/^[0-9a-f]{64}$/);
    expect(digest({ name: "other" })).toBe(digest());
    expect(digest({ strict: true })).toBe(digest());
    const others = [
      { dt: 2e-3 },
      { discretization: "exact" },
      { compare: "ge" },
      { reset: "subtract" },
    ].map(digest);
    expect(new Set([digest(), ...others]).size).toBe(5);
    const weights = model({ fc: linear(2, 2, 0.25), lif: lif(2) }, "input>fc fc>lif lif>output", 2);
    expect(plan(weights).digest).not.toBe(digest());
  });
});

describe("inspect", () => {
  const loop = plan({
    ...model(
      { fc: linear(2, 2), lif: lif(2), d: { type: "Delay", delay: [2e-3, 1e-3] } },
      "input>fc fc>lif lif>lif lif>d d>output",
      2,
    ),
    name: "loop",
  });

  test("text", () => {
    const text = printPlan(loop).replace(loop.digest, "0".repeat(64));
    expect(text).toMatchInlineSnapshot(`
      "model      loop
      digest     0000000000000000000000000000000000000000000000000000000000000000
      input      [2]
      output     [2] spike
      time step  0.001 s (as given)
      reading    euler, fires at v > threshold, reset v_reset, IF gain auto, CubaLIF new current
      numbers    16 (weights, biases, coefficients)
      state      20 B a session + 16 B in delay rings

      Nodes, in the order of a step
        name   type    shape  gives  state  from (~ one step late)
        input  Input   [2]    input
        fc     Linear  [2]    real          input
        lif    LIF     [2]    spike  12 B   fc + ~lif
        d      Delay   [2]    spike  24 B   lif

      Parameters
        fc   2 to 2, w 0.5
        lif  decay 0.9, gain 0.1, leak 0, threshold 1, reset 0
        d    1…2 steps

      Blocks
        0   feedforward   fc
        1   recurrent     lif
        2   feedforward   d

      Cut edges: the reader sees the step before
        lif  to lif  --cut lif:lif

      Names for record
        fc.y lif.s lif.v d.s
      "
    `);
  });

  test("summary is plain JSON", () => {
    const summary = describePlan(loop);
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
    expect(summary.cuts).toEqual([{ from: "lif", to: "lif" }]);
    expect(summary.stateBytes).toBe(4 * loop.stateWords);
    expect(summary.ringBytes).toBe(16);
    expect(summary.probes).toEqual(probesOf(loop).map(({ name }) => name));
    expect(summary.probes).toEqual(["fc.y", "lif.s", "lif.v", "d.s"]);
  });
});
