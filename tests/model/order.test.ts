/** Where cycles are cut and in which order a step runs (NUMERICS §4). */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Plan } from "../../src/model/mod.ts";
import { codes, fails, lif, linear, model, plan, wiring } from "./helpers.ts";

const neuron = lif(1);
const w = linear(1, 1);
const delay = (steps: number) => ({ type: "Delay", delay: [steps * 1e-3] });

describe("cuts", () => {
  test("an edge to itself is cut", () => {
    const compiled = plan(model({ n: neuron }, "input>n n>n n>output"));
    expect(wiring(compiled)).toEqual(["input()", "n(input + ~n)"]);
    expect(compiled.blocks).toEqual([{ kind: "recurrent", nodes: [1] }]);
    const [v, last] = compiled.nodes[1]!.state;
    expect(v).toMatchObject({ name: "v", type: "f32", offset: 0, words: 1 });
    expect(last).toMatchObject({ name: "last", type: "bits", offset: 1, words: 1 });
    expect(compiled.stateWords).toBe(2);
  });

  test("the neuron nearer to the entry comes first, whatever its name", () => {
    // The input reaches z in one step and a in two.
    const nodes = { a: neuron, z: neuron, za: w, az: w };
    expect(wiring(plan(model(nodes, "input>z z>za za>a a>az az>z a>output")))).toEqual([
      "input()",
      "az(~a)",
      "z(input + az)",
      "za(z)",
      "a(za)",
    ]);
  });

  test("ties go by the bytes of the name: Z before a", () => {
    const nodes = { a: neuron, Z: neuron };
    const compiled = plan(model(nodes, "input>Z input>a Z>a a>Z a>output"));
    expect(wiring(compiled)).toEqual(["input()", "Z(input + ~a)", "a(input + Z)"]);
    // U+FF61 before U+1F600 in UTF-8, after it in UTF-16.
    const wide = { "😀": neuron, "｡": neuron };
    const odd = plan(model(wide, "input>😀 input>｡ 😀>｡ ｡>😀 ｡>output"));
    expect(wiring(odd)).toEqual(["input()", "｡(input + ~😀)", "😀(input + ｡)"]);
  });

  test("a part that nothing enters goes by name", () => {
    const nodes = { n: neuron, p: neuron, q: neuron };
    const compiled = plan(model(nodes, "input>n p>q q>p n>output"));
    expect(wiring(compiled)).toEqual(["input()", "n(input)", "p(~q)", "q(p)"]);
    expect(codes(compiled).filter((code) => code === "unused_node")).toHaveLength(2);
  });

  test("linear nodes behind a neuron are never cut, though they fork", () => {
    // b feeds s, which reaches the earlier a and the later c: the edge b>s is cut for both.
    const nodes = { a: neuron, b: neuron, c: neuron, s: { type: "Scale", scale: [1] }, ca: w };
    const compiled = plan(model(nodes, "input>a a>b b>c b>s s>a s>c c>ca ca>a c>output"));
    expect(wiring(compiled)).toEqual([
      "input()",
      "ca(~c)",
      "s(~b)",
      "a(input + ca + s)",
      "b(a)",
      "c(s + b)",
    ]);
    expect(compiled.blocks).toEqual([{ kind: "recurrent", nodes: [1, 2, 3, 4, 5] }]);
  });

  test("overlapping cycles of four neurons", () => {
    const nodes = { a: neuron, b: neuron, c: neuron, d: neuron };
    const edges = "input>a a>b b>c c>d d>b c>a b>b d>a d>output";
    expect(wiring(plan(model(nodes, edges)))).toEqual([
      "input()",
      "a(input + ~c + ~d)",
      "b(a + ~b + ~d)",
      "c(b)",
      "d(c)",
    ]);
  });

  test("a Threshold behind a LI fires in the same step", () => {
    const li = { type: "LI", tau: [0.01], r: [1], v_leak: [0] };
    const nodes = { li, t: { type: "Threshold", threshold: [1] }, w };
    expect(wiring(plan(model(nodes, "input>li li>t t>w w>li t>output")))).toEqual([
      "input()",
      "w(~t)",
      "li(input + w)",
      "t(li)",
    ]);
  });

  test("cycles apart are blocks apart; what lies between is feed-forward", () => {
    const nodes = { a: neuron, b: neuron, fa: w, fb: w };
    const compiled = plan(model(nodes, "input>a a>a a>fa fa>b b>b b>fb fb>output"));
    expect(compiled.blocks.map(({ kind, nodes: members }) => `${kind[0]}${members}`)).toEqual([
      "r1",
      "f2",
      "r3",
      "f4",
    ]);
  });

  test("without neuron or Delay a cycle is refused, with its nodes", async () => {
    const mix = { mix: { type: "Scale", scale: [1] }, w };
    const graph = model(mix, "input>mix mix>w w>mix w>output");
    await fails(() => plan(graph), "model_invalid", '"mix"', '"w"', "neuron", "Delay");
    await fails(() => plan(model({ w }, "input>w w>w w>output")), "model_invalid", '"w"');
    const beside = model({ n: neuron, ...mix }, "input>n n>mix mix>w w>mix w>n w>output");
    await fails(() => plan(beside), "model_invalid", '"mix"');
    const flat = { f: { type: "Flatten", start_dim: 0 } };
    await fails(() => plan(model(flat, "input>f f>f f>output")), "model_invalid", '"f"');
    const short = { d: delay(0.25), mix: mix.mix };
    await fails(
      () => plan(model(short, "input>mix mix>d d>mix mix>output")),
      "model_invalid",
      '"d"',
    );
  });
});

describe("--cut", () => {
  const nodes = { a: neuron, b: neuron, ab: w, ba: w };
  const edges = "input>a a>ab ab>b b>ba ba>a b>output";

  test("takes another edge of the cycle", () => {
    expect(wiring(plan(model(nodes, edges)))).toContain("ba(~b)");
    const compiled = plan(model(nodes, edges), { dt: 1e-3, cut: [["a", "ab"]] });
    expect(wiring(compiled)).toEqual(["input()", "ab(~a)", "b(ab)", "ba(b)", "a(input + ba)"]);
    const linearCut = plan(model(nodes, edges), { dt: 1e-3, cut: [["ba", "a"]] });
    expect(wiring(linearCut)).toEqual(["input()", "a(input + ~ba)", "ab(a)", "b(ab)", "ba(b)"]);
    expect(linearCut.nodes[4]!.state).toMatchObject([{ name: "last", type: "f32" }]);
  });

  test("an edge taken out is no entry of its cycle any more", () => {
    const members = { a: neuron, z: neuron, w };
    const text = "input>z z>a a>z z>w w>a a>output";
    expect(wiring(plan(model(members, text), { dt: 1e-3, cut: [["w", "a"]] }))).toEqual([
      "input()",
      "z(input + ~a)",
      "a(z + ~w)",
      "w(z)",
    ]);
  });

  test("must name an edge of a cycle", async () => {
    const cut = (a: string, b: string) => () => plan(model(nodes, edges), { cut: [[a, b]] });
    await fails(cut("a", "b"), "usage", "a:b", "a:ab");
    await fails(cut("input", "a"), "usage", "input:a");
    const chain = model({ a: neuron }, "input>a a>output");
    await fails(() => plan(chain, { cut: [["input", "a"]] }), "usage", "no cycle");
  });
});

describe("delays", () => {
  test("of no step are wires, outside cycles", () => {
    const compiled = plan(model({ d: delay(0), n: neuron }, "input>d d>n n>output"));
    expect(wiring(compiled)).toEqual(["input()", "n(input)"]);
  });

  test("of no step are wires in cycles too: each reader behind one is late or not by itself", () => {
    const nodes = { a: neuron, b: neuron, d: delay(0) };
    const compiled = plan(model(nodes, "input>a a>d d>a d>b b>output"));
    expect(wiring(compiled)).toEqual(["input()", "a(input + ~a)", "b(a)"]);
  });

  test("in a cycle they are the cut: first in it, one step less, reading late", () => {
    const nodes = { n: neuron, d: delay(3), w };
    const compiled = plan(model(nodes, "input>n n>w w>d d>n n>output"));
    expect(wiring(compiled)).toEqual(["input()", "d(~w)", "n(input + d)", "w(n)"]);
    expect(compiled.nodes[1]!.op).toMatchObject({ stepsMax: 2, steps: Uint32Array.of(2) });
    expect(compiled.nodes[1]!.state).toMatchObject([{ name: "ring", type: "u32", words: 2 }]);
    expect(compiled.nodes[3]!.state).toMatchObject([{ name: "last", type: "f32" }]);
    expect(codes(compiled)).toContain("cut_delay");
    expect(codes(compiled)).not.toContain("cut_edge");
  });

  test("of one step become a late edge without a ring", () => {
    const compiled = plan(model({ n: neuron, d: delay(1) }, "input>n n>d d>n n>output"));
    expect(wiring(compiled)).toEqual(["input()", "d(~n)", "n(input + d)"]);
    expect(compiled.nodes[1]).toMatchObject({
      type: "Delay",
      kind: "spike",
      op: { op: "pointwise", layer: "identity" },
      state: [],
    });
  });

  test("with several edges are fed by a sum, whose name no other node has", () => {
    const nodes = { a: neuron, b: neuron, d: delay(2) };
    const graph = model(nodes, "input>a input>b a>d b>d d>output");
    const renamed = JSON.parse(JSON.stringify(graph).replaceAll('"output"', '"d.sum"')) as never;
    expect(wiring(plan(renamed))).toContain("d.sum_1(a + b)");
  });

  test("with several edges are fed by a sum in the cycle", () => {
    const nodes = { n: neuron, d: delay(2) };
    const compiled = plan(model(nodes, "input>d n>d d>n n>output"));
    expect(wiring(compiled)).toEqual(["input()", "d(~d.sum)", "n(d)", "d.sum(input + n)"]);
    expect(compiled.blocks).toEqual([{ kind: "recurrent", nodes: [1, 2, 3] }]);
  });

  test("a Delay alone may close a cycle, round itself even", () => {
    const compiled = plan(model({ d: delay(2) }, "input>d d>d d>output"));
    expect(wiring(compiled)).toEqual(["input()", "d(~d.sum)", "d.sum(input + d)"]);
  });

  test("with an element of no step they do not cut", async () => {
    const mixed = { type: "Delay", delay: [0, 2e-3] };
    const nodes = { n: lif(2), d: mixed };
    const compiled = plan(model(nodes, "input>n n>d d>n n>output", 2));
    expect(wiring(compiled)).toEqual(["input()", "d(~n)", "n(input + d)"]);
    expect(compiled.nodes[1]!.op).toMatchObject({ steps: Uint32Array.of(0, 2) });
    const bare = model(
      { d: mixed, s: { type: "Scale", scale: [1, 1] } },
      "input>s s>d d>s s>output",
      2,
    );
    await fails(() => plan(bare), "model_invalid", '"d"', '"s"');
  });
});

/** Edges of a random graph on n0 … n7, of which some are neurons, in a sure frame of edges. */
const randomGraph = fc.record({
  neurons: fc.array(fc.constantFrom("lif", "lif", "scale", "linear", "delay"), {
    minLength: 2,
    maxLength: 8,
  }),
  edges: fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 20 }),
});

const MAKE = {
  lif: neuron,
  scale: { type: "Scale", scale: [1] },
  linear: w,
  delay: delay(2),
} as const;

function randomPlan({ neurons, edges }: {
  neurons: (keyof typeof MAKE)[];
  edges: [number, number][];
}): Plan | null {
  const count = neurons.length;
  const nodes = Object.fromEntries(neurons.map((kind, i) => [`n${i}`, MAKE[kind]]));
  const text = ["input>n0", ...neurons.slice(1).map((_, i) => `n${i}>n${i + 1}`)];
  const more = edges.filter(([a, b]) => a < count && b < count).map(([a, b]) => `n${a}>n${b}`);
  try {
    return plan(model(nodes, [...new Set([...text, ...more, `n${count - 1}>output`])].join(" ")));
  } catch (error) {
    expect(String(error)).toContain("holds neither a neuron nor a Delay");
    return null;
  }
}

describe("any graph", () => {
  test("keeps what a plan promises", () => {
    let compiledCount = 0;
    fc.assert(
      fc.property(randomGraph, (graph) => {
        const compiled = randomPlan(graph);
        if (compiled === null) return;
        compiledCount++;
        const { nodes, blocks } = compiled;
        expect(blocks.flatMap((block) => block.nodes)).toEqual(nodes.slice(1).map((n) => n.index));
        const blockOf = new Map(blocks.flatMap((block, b) => block.nodes.map((n) => [n, b])));
        for (const { index, op, inputs, state } of nodes) {
          if (op.op === "dense" || op.op === "delay") expect(inputs).toHaveLength(1);
          if (index > 0) expect(inputs.length).toBeGreaterThan(0);
          const order = inputs.map(({ from }) => from);
          expect(order).toEqual(order.toSorted((a, b) => a - b));
          for (const { from, previous } of inputs) {
            if (!previous) expect(from).toBeLessThan(index);
            else {
              expect(blockOf.get(from)).toBe(blockOf.get(index));
              expect(blocks[blockOf.get(from)!]!.kind).toBe("recurrent");
              expect(nodes[from]!.state.at(-1)!.name).toBe("last");
            }
          }
          const read = nodes.some((n) => n.inputs.some((e) => e.previous && e.from === index));
          expect(state.some(({ name }) => name === "last")).toBe(read);
        }
        const fields = nodes.flatMap(({ state }) => state);
        fields.reduce((end, { offset, words }) => {
          expect(offset).toBe(end);
          return end + words;
        }, 0);
        const words = fields.reduce((sum, field) => sum + field.words, 0);
        expect(compiled.stateWords).toBe(words);
      }),
      { numRuns: 300 },
    );
    expect(compiledCount).toBeGreaterThan(50);
  });

  test("cuts exactly what the rule says, found the slow way", () => {
    fc.assert(
      fc.property(randomGraph, (graph) => {
        const neurons = graph.neurons.map((kind) => kind === "delay" ? "scale" : kind);
        const compiled = randomPlan({ ...graph, neurons });
        if (compiled !== null) expect(cutsOf(compiled)).toEqual(expectedCuts(compiled));
      }),
      { numRuns: 300 },
    );
  });
});

/** Edges of a plan by name, sums in front of nodes with weights read through. */
function edgesOf({ nodes }: Plan): { from: string; to: string; late: boolean }[] {
  return nodes.flatMap(({ name, inputs }) => {
    const to = name.replace(/\.sum$/, "");
    return inputs.filter(({ from }) => nodes[from]!.type !== "Sum").map(({ from, previous }) => ({
      from: nodes[from]!.name,
      to,
      late: previous,
    }));
  });
}

function cutsOf(compiled: Plan): string[] {
  return edgesOf(compiled).filter(({ late }) => late).map(({ from, to }) => `${from}>${to}`).sort();
}

function expectedCuts(compiled: Plan): string[] {
  const edges = edgesOf(compiled);
  const names = compiled.nodes.map(({ name }) => name).filter((name) => !name.endsWith(".sum"));
  const isNeuron = (name: string): boolean =>
    compiled.nodes.find((node) => node.name === name)!.type === "LIF";
  const reach = (from: string, stop: (name: string) => boolean): Set<string> => {
    const seen = new Set<string>([from]);
    for (const name of seen) {
      if (stop(name)) continue;
      for (const edge of edges) if (edge.from === name) seen.add(edge.to);
    }
    return seen;
  };
  const all = new Map(names.map((name) => [name, reach(name, () => false)]));
  const together = (a: string, b: string): boolean => all.get(a)!.has(b) && all.get(b)!.has(a);
  const distance = (name: string): number => {
    const part = names.filter((other) => together(name, other));
    const entries = part.filter((member) =>
      edges.some(({ from, to }) => to === member && !part.includes(from))
    );
    let ring = new Set(entries);
    for (let steps = 0; steps <= names.length; steps++) {
      if (ring.has(name)) return steps;
      const next = edges.filter(({ from, to }) => ring.has(from) && part.includes(to));
      ring = new Set(next.map(({ to }) => to));
    }
    return 0;
  };
  const rank = (name: string): string => `${distance(name)} ${name}`;
  return edges.filter(({ from, to }) => {
    if (!isNeuron(from) || !together(from, to)) return false;
    const behind = [...reach(to, isNeuron)].filter((name) =>
      isNeuron(name) && together(name, from)
    );
    return behind.some((name) => rank(name) <= rank(from));
  }).map(({ from, to }) => `${from}>${to}`).sort();
}
