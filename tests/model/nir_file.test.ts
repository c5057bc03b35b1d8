/** HDF5 as it comes: every form that a value may have, and what is refused before it is read. */
import { describe, expect, test } from "bun:test";
import { compilePlan, readNirBytes } from "../../src/model/mod.ts";
import { edges, floats, type Leaf, lifFile, text, type Tree, whole, writeH5 } from "./h5_write.ts";
import { codes, fails, someFile } from "./helpers.ts";

const coefficient = async (fields: Tree, row: number): Promise<number> => {
  const plan = compilePlan(await readNirBytes(await writeH5(lifFile(fields))), { dt: 1e-3 });
  const { op } = plan.nodes[1]!;
  return op.op === "pointwise" ? op.coefficients[row]! : NaN;
};

describe("forms of a value", () => {
  const forms: [string, Leaf][] = [
    ["f32", floats([1], 2)],
    ["f64", { data: Float64Array.of(2), shape: [1] }],
    ["f64 gzip", { data: Float64Array.of(2), shape: [1], gzip: true }],
    ["i64", whole(2)],
    ["u8", { data: Uint8Array.of(2), shape: [1] }],
    ["i32 gzip", { data: Int32Array.of(2), shape: [1], gzip: true }],
    ["f32, no axis", { data: 2, dtype: "<f", shape: [] }],
    ["f64, no axis", { data: 2, dtype: "<d", shape: [] }],
    ["i64, no axis", { data: BigInt64Array.of(2n), shape: [] }],
  ];

  test.each(forms)("%s", async (_, leaf) => {
    expect(await coefficient({ v_threshold: leaf }, 3)).toBe(2);
  });

  test("the newest HDF5 layout reads too", async () => {
    const graph = await readNirBytes(await writeH5(lifFile(), "latest"));
    expect([...graph.nodes.keys()].sort()).toEqual(["input", "lif", "output"]);
  });

  test("an integer that no f64 holds is refused", async () => {
    const file = await writeH5(lifFile({ v_threshold: whole(2 ** 53 + 2) }));
    expect((await readNirBytes(file)).nodes.size).toBe(3);
    const odd = { data: BigInt64Array.of(2n ** 53n + 1n), shape: [1] };
    const bytes = await writeH5(lifFile({ v_threshold: odd }));
    await fails(() => readNirBytes(bytes), "model_unreadable", "9007199254740993");
  });

  test("text where numbers should be names node and field", async () => {
    const bytes = await writeH5(lifFile({ v_threshold: text("high") }));
    await fails(() => readNirBytes(bytes), "model_invalid", '"lif"', '"v_threshold"', "high");
  });

  test("names may hold any letters", async () => {
    const tree: Tree = {
      node: {
        type: text("NIRGraph"),
        nodes: {
          "наташа ⚡ 入": { type: text("Scale"), scale: floats([2], 1, 2) },
        },
        edges: edges(),
      },
    };
    const plan = compilePlan(await readNirBytes(await writeH5(tree)));
    expect(plan.nodes.map(({ name }) => name)).toEqual(["input", "наташа ⚡ 入"]);
    expect(codes(plan)).toContain("added_input");
    expect(codes(plan)).toContain("added_output");
  });

  test("a file of one bare node is a graph of it", async () => {
    const bytes = await writeH5({ node: { type: text("Linear"), weight: floats([1, 2], 1, 2) } });
    const plan = compilePlan(await readNirBytes(bytes));
    expect([plan.sampleShape, plan.outputShape]).toEqual([[2], [1]]);
  });

  test("metadata may stand anywhere; dt in the root's is used", async () => {
    const { version, node } = lifFile({ metadata: { author: text("x") } }) as Record<string, Tree>;
    const metadata = { dt: { data: 0.002, dtype: "<d", shape: [] }, more: { notes: text("y") } };
    const bytes = await writeH5({ version: version!, node: { ...node!, metadata } });
    const plan = compilePlan(await readNirBytes(bytes));
    expect([plan.dt, plan.dtSource]).toEqual([0.002, "metadata"]);
  });
});

describe("what is refused", () => {
  test("bytes that are no HDF5 file, and files cut short", async () => {
    await fails(() => readNirBytes(new Uint8Array(0)), "model_unreadable", "HDF5");
    await fails(() => readNirBytes(new TextEncoder().encode("PK zip")), "model_unreadable");
    const bytes = await someFile();
    for (const length of [8, 100, 1000, bytes.length - 1]) {
      await fails(() => readNirBytes(bytes.subarray(0, length)), "model_unreadable");
    }
    expect((await readNirBytes(bytes)).nodes.size).toBeGreaterThan(1);
  });

  test("links of every sort", async () => {
    const soft = await writeH5({ a: { link: "soft", to: "/node" }, ...lifFile() });
    await fails(() => readNirBytes(soft), "model_unreadable", "/a", "link");
    const broken = await writeH5(lifFile({ v_reset: { link: "soft", to: "/nowhere" } }));
    await fails(() => readNirBytes(broken), "model_unreadable", "v_reset", "link");
    const external = await writeH5(lifFile({ v_reset: { link: "external", to: "/x" } }));
    await fails(() => readNirBytes(external), "model_unreadable", "v_reset", "link");
  });

  test("a group that holds itself ends at the depth limit", async () => {
    const bytes = await writeH5({ node: { loop: { link: "hard", to: "/node" } } });
    await fails(() => readNirBytes(bytes), "model_unreadable", "deep");
  });

  test("too many bytes, judged before they are read", async () => {
    const big = { data: new Float32Array(1 << 16), shape: [1 << 16], gzip: true };
    const bytes = await writeH5(lifFile({ v_reset: big }));
    const limits = { modelBytesMax: 1 << 18 };
    await fails(() => readNirBytes(bytes, { limits }), "model_unreadable", "v_reset", "limit");
    await fails(() => readNirBytes(bytes, { limits: { modelBytesMax: 100 } }), "model_unreadable");
  });

  test("too many nodes, too deep nesting", async () => {
    const bytes = await writeH5(lifFile());
    await fails(
      () => readNirBytes(bytes, { limits: { modelNodesMax: 2 } }),
      "model_unsupported",
      "modelNodesMax",
    );
    const inner = (lifFile() as { node: Tree }).node;
    const outer = {
      node: { type: text("NIRGraph"), nodes: { a: inner }, edges: edges() },
    };
    await fails(
      async () => readNirBytes(await writeH5(outer), { limits: { modelDepthMax: 1 } }),
      "model_unsupported",
      "modelDepthMax",
    );
    expect((await readNirBytes(await writeH5(outer))).nodes.get("a")?.graph?.nodes.size).toBe(3);
  });

  test("unknown types and fields, by name", async () => {
    const field = await writeH5(lifFile({ v_peak: floats([1], 1) }));
    await fails(() => readNirBytes(field), "model_unsupported", '"lif"', '"v_peak"', "v_threshold");
    const type = await writeH5(lifFile({ type: text("AdEx") }));
    await fails(() => readNirBytes(type), "model_unsupported", '"lif"', '"AdEx"', "CubaLIF");
  });

  test("missing fields, wrong edges, no node at all", async () => {
    const { node } = lifFile() as { node: Record<string, Tree> };
    const { tau: _, ...rest } = node["nodes"]!["lif"] as Record<string, Tree>;
    const lacking = { node: { ...node, nodes: { ...node["nodes"]!, lif: rest } } };
    await fails(
      async () => readNirBytes(await writeH5(lacking)),
      "model_invalid",
      '"lif"',
      '"tau"',
    );
    const flat: Tree = { node: { ...node, edges: { data: ["a", "b"], shape: [2], dtype: "S" } } };
    await fails(async () => readNirBytes(await writeH5(flat)), "model_invalid", "[n,2]");
    await fails(
      async () => readNirBytes(await writeH5({ x: text("y") })),
      "model_unreadable",
      "NIR",
    );
  });

  test("NaN and infinity, with their place", async () => {
    const bytes = await writeH5(lifFile({ tau: floats([2], 0.01, NaN) }, 2));
    const error = await fails(() => readNirBytes(bytes), "model_invalid", '"lif"', '"tau"', "NaN");
    expect(error.facts).toMatchObject({ node: "lif", field: "tau", position: 1 });
  });

  test("values of types that are no numbers", async () => {
    const half = { data: new Float32Array(1), shape: [1], dtype: "<f" };
    expect((await readNirBytes(await writeH5(lifFile({ v_reset: half })))).nodes.size).toBe(3);
    const several: Leaf = { data: ["a", "b"], shape: [2], dtype: "S" };
    const bytes = await writeH5(lifFile({ v_reset: several }));
    await fails(() => readNirBytes(bytes), "model_unsupported", "v_reset");
  });
});
