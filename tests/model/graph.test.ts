/** Edges, nesting, ports: what a graph may look like, and what is said about it. */
import { describe, expect, test } from "bun:test";
import { compilePlan, graphOf } from "../../src/model/mod.ts";
import { codes, fails, lif, linear, model, plan, wiring } from "./helpers.ts";

/** A nested LIF whose feedback runs inside. */
const nested = {
  type: "NIRGraph",
  nodes: {
    in: { type: "Input", shape: [2] },
    lif: lif(2),
    w: linear(2, 2),
    out: { type: "Output", shape: [2] },
  },
  edges: [["in", "lif"], ["lif", "w"], ["w", "lif"], ["lif", "out"]],
};

describe("nested graphs", () => {
  test("are inlined under prefixed names, their ports vanish", () => {
    const inner = { type: "NIRGraph", nodes: { ...nested.nodes }, edges: nested.edges };
    const outer = {
      type: "NIRGraph",
      nodes: {
        a: { type: "Input", shape: [2] },
        deep: inner,
        b: { type: "Output", shape: [2] },
      },
      edges: [["a", "deep"], ["deep", "b"]],
    };
    expect(wiring(plan(model({ g: outer }, "input>g g>output", 2)))).toEqual([
      "input()",
      "g.deep.w(~g.deep.lif)",
      "g.deep.lif(input + g.deep.w)",
    ]);
  });

  test("ports may be named by an edge", () => {
    const graph = model({ g: nested }, "input>g.in g.out>output", 2);
    expect(wiring(plan(graph))).toEqual(["input()", "g.w(~g.lif)", "g.lif(input + g.w)"]);
  });

  test("an edge to a graph and one to its port are the same edge, which counts once", () => {
    const graph = model({ g: nested }, "input>g.in input>g g.out>output g>output", 2);
    const compiled = plan(graph);
    expect(wiring(compiled)).toEqual(["input()", "g.w(~g.lif)", "g.lif(input + g.w)"]);
    expect(codes(compiled).filter((code) => code === "duplicate_edge")).toHaveLength(2);
  });

  test("a graph that only passes on is no node; twice by two ways adds twice", () => {
    const pass = {
      type: "NIRGraph",
      nodes: { i: { type: "Input", shape: [1] }, o: { type: "Output", shape: [1] } },
      edges: [["i", "o"]],
    };
    const graph = model({ g: pass, lif: lif(1) }, "input>g input>lif g>lif lif>output");
    expect(wiring(plan(graph))).toEqual(["input()", "lif(input + input)"]);
  });

  test("two nodes may not get one name", async () => {
    const graph = model({ g: nested, "g.lif": lif(2) }, "input>g g>g.lif g.lif>output", 2);
    await fails(() => plan(graph), "model_invalid", '"g.lif"');
  });

  test("one dangling name and one idle node are one reading, but not in strict", async () => {
    const wrong = {
      ...nested,
      edges: [["in", "cell"], ["cell", "w"], ["w", "cell"], ["cell", "out"]],
    };
    const graph = model({ g: wrong }, "input>g g>output", 2);
    const repaired = plan(graph);
    expect(codes(repaired)).toContain("repaired_edge");
    expect(wiring(repaired)).toEqual(["input()", "g.w(~g.lif)", "g.lif(input + g.w)"]);
    await fails(() => plan(graph, { strict: true }), "model_invalid", '"cell"', '"g.lif"');
    const two = { ...wrong, nodes: { ...nested.nodes, idle: lif(2) } };
    await fails(() => plan(model({ g: two }, "input>g g>output", 2)), "model_invalid", '"cell"');
    const top = { nodes: { ...model({ lif: lif(1) }, "a>b").nodes }, edges: [["input", "x"]] };
    await fails(() => plan(top), "model_invalid", '"x"');
  });
});

describe("edges", () => {
  test("given twice count once", () => {
    const compiled = plan(model({ lif: lif(1) }, "input>lif input>lif lif>output"));
    expect(codes(compiled)).toContain("duplicate_edge");
    expect(wiring(compiled)).toEqual(["input()", "lif(input)"]);
  });

  test("the order in which they are written changes nothing", () => {
    const nodes = { b: linear(1, 1), a: linear(1, 1), lif: lif(1) };
    const one = plan(model(nodes, "input>a input>b a>lif b>lif lif>output"));
    const { lif: last, ...first } = nodes;
    const other = plan(model({ lif: last, ...first }, "lif>output b>lif a>lif input>b input>a"));
    expect(other.digest).toBe(one.digest);
    expect(wiring(one)).toEqual(["input()", "a(input)", "b(input)", "lif(a + b)"]);
  });

  test("into the Input or out of the Output are refused", async () => {
    const into = model({ lif: lif(1) }, "input>lif lif>input lif>output");
    await fails(() => plan(into), "model_invalid", '"lif"', '"input"');
    const out = model({ lif: lif(1) }, "input>lif lif>output output>lif");
    await fails(() => plan(out), "model_invalid", '"lif"', '"output"');
  });

  test("several into a node of weights are summed before it", () => {
    const nodes = { a: linear(1, 1), b: linear(1, 1), c: linear(1, 2) };
    const compiled = plan(model(nodes, "input>a input>b a>c b>c c>output", 1, 2));
    expect(wiring(compiled)).toEqual([
      "input()",
      "a(input)",
      "b(input)",
      "c.sum(a + b)",
      "c(c.sum)",
    ]);
    expect(compiled.nodes[3]).toMatchObject({ type: "Sum", size: 1, kind: "real" });
  });
});

describe("Input and Output", () => {
  test("are found by type", () => {
    const graph = graphOf({
      nodes: { x: { type: "Input", shape: [1] }, n: lif(1), y: { type: "Output", shape: [1] } },
      edges: [["x", "n"], ["n", "y"]],
    });
    expect(wiring(compilePlan(graph))).toEqual(["x()", "n(x)"]);
  });

  test("are added where they are absent, but not in strict", async () => {
    const graph = { nodes: { fc: linear(3, 2), n: lif(2) }, edges: [["fc", "n"]] };
    const compiled = plan(graph);
    expect(compiled.sampleShape).toEqual([3]);
    expect(compiled.outputShape).toEqual([2]);
    expect(codes(compiled)).toEqual(["added_input", "added_output"]);
    await fails(() => plan(graph, { strict: true }), "model_invalid", "no Input", '"fc"');
  });

  test("a lone node is a model", () => {
    expect(plan({ nodes: { n: lif(3) }, edges: [] }).sampleShape).toEqual([3]);
    const one = plan({ nodes: { n: { type: "Scale", scale: 2 } }, edges: [] });
    expect(one.sampleShape).toEqual([1]);
  });

  test("several are refused by name, given or to be added", async () => {
    const two = model({ in2: { type: "Input", shape: [1] }, n: lif(1) }, "input>n in2>n n>output");
    await fails(() => plan(two), "model_unsupported", '"in2"', '"input"');
    const open = { nodes: { a: lif(1), b: lif(1), c: lif(1) }, edges: [["a", "c"], ["b", "c"]] };
    await fails(() => plan(open), "model_unsupported", '"a"', '"b"', "2 Inputs");
    const fork = { nodes: { a: lif(1), b: lif(1), c: lif(1) }, edges: [["a", "b"], ["a", "c"]] };
    await fails(() => plan(fork), "model_unsupported", '"b"', '"c"', "2 Outputs");
    await fails(
      () => plan({ nodes: { a: lif(1) }, edges: [["a", "a"]] }),
      "model_invalid",
      "no Input",
    );
  });

  test("a node that nothing feeds is refused, one that feeds nothing is kept with a warning", async () => {
    const unfed = model({ n: lif(1), m: lif(1) }, "input>n m>n n>output");
    await fails(() => plan(unfed), "model_invalid", '"m"', '"input"');
    const unused = plan(model({ n: lif(1), m: lif(1) }, "input>n n>m n>output"));
    expect(wiring(unused)).toEqual(["input()", "n(input)", "m(n)"]);
    expect(unused.output).toBe(1);
    expect(codes(unused)).toContain("unused_node");
    const alone = plan(model({ n: lif(1), m: lif(1) }, "input>n n>output"));
    expect(wiring(alone)).toEqual(["input()", "n(input)"]);
    expect(codes(alone)).toContain("isolated_node");
    await fails(() => plan(model({ n: lif(1) }, "input>n")), "model_invalid", '"output"');
  });

  test("the output is a node of its own", () => {
    const straight = plan(model({}, "input>output", 2));
    expect(wiring(straight)).toEqual(["input()", "output(input)"]);
    expect(straight.nodes[1]).toMatchObject({ type: "Output", kind: "real" });
    const sum = plan(model({ a: lif(1), b: lif(1) }, "input>a input>b a>output b>output"));
    expect(wiring(sum).at(-1)).toBe("output(a + b)");
    expect(sum.nodes[sum.output]!.kind).toBe("count");
  });
});
