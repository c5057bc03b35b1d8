/** Writing NIR: read(write(m)) computes the same bytes, for every fixture and file of the paper. */
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import {
  type CompileOptions,
  compilePlan,
  graphOf,
  type NirGraph,
  type Plan,
  readNirBytes,
  writeNirBytes,
} from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { shared } from "../conformance/run.ts";

const STEPS = 12;
const fixtures = join(import.meta.dir, "../fixtures/nir");
const paper = shared("nir/paper");

interface Found {
  readonly name: string;
  readonly bytes: () => Uint8Array;
}

const files: Found[] = [
  ...readdirSync(fixtures).filter((name) => name.endsWith(".nir.gz")).map((name) => ({
    name,
    bytes: () => new Uint8Array(gunzipSync(readFileSync(join(fixtures, name)))),
  })),
  ...(paper === null || !existsSync(paper) ? [] : readdirSync(paper)).map((name) => ({
    name,
    bytes: () => new Uint8Array(readFileSync(join(paper!, name))),
  })),
];

/** Outputs and every recorded value for numbers between −2 and 2. */
async function answer(plan: Plan): Promise<Float32Array> {
  const executor = new ReferenceExecutor(plan, { slots: 1, frame: STEPS });
  const input = Float32Array.from(
    { length: STEPS * plan.sampleSize },
    (_, i) => ((i * 7919) % 33) / 8 - 2,
  );
  const [result] = await executor.step([{ slot: 0, steps: STEPS, fresh: true, input }]);
  return result!.output;
}

/** One reading that every fixture stands: a dt where the file gives none. */
function read(graph: NirGraph, options: CompileOptions): Plan {
  return compilePlan(graph, { discretization: "exact", ...options });
}

const withoutBias = /conv.*/;

describe("read(write(m)) computes the same bytes", () => {
  test.each(files.map((file) => [file.name, file] as const))("%s", async (_, file) => {
    const graph = await readNirBytes(file.bytes(), { name: "m" });
    const written = await writeNirBytes(graph);
    const again = await readNirBytes(written, { name: "m" });
    const [before, after] = [read(graph, {}), read(again, {})];
    if (!withoutBias.test(file.name)) expect(after.digest).toBe(before.digest);
    expect([after.dt, after.dtSource]).toEqual([before.dt, before.dtSource]);
    expect(await answer(after)).toEqual(await answer(before));
    // What was written is complete: writing it once more changes nothing.
    const twice = await readNirBytes(await writeNirBytes(again), { name: "m" });
    expect(read(twice, {}).digest).toBe(after.digest);
    expect(twice).toEqual(again);
  });
});

const lif = { type: "LIF", tau: 0.01, r: 1, v_leak: 0, v_threshold: 1 };
const chain = (nodes: Record<string, object>, edges: [string, string][], metadata = {}) =>
  graphOf({ nodes, edges, metadata });

test("what NIR wants and a graph leaves open is filled in", async () => {
  const graph = chain({
    in: { type: "Input", shape: [1, 4, 4] },
    conv: { type: "Conv2d", weight: { shape: [2, 1, 3, 3], data: new Float32Array(18).fill(1) } },
    lif,
    flat: { type: "Flatten", start_dim: 0 },
    out: { type: "Output" },
  }, [["in", "conv"], ["conv", "lif"], ["lif", "flat"], ["flat", "out"]]);
  const { nodes } = await readNirBytes(await writeNirBytes(graph, { dt: 2e-3 }));
  const field = (node: string, name: string) => {
    const value = nodes.get(node)!.fields.get(name);
    return typeof value === "string" ? value : [value!.shape, ...value!.data];
  };
  expect(field("conv", "input_shape")).toEqual([[2], 4, 4]);
  expect(field("conv", "bias")).toEqual([[2], 0, 0]);
  expect(field("conv", "stride")).toEqual([[2], 1, 1]);
  expect(field("lif", "tau")).toEqual([[2, 2, 2], ...new Array<number>(8).fill(0.01)]);
  expect(field("flat", "input_type")).toEqual([[3], 2, 2, 2]);
  expect(field("out", "shape")).toEqual([[1], 8]);
});

test("a dt that was given is kept as metadata; other metadata too", async () => {
  const graph = chain({ in: { type: "Input", shape: [1] }, lif }, [["in", "lif"]], {
    "made/by": "us",
    "made/__proto__": [1, 2],
  });
  const again = await readNirBytes(await writeNirBytes(graph, { dt: 2e-3 }));
  expect([...again.metadata.keys()].sort()).toEqual(["dt", "made/__proto__", "made/by"]);
  expect(compilePlan(again)).toMatchObject({ dt: 2e-3, dtSource: "metadata" });
});

test("names that a file cannot hold are refused by name", async () => {
  const graph = chain({ in: { type: "Input", shape: [1] }, "a/b": lif }, [["in", "a/b"]]);
  await expect(writeNirBytes(graph)).rejects.toThrow(/"a\/b".*slash/);
});
