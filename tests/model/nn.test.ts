/** Layers built in TypeScript: values against loops in f64 written here, layouts, and what is refused. */
import { describe, expect, test } from "bun:test";
import { GanglionError } from "../../src/base/errors.ts";
import { type Module, nn, sequential, type SequentialOptions } from "../../src/model/nn/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { Random } from "../support/plans.ts";

async function outputs(
  modules: readonly Module[],
  options: SequentialOptions,
  input: ArrayLike<number>,
): Promise<number[]> {
  const plan = sequential(modules, options);
  const steps = input.length / plan.sampleSize;
  const executor = new ReferenceExecutor(plan, { slots: 1, frame: steps });
  const row = { slot: 0, steps, fresh: true, input: Float32Array.from(input) };
  const [result] = await executor.step([row]);
  return [...result!.output];
}

function close(given: readonly number[], wanted: readonly number[]): void {
  expect(given.length).toBe(wanted.length);
  given.forEach((x, i) => expect(Math.abs(x - wanted[i]!)).toBeLessThan(2e-6));
}

function refusal(modules: readonly Module[], input: readonly number[] = [2]): string {
  try {
    sequential(modules, { input });
  } catch (error) {
    expect(error).toBeInstanceOf(GanglionError);
    return (error as GanglionError).message;
  }
  throw new Error("it was taken");
}

const random = new Random(41);

describe("values against f64", () => {
  test("SlidingPSN: its default fires on an input of 1, and a window of any weights", async () => {
    expect(await outputs([nn.SlidingPSN({ k: 3 })], { input: [1] }, [1, 0, 0.5, 0.75, 0]))
      .toEqual([1, 0, 0, 1, 0]);
    const weight = [0.5, -0.25, 1];
    const stream = random.floats(24, -1, 2);
    const wanted: number[] = [];
    for (let t = 0; t < 12; t++) {
      for (let j = 0; j < 2; j++) {
        const past = weight.map((w, i) => t - 2 + i < 0 ? 0 : w * stream[(t - 2 + i) * 2 + j]!);
        wanted.push(past.reduce((a, b) => a + b) - 0.3 >= 0 ? 1 : 0);
      }
    }
    const given = await outputs(
      [nn.SlidingPSN({ k: 3, weight, bias: -0.3 })],
      { input: [2] },
      stream,
    );
    expect(given).toEqual(wanted);
  });

  test.each(["tanh", "relu", "sigmoid"] as const)("Rate with %s", async (activation) => {
    const stream = random.floats(20, -3, 3);
    const squash = { tanh: Math.tanh, relu: (x: number) => Math.max(x, 0), sigmoid: logistic };
    const wanted: number[] = [];
    let h = 0;
    for (const x of stream) {
      const d = Math.exp(-0.5 / 3);
      wanted.push(h = d * h + (1 - d) * squash[activation](x + 0.25));
    }
    const rate = nn.Rate({ tau: 3, activation, bias: 0.25 });
    close(await outputs([rate], { input: [1], dt: 0.5 }, stream), wanted);
  });

  test("fast weights with a modulated rule", async () => {
    const [W, alpha] = [[[0.5, -0.4], [0.3, 0.2]], [[0.6, 0.1], [-0.5, 0.7]]];
    const [modulator, fanout, fanoutBias] = [[0.5, -1], [0.8, 0.4], [0.1, -0.2]];
    const stream = random.floats(16, -1, 1.5);
    const hebb = [[0, 0], [0, 0]];
    let [o, arriving] = [[0, 0], [0, 0]];
    const wanted: number[] = [];
    for (let t = 0; t < 8; t++) {
      const post = [0, 1].map((j) => Math.tanh(stream[t * 2 + j]! + arriving[j]!));
      const m = Math.tanh(post[0]! * modulator[0]! + post[1]! * modulator[1]! + 0.2);
      for (const i of [0, 1]) {
        for (const j of [0, 1]) {
          const eta = m * fanout[j]! + fanoutBias[j]!;
          const grown = hebb[i]![j]! + eta * o[i]! * post[j]!;
          hebb[i]![j] = Math.min(Math.max(grown, -0.4), 0.4);
        }
      }
      arriving = [0, 1].map((j) =>
        [0, 1].reduce((sum, i) => sum + post[i]! * (W[i]![j]! + alpha[i]![j]! * hebb[i]![j]!), 0)
      );
      wanted.push(...(o = post));
    }
    const fast = { rule: "modulated", alpha, clip: 0.4, modulator, modulatorBias: 0.2, fanout };
    const layer = nn.Recurrent({
      neuron: nn.Rate({ tau: 0 }),
      weights: W,
      fast: { ...fast, rule: "modulated", fanoutBias },
    });
    close(await outputs([layer], { input: [2] }, stream), wanted);
  });

  test("a refractory time is counted in steps of dt, halves to even", async () => {
    const spikes = (refractory: number, dt: number) =>
      outputs([nn.ALIF({ beta: 0, refractory, reset: "zero" })], { input: [1], dt }, [
        ...new Array<number>(7).fill(2),
      ]);
    expect(await spikes(0, 1)).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(await spikes(1, 1)).toEqual([1, 1, 1, 1, 1, 1, 1]);
    expect(await spikes(3, 1)).toEqual([1, 0, 0, 1, 0, 0, 1]);
    expect(await spikes(2.5, 1)).toEqual([1, 0, 1, 0, 1, 0, 1]);
    expect(await spikes(1.5, 0.5)).toEqual([1, 0, 0, 1, 0, 0, 1]);
  });
});

const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

describe("layouts", () => {
  // [height 2, width 1, channels 2]: values are 10·h + c.
  const image = [0, 1, 10, 11];
  const options = { input: [2, 1, 2] };

  test("samples and results are channels last, Flatten channels first unless told otherwise", async () => {
    expect(await outputs([nn.LI()], options, image)).toEqual(image);
    expect(await outputs([nn.Flatten()], options, image)).toEqual([0, 10, 1, 11]);
    const last = nn.Flatten({ order: "channels_last" });
    expect(await outputs([last], options, image)).toEqual(image);
    expect(await outputs([nn.LI(), last], options, image)).toEqual(image);
    const plan = sequential([nn.MaxPool({ window: [2, 1] })], options);
    expect([plan.sampleShape, plan.outputShape]).toEqual([[2, 1, 2], [1, 1, 2]]);
    expect(sequential([nn.SpatialMean()], options).outputShape).toEqual([2]);
  });

  test("one parameter a feature means one a channel", async () => {
    const norm = nn.BatchNorm({ mean: [0, 1], var: [1, 1], scale: [1, 2], epsilon: 0 });
    expect(await outputs([norm], options, image)).toEqual([0, 0, 10, 20]);
    const kernel = [[1, 0], [0, 3]];
    expect(await outputs([nn.Dense({ kernel })], options, image)).toEqual([0, 3, 10, 33]);
  });

  test("nothing but dropout is a model too", async () => {
    expect(await outputs([nn.Dropout(0.5)], { input: [2] }, [1, -2])).toEqual([1, -2]);
  });
});

test("names are counted as in Flax, branches of a residual together", () => {
  const eye = [[1, 0], [0, 1]];
  const plan = sequential([
    nn.Dense({ kernel: eye }),
    nn.LIF(),
    nn.Residual({ branch: [nn.Dense({ kernel: eye }), nn.LIF()], shortcut: [nn.LIF()] }),
    nn.Dense({ kernel: eye, name: "head" }),
    nn.LIF(),
  ], { input: [2] });
  expect(plan.nodes.map(({ name }) => name)).toEqual([
    "input",
    "Dense_0",
    "LIF_0",
    "Residual_0.Dense_0",
    "Residual_0.LIF_0",
    "Residual_0.LIF_1",
    "Residual_0",
    "head",
    "LIF_1",
  ]);
  expect(plan.nodes[6]!.kind).toBe("count");
});

describe("refused, by name", () => {
  const cases: [Module[], RegExp, number[]?][] = [
    [[nn.LIF({ tau: 0 })], /"LIF_0": a time constant must be positive, not 0/],
    [[nn.LIF({ tau: [1, 2, 3] })], /"tau" has 3 values for 2 features/],
    [[nn.LIF({ reset: "soft" as "zero" })], /reset must be subtract, zero or none, not soft/],
    [[nn.LIF({ threshold: NaN })], /"threshold" holds NaN/],
    [[nn.ALIF({ refractory: -1 })], /refractory must not be negative/],
    [[nn.Rate({ activation: "elu" as "relu" })], /tanh, relu or sigmoid, not elu/],
    [[nn.Conv({ kernel: [[[[1]]]] })], /takes \[height,width,channels\], not \[2\]/],
    [[nn.Conv({ kernel: [[[[1]]]] })], /does not take 2 channels/, [3, 3, 2]],
    [[nn.MaxPool({ window: 4 })], /window of 4 does not fit into 3/, [3, 3, 1]],
    [[nn.MaxPool({ window: 1, padding: 1 })], /a window holds no value/, [3, 3, 1]],
    [[nn.MaxPool({ window: 0 })], /whole numbers of at least 1/, [3, 3, 1]],
    [[nn.Recurrent({ weights: [[1]] })], /"recurrent" must have the shape \[2,2\]/],
    [[nn.Recurrent({ weights: [[1]] })], /put a Flatten before it/, [3, 3, 1]],
    [[nn.Recurrent({ wiring: [[0, 2, 1, 1]] })], /connection 0 is \[0,2,1,1\]; units count/],
    [[nn.Recurrent({ wiring: [[0, 1, 1, 0]] })], /delays are whole steps of at least 1/],
    [[nn.Recurrent({ wiring: [], fast: { rule: "oja" } })], /fast weights need dense weights/],
    [[nn.DelayedDense({ maxDelay: 1.5 })], /whole maxDelay/],
    [[nn.SlidingPSN({ k: 0 })], /k must be at least 1/],
    [[nn.Dense({ kernel: [[1, 2], [3]] })], /ragged/],
    [[nn.LIF({ name: "a" }), nn.LIF({ name: "a" })], /"a": two nodes have this name/],
    [[nn.PSN()], /cannot stream; use SlidingPSN/],
    [[nn.TimeMean()], /reduces over time/],
  ];
  for (const [modules, message, input] of cases) {
    test(String(message), () => expect(refusal(modules, input)).toMatch(message));
  }

  test("whole models and inputs", () => {
    expect(() => nn.SpikingMLP({ hidden: 1, extend: true })).toThrow(/cannot stream/);
    expect(() => nn.SpikingMLP({ hidden: 1, delays: [1] })).toThrow(/1 entries for 2 synapses/);
    expect(() => sequential([], { input: [2, 2] })).toThrow(/input must be \[F\] or/);
    expect(() => sequential([], { input: [2], dt: 0 })).toThrow(/dt must be positive/);
  });
});
