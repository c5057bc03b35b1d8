/** Models of layers as files: what is written reads back to the same bits, and what is wrong is named. */
import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { GanglionError } from "../../src/base/errors.ts";
import { parseSafetensors, writeSafetensors } from "../../src/base/safetensors.ts";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import { layeredRunFiles } from "../../src/load_layers.ts";
import { loadRun } from "../../src/load_model.ts";
import { LAYERS } from "../../src/layers/mod.ts";
import { type Module, nn, readLayers, sequential } from "../../src/model/nn/mod.ts";
import { LAYER_FORMS } from "../../src/model/nn/layer_forms.ts";
import type { Plan } from "../../src/model/plan.ts";
import { scratchFolder } from "../cli/command_line.ts";
import { Random } from "../support/plans.ts";
import { drawLayers, type Drawn } from "./layered_models.ts";

const SEEDS = 150;
const STEPS = 12;
/** They say why they cannot be served. */
const REFUSED = ["PSN", "MaskedPSN", "TimeMean"];
/** Forms that only the dialects of NIR files ask for: their models are stored as .nir and run.json. */
const OF_NIR = ["integrator", "cuba_li", "scale", "lif_box", "li_box", "cuba_lif_box", "lif_count"];

function readBack({ modules, options }: Drawn): Plan {
  const files = layeredRunFiles(modules, options);
  const { modules: read, input, dt } = readLayers(new TextDecoder().decode(files["model.json"]));
  const { tensors } = parseSafetensors(files["variables.safetensors"]!);
  return sequential(read, { input, dt, variables: Object.fromEntries(tensors), strict: true });
}

async function run(plan: Plan): Promise<Float32Array> {
  const input = new Random(7).floats(STEPS * plan.sampleSize, -1, 2);
  const executor = new CpuExecutor(plan, { slots: 1, frame: STEPS });
  const [result] = await executor.step([{ slot: 0, steps: STEPS, fresh: true, input }]);
  return result!.output;
}

function layersOf(modules: readonly Module[]): string[] {
  return modules.flatMap(({ made }) => {
    const options = made!.options as Record<string, readonly Module[] | Module | undefined>;
    const { branch = [], shortcut = [], modules: inner = [], neuron } = options as
      & {
        [K in "branch" | "shortcut" | "modules"]?: readonly Module[];
      }
      & { neuron?: Module };
    const nestedOnes = [...branch, ...shortcut, ...inner];
    if (typeof neuron === "object") nestedOnes.push(neuron);
    return [made!.layer, ...layersOf(nestedOnes)];
  });
}

test(`${SEEDS} drawn models compute the same bits when they are read back, every layer among them`, async () => {
  const layers = new Set<string>();
  const kernels = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed++) {
    const drawn = drawLayers(seed);
    const plan = sequential(drawn.modules, drawn.options);
    const again = readBack(drawn);
    expect([seed, again.digest]).toEqual([seed, plan.digest]);
    expect([seed, await run(again)]).toEqual([seed, await run(plan)]);
    for (const layer of layersOf(drawn.modules)) layers.add(layer);
    for (const { op } of plan.nodes) kernels.add(op.op === "pointwise" ? op.layer : op.op);
  }
  expect([...layers].sort())
    .toEqual(Object.keys(LAYER_FORMS).filter((name) => !REFUSED.includes(name)).sort());
  const unseen = Object.keys(LAYERS).filter((name) => !kernels.has(name));
  expect(unseen.sort()).toEqual([...OF_NIR, "cuba_lif_count"].sort());
  for (const op of ["dense", "conv", "pool", "max_pool", "permute", "connect", "taps", "plastic"]) {
    expect(kernels).toContain(op);
  }
});

test("whole models are stored as their layers, and those that cannot stream say so when read", () => {
  const random = new Random(5);
  const kernel = (...shape: number[]) => ({
    shape,
    data: random.floats(shape.reduce((a, b) => a * b)),
  });
  const norm = { mean: [0, 0], var: [1, 1] };
  const modules = nn.SEWResNet({ stages: [1, 1], stem: "small", neuron: nn.LIF({ tau: 3 }) });
  const variables = {
    Conv_0: { kernel: kernel(3, 3, 1, 2) },
    BatchNorm_0: norm,
    Dense_0: { kernel: kernel(2, 3), bias: [0, 1, 2] },
    ...Object.fromEntries(
      ["stage1_block1", "stage2_block1"].flatMap((block, stage) =>
        ["first", "second", ...(stage === 1 ? ["downsample"] : [])].flatMap((part) => [
          [
            `${block}.${part}_conv.kernel`,
            kernel(...(part === "downsample" ? [1, 1] : [3, 3]), 2, 2),
          ],
          ...Object.entries(norm).map(([field, data]) => [`${block}.${part}_bn.${field}`, data]),
        ])
      ),
    ),
  };
  const drawn = { modules, options: { input: [4, 4, 1], variables } };
  expect(readBack(drawn).digest).toBe(sequential(modules, drawn.options).digest);
  for (const layer of REFUSED) {
    const text = JSON.stringify({ input: [2], layers: [{ layer }] });
    expect(() => sequential(readLayers(text).modules, { input: [2] })).toThrow(/stream|over time/);
  }
});

test("a module that nn did not make is refused by name", () => {
  const odd: Module = { kind: "Odd", build: (_, value) => value };
  expect(() => layeredRunFiles([nn.Block("a", [odd])], { input: [2] }))
    .toThrow(/"a\.Odd_0" \(Odd\) was not made by nn/);
  expect(() => layeredRunFiles([nn.ALIF({ refractory: NaN })], { input: [2] }))
    .toThrow(/"ALIF_0" has the refractory NaN/);
});

describe("a wrong file is refused by the name of what is wrong", () => {
  const dense = { layer: "Dense", kernel: [[1], [2]] };
  const of = (...layers: unknown[]): object => ({ input: [2], layers });
  const deep = (depth: number): object =>
    depth === 0 ? dense : { layer: "Block", name: "b", modules: [deep(depth - 1)] };
  const cases: readonly (readonly [file: unknown, said: RegExp])[] = [
    ["{", /model\.json is not JSON/],
    [[], /it must be an object/],
    [{ ...of(dense), version: 2 }, /"version" must be 1/],
    [
      { ...of(dense), inputs: 2 },
      /"inputs" is no field of a model of layers; did you mean "input"/,
    ],
    [{ layers: [] }, /"input" must be the shape of a step.*is missing/],
    [{ input: [2.5], layers: [] }, /"input" must be/],
    [{ input: [2, 2], layers: [] }, /input must be \[F\] or/],
    [{ ...of(dense), dt: 0 }, /"dt" must be positive, not 0/],
    [{ input: [2] }, /"layers" must be a list, and is missing/],
    [of(3), /"layers\[0\]" must be an object, not 3/],
    [of({ layer: "Densee" }), /"layers\[0\]\.layer" must be .*did you mean "Dense"/],
    [of({}), /"layers\[0\]\.layer" must be .*is missing/],
    [of({ layer: "constructor" }), /"layers\[0\]\.layer" must be/],
    [
      of({ ...dense, kernal: 1 }),
      /"layers\[0\]\.kernal" is no field of Dense; did you mean "kernel"/,
    ],
    [of({ ...dense, name: "" }), /"layers\[0\]\.name" must be a name/],
    [
      of({ layer: "Dense", kernel: [[1], ["x"]] }),
      /"layers\[0\]\.kernel" must be a number or nested/,
    ],
    [of({ layer: "Dense", kernel: [[1], [2, 3]] }), /"Dense_0": field "kernel" is a ragged list/],
    [of({ layer: "Dense", kernel: [[1]] }), /"Dense_0": "kernel" must have the shape \[2,1\]/],
    [of({ layer: "Dense" }), /"Dense_0": it needs "kernel".*no variables were given/],
    [of({ layer: "Dense", kernel: false }), /"layers\[0\]\.kernel" must be/],
    [of({ layer: "LIF", reset: "toString" }), /"layers\[0\]\.reset" must be subtract, zero, none/],
    [of({ layer: "LIF", tau: -1 }), /"LIF_0": a time constant must be positive, not -1/],
    [of({ layer: "MaxPool" }), /"layers\[0\]\.window" is what MaxPool needs, and is missing/],
    [of({ layer: "Conv", padding: "same" }), /"layers\[0\]\.padding" must be "SAME"/],
    [of({ layer: "Conv", strides: [1, 2, 3] }), /"layers\[0\]\.strides" must be a number, or one/],
    [of({ layer: "Residual", branch: [{ layer: "LIFF" }] }), /"layers\[0\]\.branch\[0\]\.layer"/],
    [of({ layer: "Recurrent", neuron: dense }), /"layers\[0\]\.neuron" must be a population/],
    [of({ layer: "Recurrent", fast: { rules: 1 } }), /"layers\[0\]\.fast\.rules".*mean "rule"/],
    [of({ layer: "Recurrent", wiring: [[0, 1]] }), /"wiring" must be connections.*not \[1,2\]/],
    [of({ layer: "Neuron", neuron: "hodgkin" }), /layer "hodgkin" that is not defined here/],
    [of({ layer: "Neuron", neuron: "lif" }), /the layer lif is a built-in one without parameters/],
    [of(deep(9)), /nested deeper than modelDepthMax = 8/],
    [of(...new Array(2001).fill({ layer: "Dropout" })), /more layers than modelNodesMax = 2000/],
    [of({ layer: "SlidingPSN", k: 2 ** 30 }), /window of 1073741824 steps holds more than/],
    [
      of({ layer: "Recurrent", wiring: [[0, 1, 1, 2 ** 31]] }),
      /delay of 2147483647 steps keeps more than/,
    ],
    [
      { input: [2, 2, 1], layers: [{ layer: "SumPool", window: 1, padding: 2 ** 20 }] },
      /more than 67108864 values a step/,
    ],
    [
      { input: [2, 2, 1], layers: [{ layer: "SumPool", window: 2 ** 12, padding: 2 ** 12 }] },
      /its window has more than 1048576 values/,
    ],
  ];
  test.each(cases.map(([file, said]) => [String(said), file, said] as const))(
    "%s",
    (_, file, said) => {
      const text = typeof file === "string" ? file : JSON.stringify(file);
      const build = () => {
        const { modules, input, dt } = readLayers(text);
        return sequential(modules, { input, dt });
      };
      expect(build).toThrow(said);
      expect(build).toThrow(GanglionError);
    },
  );

  test("lists so deep that a reader could fall", () => {
    const lists = `${"[".repeat(20_000)}1${"]".repeat(20_000)}`;
    const text = `{"input":[2],"layers":[{"layer":"Dense","kernel":${lists}}]}`;
    expect(() => readLayers(text)).toThrow(GanglionError);
  });

  test("variables that misfit, are left over, or are no numbers", () => {
    const { modules, input } = readLayers(JSON.stringify(of({ layer: "Dense", name: "fc" })));
    const build = (tensors: object, strict = false) =>
      sequential(modules, { input, strict, variables: tensors as Record<string, never> });
    const kernel = { shape: [2, 1], data: Float32Array.of(1, 2) };
    expect(() => build({ "fc.kernel": { ...kernel, shape: [1, 2] } })).toThrow(
      /shape \[2,2\], not/,
    );
    expect(() => build({ "fc.kernel": { ...kernel, data: [1, NaN] } })).toThrow(
      /"kernel" holds NaN/,
    );
    const extra = { "fc.kernel": kernel, "fc.kernal": kernel };
    expect(build(extra).notes.map(({ text }) => text)).toEqual([
      expect.stringMatching(/"fc.kernal"/),
    ]);
    expect(() => build(extra, true)).toThrow(/No layer takes the variables "fc.kernal"; take them/);
  });
});

test("call parameters beat what layers give and what the file holds; unknown ones are refused", () => {
  const modules = [nn.Dense({ name: "fc", kernel: [[1], [2]], bias: [5] }), nn.LIF({ tau: 3 })];
  const build = (call: object) =>
    sequential(modules, { input: [2], call: call as Record<string, never> }).digest;
  const with0 = [nn.Dense({ name: "fc", kernel: [[1], [2]], bias: [0] }), nn.LIF({ tau: 4 })];
  expect(build({ fc: { bias: 0 }, "LIF_0.tau": 4 }))
    .toBe(sequential(with0, { input: [2] }).digest);
  expect(() => build({ fc: { colour: 1 } })).toThrow(/call sets "fc.colour", which no layer takes/);
});

test("the page names every layer, and its program writes a folder that is read", async () => {
  const page = readFileSync(join(ROOT, "docs/typescript_models.md"), "utf8");
  for (const layer of Object.keys(LAYER_FORMS)) expect(page).toContain(`\`${layer}\``);
  using scratch = scratchFolder();
  const blocks = [...page.matchAll(/```(ts|json)\n([^]*?)```/g)].slice(-2);
  const program = blocks[0]![2]!.replace("../src/mod.ts", join(ROOT, "src/mod.ts"));
  writeFileSync(scratch.path("try.ts"), program);
  const child = Bun.spawn([process.execPath, "try.ts"], { cwd: scratch.path(".") });
  expect(await child.exited).toBe(0);
  const { plan, run } = await loadRun(scratch.path("runs/net"));
  expect([plan.sampleShape, run!.labels]).toEqual([[2], ["rest", "move"]]);
  const kinds = readLayers(blocks[1]![2]!).modules.map(({ kind }) => kind);
  expect(kinds).toEqual(["Dense", "Recurrent", "LI"]);
});

test("damage gives an error of ours or a model, never anything else", async () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 400; seed++) {
    const random = new Random(seed * 7919);
    const files = layeredRunFiles(
      drawLayers(1 + seed % 40).modules,
      drawLayers(1 + seed % 40).options,
    );
    const text = files["model.json"]!.slice();
    const tensors = files["variables.safetensors"]!.slice();
    const target = random.next() < 0.75 ? text : tensors;
    for (let times = random.int(1, 3); times > 0; times--) {
      const digits = [..."0123456789-.e"].map((each) => each.charCodeAt(0));
      const at = random.int(0, target.length - 1);
      const numeric = target === text && digits.includes(target[at]!);
      target[at] = numeric ? digits[random.int(0, 12)]! : target[at]! ^ (1 << random.int(0, 6));
    }
    let outcome: string;
    try {
      const { modules, input, dt } = readLayers(new TextDecoder().decode(text));
      const variables = Object.fromEntries(parseSafetensors(tensors).tensors);
      const plan = sequential(modules, { input, dt, variables });
      if (plan.stateWords < 1e5 && plan.nodes.every(({ size }) => size < 1e5)) await run(plan);
      outcome = "ran";
    } catch (error) {
      if (!(error instanceof GanglionError)) throw new Error(`seed ${seed}`, { cause: error });
      outcome = error.code;
    }
    outcomes.add(outcome);
  }
  for (const each of ["ran", "model_invalid", "bad_array"]) expect(outcomes).toContain(each);
});

test("the same layers give the same bytes, and variables keep their precision", () => {
  const { modules, options } = drawLayers(3);
  expect(layeredRunFiles(modules, options)).toEqual(layeredRunFiles(modules, options));
  const kernel = { shape: [1, 1], data: Float64Array.of(0.1) };
  const files = layeredRunFiles([nn.DelayedDense({ kernel, delay: [[1]], maxDelay: 2 })], {
    input: [1],
  });
  const { tensors } = parseSafetensors(files["variables.safetensors"]!);
  expect(tensors.get("DelayedDense_0.kernel")!.data).toEqual(kernel.data);
  expect(writeSafetensors({ tensors, metadata: {} })).toEqual(files["variables.safetensors"]!);
});
