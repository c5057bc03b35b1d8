/** The length of a step: flag, metadata, inference, default (NUMERICS §5). */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { CompileOptions, GraphLike } from "../../src/model/mod.ts";
import { codes, fails, lif, model, plan } from "./helpers.ts";

const cuba = (tauMem: number[], r: number[], tauSyn: number[], gain?: number[]) => ({
  type: "CubaLI",
  tau_mem: tauMem,
  tau_syn: tauSyn,
  r,
  v_leak: r.map(() => 0),
  ...(gain === undefined ? {} : { w_in: gain }),
});

const one = (node: object, size = 1): GraphLike => model({ node }, "input>node node>output", size);
const dtOf = (graph: GraphLike, options: CompileOptions = { discretization: "exact" }) => {
  const { dt, dtSource } = plan(graph, options);
  return [dt, dtSource];
};

describe("dt", () => {
  test("the flag wins and is not remarked on", async () => {
    const graph = { ...one(lif(1, { tau: [0.02], r: [20] })), metadata: { dt: 0.5 } };
    const compiled = plan(graph, { dt: 2e-3 });
    expect([compiled.dt, compiled.dtSource]).toEqual([2e-3, "flag"]);
    expect(codes(compiled).filter((code) => code.startsWith("dt"))).toEqual([]);
    const silent = { ...graph, metadata: { dt: 1e-3 } };
    expect(codes(plan(silent, { dt: 1e-3 }))).toEqual([]);
    expect(codes(plan({ ...silent, metadata: { dt: "soon" } }, { dt: 1e-3 }))).toEqual([]);
    for (const dt of [0, -1, NaN, Infinity]) await fails(() => plan(graph, { dt }), "usage", "dt");
  });

  test("then metadata; nonsense in it is left out with a warning", () => {
    const graph = (dt: unknown) => ({ ...one(lif(1)), metadata: { dt: dt as number } });
    expect(dtOf(graph(5e-4))).toEqual([5e-4, "metadata"]);
    expect(dtOf(graph("0.0005"))).toEqual([5e-4, "metadata"]);
    for (const dt of [-1, 0, "soon", [1, 2]]) {
      expect(dtOf(graph(dt))).toEqual([1e-4, "default"]);
      expect(codes(plan(graph(dt), {}))).toContain("dt_metadata_ignored");
    }
  });

  test("then the dt that makes every gain 1", () => {
    expect(dtOf(one(lif(2, { tau: [0.01, 0.02], r: [10, 20] }), 2))).toEqual([1e-3, "inferred"]);
    expect(dtOf(one(cuba([0.01], [10], [0.005], [5])))).toEqual([1e-3, "inferred"]);
  });

  test("is not inferred when one gain does not fit, nothing hints, or tau is near dt", () => {
    const refused = [
      lif(2, { tau: [0.01, 0.02], r: [10, 19.9] }),
      lif(2, { tau: [1, 1] }),
      cuba([0.01, 0.01], [10, 10], [0.005, 0.005]),
      lif(2, { tau: [0.0014, 0.0014], r: [1.4, 1.4] }),
      lif(2, { tau: [0.01, 0.02], r: [-10, -20] }),
      { type: "IF", r: [2, 2], v_threshold: [1, 1] },
    ];
    for (const node of refused) expect(dtOf(one(node, 2))).toEqual([1e-4, "default"]);
    expect(dtOf(one(lif(2, { tau: [0.0016, 0.0016], r: [1.6, 1.6] }), 2))[1]).toBe("inferred");
  });

  test("looks at every node", () => {
    const graph = model({
      a: lif(1, { tau: [0.01], r: [10] }),
      b: lif(1, { tau: [0.02], r: [1] }),
    }, "input>a a>b b>output");
    expect(dtOf(graph)).toEqual([1e-4, "default"]);
  });

  test("the short decimal number comes back out of rounded f32 files", () => {
    const short = fc.tuple(fc.integer({ min: 1, max: 99 }), fc.integer({ min: -5, max: -3 }))
      .map(([digits, power]) => Number(`${digits}e${power}`));
    const steps = fc.array(fc.double({ min: 2, max: 500, noNaN: true }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(fc.property(short, steps, (dt, taus) => {
      const tau = Float32Array.from(taus, (each) => each * dt);
      const r = Float32Array.from(taus);
      const size = taus.length;
      const graph = one(lif(size, { tau, r }), size);
      expect(dtOf(graph)).toEqual([dt, "inferred"]);
    }));
  });

  test("another dt that the file gives away is remarked on", () => {
    const hinting = one(lif(1, { tau: [0.02], r: [20] }));
    const said = (graph: GraphLike, options: CompileOptions) =>
      plan(graph, options).notes.filter(({ code }) => code === "other_dt").map(({ text }) => text);
    const both = { ...hinting, metadata: { dt: 2e-3 } };
    expect(said(hinting, { dt: 1e-3 })).toEqual([]);
    expect(said(hinting, { dt: 2e-3 })).toEqual([
      "The file was probably made with another dt than 0.002 s: its gains were made with 0.001 s",
    ]);
    expect(said(both, {})).toEqual(said(hinting, { dt: 2e-3 }));
    expect(said(both, { dt: 1e-3 })).toEqual([
      "The file was probably made with another dt than 0.001 s: its metadata say 0.002 s",
    ]);
    expect(said(both, { dt: 5e-3 })).toHaveLength(2);
    expect(said(hinting, { dialect: "norse", dt: 2e-3 })).toHaveLength(1);
    const rockpool = one(lif(1, { tau: [0.02], r: [20 * Math.exp(-0.05)] }));
    expect(said(rockpool, { dialect: "rockpool", dt: 1e-3 })).toEqual([]);
    expect(said(rockpool, { dialect: "rockpool", dt: 2e-3 })).toHaveLength(1);
  });

  test("a tau that is shorter than a step is remarked on where it is no error", async () => {
    const short = one(lif(1, { tau: [0.002] }));
    const said = (options: CompileOptions) =>
      plan(short, options).notes.filter(({ code }) => code === "tau_short");
    expect(said({ dt: 5e-3, discretization: "exact" })).toEqual([{
      level: "warning",
      code: "tau_short",
      node: "node",
      text: "tau = 0.002 s is shorter than a step of 0.005 s: the file was probably made with a " +
        "shorter one; give it with --dt",
    }]);
    expect(said({ dt: 1e-3, discretization: "exact" })).toEqual([]);
    expect(said({ dt: 5e-3, dialect: "rockpool" })).toHaveLength(1);
    expect(said({ dialect: "sinabs" })).toEqual([]); // it has a rule of its own
    await fails(() => plan(short, { dt: 5e-3 }), "model_invalid", "shorter than a step");
  });

  test("times that look like steps are remarked on", () => {
    expect(codes(plan(one(lif(1, { tau: [20] }))))).toContain("tau_in_steps");
    expect(codes(plan(one(lif(1, { tau: [20] })), { dt: 1 }))).not.toContain("tau_in_steps");
  });
});
