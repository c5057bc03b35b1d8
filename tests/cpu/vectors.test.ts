/**
 * The CPU executor's vector kernels beside its plain loops, which run the layers' twins: every layer in
 * every mode, and dense and convolutional layers whose sizes do not divide by four.
 */
import { expect, test } from "bun:test";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import { type LayerName, LAYERS } from "../../src/layers/mod.ts";
import { packSpikes } from "../../src/base/spike_packer.ts";
import { type ConvOp, type Plan, type PlanOp, probesOf } from "../../src/model/plan.ts";
import { dense, input, makePlan, pointwise, Random } from "../support/plans.ts";

const STEPS = 7;
const CASE_MS = 60_000;

/** Same bits; a NaN may have any. */
function expectSame(given: Float32Array, wanted: Float32Array, what: string): void {
  expect(given.length).toBe(wanted.length);
  const bits = (values: Float32Array) =>
    new Uint32Array(values.slice().buffer).map((word, i) => Number.isNaN(values[i]!) ? 0 : word);
  expect({ what, bits: bits(given) }).toEqual({ what, bits: bits(wanted) });
  expect(given.map(Number.isNaN as never)).toEqual(wanted.map(Number.isNaN as never));
}

/** Three frames on both, the second through a state that was read and written. */
async function compare(plan: Plan, inputs: readonly Float32Array[]): Promise<void> {
  const size = { slots: 1, frame: STEPS };
  const [vector, plain] = [
    new CpuExecutor(plan, size),
    new CpuExecutor(plan, { ...size, kernels: "plain" }),
  ];
  for (const [i, input] of inputs.entries()) {
    const row = { slot: 0, steps: STEPS, fresh: i === 0, input };
    const [[given], [wanted]] = await Promise.all([vector.step([row]), plain.step([row])]);
    expectSame(given!.output, wanted!.output, `${plan.name}, frame ${i}`);
    const [[read], [state]] = await Promise.all([vector.readStates([0]), plain.readStates([0])]);
    for (const name in state!.tensors) {
      expectSame(read!.tensors[name]!, state!.tensors[name]!, `${plan.name}, ${name}`);
    }
    await vector.writeState(0, state!);
  }
}

/** The same frames recorded, which run node by node, and with spikes as bits, beside the plain loops. */
async function compareWays(plan: Plan, inputs: readonly Float32Array[]): Promise<void> {
  const size = { slots: 2, frame: STEPS };
  const [vector, plain] = [
    new CpuExecutor(plan, size),
    new CpuExecutor(plan, { ...size, kernels: "plain" }),
  ];
  const record = probesOf(plan).map(({ name }) => name);
  for (const [i, input] of inputs.entries()) {
    const row = { slot: 0, steps: STEPS, fresh: i === 0, input };
    const bits = packSpikes(input, plan.sampleSize) ?? input;
    const [wanted] = await plain.step([row]);
    const given = await vector.step([{ ...row, record }, { ...row, slot: 1, input: bits }]);
    for (const { output } of given) expectSame(output, wanted!.output, `${plan.name}, frame ${i}`);
  }
}

const ODD = [0, 1, 1, 0.5, -0.25, 3, 1e-30, -1e-30, 2e-38, 1e30, -3e38, Infinity, -Infinity, NaN];

function oddInput(random: Random, length: number): Float32Array {
  return Float32Array.from(
    { length },
    () => random.next() < 0.5 ? ODD[random.int(0, ODD.length - 1)]! : random.next() * 3 - 1,
  );
}

for (const layer of Object.keys(LAYERS) as LayerName[]) {
  test(`${layer} gives the same bits in every mode`, async () => {
    const random = new Random(1);
    for (let mode = 0; mode < 128; mode++) {
      const size = 1 + mode % 9;
      const lively = pointwise(random, layer, size, mode);
      for (const { op, kind } of [lively, { ...lively, op: roundNumbers(layer, size, mode) }]) {
        const plan = makePlan(`${layer} of ${size} in mode ${mode}`, [
          input([size]),
          { name: "n", inputs: ["input"], shape: [size], op, kind },
        ]);
        await compare(plan, [0, 1, 2].map(() => oddInput(random, STEPS * size)));
      }
    }
  }, CASE_MS);
}

/** Coefficients that let a membrane meet its threshold exactly. */
function roundNumbers(layer: LayerName, size: number, mode: number): PlanOp {
  const values: Record<string, number> = { threshold: 0.5, per_threshold: 2, leak: 0, reset: 0 };
  const coefficients = LAYERS[layer].coefficients.flatMap((name) =>
    new Array<number>(size).fill(values[name] ?? 1)
  );
  return { op: "pointwise", layer, mode, coefficients: Float32Array.from(coefficients) };
}

test("dense layers of any size give the same bits", async () => {
  const random = new Random(2);
  for (let outputs = 1; outputs < 80; outputs++) {
    const inputs = random.int(1, 40);
    for (const blocks of [1, 2]) {
      const plan = makePlan(`${blocks} dense, ${inputs} to ${outputs}`, [
        input([blocks * inputs]),
        {
          name: "fc",
          inputs: ["input"],
          shape: [blocks * outputs],
          ...dense(random, inputs, outputs, { bias: outputs % 2 === 0, blocks }),
        },
        {
          name: "n",
          inputs: ["fc"],
          shape: [blocks * outputs],
          ...pointwise(random, "lif", blocks * outputs),
        },
      ]);
      const length = STEPS * blocks * inputs;
      await compare(plan, [
        random.spikes(length),
        oddInput(random, length),
        new Float32Array(length),
      ]);
      await compareWays(plan, [random.spikes(length), oddInput(random, length)]);
    }
  }
}, CASE_MS);

test("convolutions of any form give the same bits", async () => {
  const random = new Random(3);
  for (let i = 0; i < 120; i++) {
    const op = randomConv(random);
    const shape = [op.outChannels, ...op.outSize];
    const size = shape.reduce((product, axis) => product * axis);
    const plan = makePlan(`conv ${i}`, [
      input([op.inChannels, ...op.inSize]),
      { name: "conv", inputs: ["input"], shape, kind: "real", op },
      { name: "n", inputs: ["conv"], shape, ...pointwise(random, "if", size) },
    ]);
    const length = STEPS * plan.sampleSize;
    await compare(plan, [random.spikes(length), oddInput(random, length)]);
    await compareWays(plan, [random.spikes(length), oddInput(random, length)]);
  }
}, CASE_MS);

function randomConv(random: Random): ConvOp {
  const groups = random.int(1, 3);
  const perGroup = random.int(1, 3);
  const channels = random.int(1, 9);
  const axis = () => {
    const kernel = random.int(1, 4);
    const [stride, pad, dilation] = [random.int(1, 3), random.int(0, 2), random.int(1, 2)];
    const reach = dilation * (kernel - 1) + 1;
    const size = Math.max(reach, random.int(3, 9));
    return { kernel, stride, pad, dilation, size, out: Math.floor((size - reach) / stride) + 1 };
  };
  const [y, x] = [axis(), axis()];
  return {
    op: "conv",
    inChannels: groups * perGroup,
    outChannels: groups * channels,
    groups,
    inSize: [y.size, x.size],
    outSize: [y.out, x.out],
    kernel: [y.kernel, x.kernel],
    stride: [y.stride, x.stride],
    pad: [y.pad, x.pad],
    dilation: [y.dilation, x.dilation],
    weights: random.floats(groups * perGroup * y.kernel * x.kernel * channels),
    bias: random.next() < 0.5 ? random.floats(groups * channels) : null,
  };
}
