/** Run folders of models built in TypeScript: every command takes them, on both runtimes. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseNpy, writeNpy } from "../../src/base/npy.ts";
import { layeredRunFiles } from "../../src/load_layers.ts";
import { loadModel, loadRun } from "../../src/load_model.ts";
import { LAYERS } from "../../src/layers/mod.ts";
import {
  type CompileOptions,
  compilePlan,
  graphOf,
  makeLimits,
  nn,
  sequential,
  writeNirBytes,
} from "../../src/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import type { RunRecord } from "../../src/run/mod.ts";
import { createServer } from "../../src/serve.ts";
import { ganglion, RUNTIMES, scratchFolder } from "../cli/command_line.ts";
import { Random } from "../support/plans.ts";

const random = new Random(9);
const grid = (rows: number, columns: number) =>
  Array.from({ length: rows }, () => [...random.floats(columns, -1, 2)]);

const modules = [
  nn.Dense({ name: "in" }),
  nn.Recurrent({
    name: "population",
    neuron: nn.ALIF({ tau: [3, 4, 5], beta: 0.5, refractory: 2 }),
    wiring: [[0, 1, 0.5, 2], [2, 0, -0.25, 3]],
  }),
  nn.DelayedDense({ kernel: grid(3, 2), delay: [[0, 1], [2, 1], [1, 0]], maxDelay: 2 }),
  nn.Synaptic({ threshold: 0.5 }),
];
const options = { input: [2], dt: 0.5, variables: { in: { kernel: grid(2, 3), bias: [0, 1, 0] } } };
const plan = sequential(modules, options);
const run = { readout: "sum", labels: ["left", "right"], frame: 4 } as const;

function folderOf(
  scratch: { path(name: string): string },
  record: Partial<RunRecord> = run,
  name = "net",
): string {
  const folder = scratch.path(name);
  mkdirSync(folder);
  for (const [file, bytes] of Object.entries(layeredRunFiles(modules, options, record))) {
    writeFileSync(join(folder, file), bytes);
  }
  return folder;
}

test("a folder is the model and what stands around it; dt and call parameters of the run hold", async () => {
  using scratch = scratchFolder();
  const loaded = await loadRun(folderOf(scratch));
  expect([loaded.plan.digest, loaded.plan.dt, loaded.plan.name]).toEqual([plan.digest, 0.5, "net"]);
  expect(loaded.run).toMatchObject({ model: "model.json", ...run });
  const other = folderOf(
    scratch,
    { dt: 0.25, call: { "in.bias": 0, "Synaptic_0.tau": 3 } },
    "other",
  );
  const same = sequential(modules.with(3, nn.Synaptic({ threshold: 0.5, tau: 3 })), {
    ...options,
    dt: 0.25,
    variables: { in: { ...options.variables.in, bias: [0, 0, 0] } },
  });
  expect((await loadModel(other)).digest).toBe(same.digest);
  const won = await loadModel(other, {
    dt: 0.5,
    call: { "Synaptic_0.tau": 10, "in.bias": [0, 1, 0] },
  });
  expect(won.digest).toBe(plan.digest);
});

test("a model.json without variables is a model too", async () => {
  using scratch = scratchFolder();
  const file = scratch.path("small.json");
  const layers = [{ layer: "Dense", kernel: [[1, 0.5]] }, { layer: "LIF", tau: 3 }];
  writeFileSync(file, JSON.stringify({ input: [1], layers }));
  const built = sequential([nn.Dense({ kernel: [[1, 0.5]] }), nn.LIF({ tau: 3 })], { input: [1] });
  expect(await loadModel(file)).toMatchObject({ digest: built.digest, name: "small" });
});

describe("what does not fit is said", () => {
  const change = async (record: Partial<RunRecord>, given = {}): Promise<unknown> => {
    using scratch = scratchFolder();
    return await loadRun(folderOf(scratch, record), given);
  };
  const cases: readonly (readonly [Partial<RunRecord>, object, RegExp])[] = [
    [
      { options: { reset: "zero" } },
      {},
      /reset says how a NIR file is read; the layers of .*model.json/,
    ],
    [{}, { dialect: "norse" }, /dialect says how a NIR file is read/],
    [{ labels: ["a"] }, {}, /"labels" has 1 names, the model has 2 outputs/],
    [{ call: { "in.colour": 1 } }, {}, /call sets "in.colour", which no layer takes/],
  ];
  test.each(cases.map((each) => [String(each[2]), ...each] as const))(
    "%s",
    async (_, record, given, said) => await expect(change(record, given)).rejects.toThrow(said),
  );

  test("a tensor that no layer takes: a warning, and with strict a refusal", async () => {
    using scratch = scratchFolder();
    const folder = scratch.path("extra");
    mkdirSync(folder);
    const extra = { ...options, variables: { ...options.variables, out: { kernel: [1] } } };
    for (const [file, bytes] of Object.entries(layeredRunFiles(modules, extra))) {
      writeFileSync(join(folder, file), bytes);
    }
    const { notes } = await loadModel(folder);
    expect(notes.map(({ code, text }) => [code, text])).toEqual([
      ["unused_variables", 'No layer takes the variables "out.kernel"'],
    ]);
    await expect(loadModel(folder, { strict: true })).rejects.toThrow(/take them out of the file/);
  });
});

test("a server serves it, with its readout", async () => {
  using scratch = scratchFolder();
  const server = await createServer({
    models: [folderOf(scratch)],
    device: "cpu",
    limits: makeLimits(),
    version: "0",
  });
  expect(server.models.map(({ id, executor }) => [id, executor.plan.digest, executor.frame]))
    .toEqual([["net", plan.digest, 4]]);
  await server.close();
});

test.each(RUNTIMES)("inspect, infer, compare and convert take it, on %s", async (runtime) => {
  using scratch = scratchFolder();
  const folder = folderOf(scratch);
  const steps = 9;
  const stream = random.floats(steps * 2, 0, 2);
  const [result] = await new ReferenceExecutor(plan, { slots: 1, frame: steps })
    .step([{ slot: 0, steps, fresh: true, input: stream }]);
  const input = scratch.path("in.npy");
  writeFileSync(input, writeNpy(stream, [steps, 2]));

  const shown = await ganglion(runtime, ["inspect", folder]);
  expect(shown.text).toMatch(/population +ALIF/);
  expect(shown.text).toMatch(/variables +variables\.safetensors/);

  const out = scratch.path("out.npy");
  const inferred = await ganglion(runtime, ["infer", folder, input, "-o", out, "--device", "cpu"]);
  expect([inferred.code, inferred.stderr]).toEqual([0, expect.stringMatching(/left|right/)]);
  expect(parseNpy(new Uint8Array(await Bun.file(out).arrayBuffer())).values).toEqual(
    result!.output,
  );
  const compared = await ganglion(runtime, ["compare", folder, input, out, "--device", "cpu"]);
  expect(compared.code).toBe(0);
  result!.output[3] = 1 - result!.output[3]!;
  writeFileSync(out, writeNpy(result!.output, [steps, 2]));
  const differ = await ganglion(runtime, ["compare", folder, input, out, "--device", "cpu"]);
  expect([differ.code, differ.text]).toEqual([1, expect.stringMatching(/membrane .*"Synaptic_0"/)]);

  const second = scratch.path("second");
  const made = await ganglion(runtime, ["convert", folder, second, "--readout", "max"]);
  expect(made.code).toBe(0);
  const again = await loadRun(second);
  expect([again.plan.digest, again.run!.readout, again.run!.frame]).toEqual([
    plan.digest,
    "max",
    4,
  ]);
  const weights = scratch.path("w.safetensors");
  expect((await ganglion(runtime, ["convert", folder, weights])).code).toBe(0);
  expect(await Bun.file(weights).bytes())
    .toEqual(await Bun.file(join(folder, "variables.safetensors")).bytes());
  const nir = await ganglion(runtime, ["convert", folder, scratch.path("x.nir")]);
  expect([nir.code, nir.stderr]).toEqual([1, expect.stringMatching(/no NIR form.*run folder/)]);
  const read = await ganglion(runtime, ["inspect", folder, "--compare", "gt"]);
  expect([read.code, read.stderr]).toEqual([
    2,
    expect.stringMatching(/compare says how a NIR file/),
  ]);
});

test("the layers that only NIR files have are kept by a .nir file and the options of run.json", async () => {
  const leaky = { v_leak: [0.25, 0.25] };
  const fires = { ...leaky, v_threshold: [1, 1] };
  const current = { tau_syn: [0.01, 0.02], tau_mem: [0.02, 0.03], r: [2, 2] };
  const nodes = {
    scale: { type: "Scale", scale: [0.5, 2] },
    cuba: { type: "CubaLIF", ...current, ...fires },
    lif: { type: "LIF", tau: [0.01, 0.02], r: [1.5, 1.5], ...fires },
    adder: { type: "IF", r: [1, 1], v_threshold: [1, 1] },
    smooth: { type: "LI", tau: [0.01, 0.02], r: [1, 1], ...leaky },
    both: { type: "CubaLI", ...current, ...leaky },
    sum: { type: "I", r: [1, 1] },
  };
  const names = ["input", ...Object.keys(nodes), "output"];
  const graph = graphOf({
    nodes: {
      input: { type: "Input", shape: [2] },
      ...nodes,
      output: { type: "Output", shape: [2] },
    },
    edges: names.slice(1).map((name, i) => [names[i]!, name]),
  });
  const seen = new Set<string>();
  const readings: CompileOptions[] = [{}, { form: "box", gain: "no_r", rest: "v_leak" }, {
    spikes: "many",
  }];
  for (const reading of readings) {
    using scratch = scratchFolder();
    writeFileSync(scratch.path("model.nir"), await writeNirBytes(graph, {}));
    const record = { dt: 1e-3, options: reading };
    writeFileSync(scratch.path("run.json"), JSON.stringify(record));
    const wanted = compilePlan(graph, { dt: 1e-3, ...reading });
    expect((await loadModel(scratch.path("."))).digest).toBe(wanted.digest);
    for (const { op } of wanted.nodes) if (op.op === "pointwise") seen.add(op.layer);
  }
  const ofLayers = [
    "alif",
    "identity",
    "norm",
    "rate_relu",
    "rate_sigmoid",
    "rate_tanh",
    "threshold",
  ];
  expect([...seen, ...ofLayers].sort()).toEqual(Object.keys(LAYERS).sort());
});

test("a graph keeps its own name, a file has its path's", async () => {
  using scratch = scratchFolder();
  const graph = graphOf({ name: "mine", nodes: { a: { type: "Scale", scale: [2] } }, edges: [] });
  expect((await loadModel(graph)).name).toBe("mine");
  expect((await loadModel(graph, { name: "other" })).name).toBe("other");
  writeFileSync(scratch.path("file.nir"), await writeNirBytes(graph, {}));
  expect((await loadModel(scratch.path("file.nir"))).name).toBe("file");
});
