/**
 * Whole models with variables from safetensors files (tests/oracles/make_safetensors.py), against float64;
 * and the neurons of examples/custom_neuron: bit for bit with their twins, and from their own rest.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { izhikevich } from "../../examples/custom_neuron/izhikevich.ts";
import { resonateAndFire } from "../../examples/custom_neuron/resonate_and_fire.ts";
import { compilePlan, graphOf, type Plan, probesOf, readSafetensors } from "../../src/model/mod.ts";
import { type Module, nn, sequential } from "../../src/model/nn/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { assertSameBits, type Make } from "../contract/cases.ts";
import { Random } from "../support/plans.ts";
import { assertClose, type ConformanceCase, flat, readJson, runStream } from "./run.ts";

const FOLDER = new URL("../fixtures/safetensors/", import.meta.url);

interface Answer {
  readonly input: number[][];
  readonly output: number[][];
}

function model(name: string, modules: readonly Module[], input: readonly number[]) {
  return async (make: Make): Promise<void> => {
    const variables = readSafetensors(readFileSync(new URL(`${name}.safetensors`, FOLDER)));
    const plan = sequential(modules, { input, variables, name });
    assert.deepEqual(plan.notes, [], "every variable is used");
    const answers = readJson<Record<string, Answer>>(new URL("answers.json", FOLDER).pathname);
    const { input: stream, output } = answers[name]!;
    assertClose((await runStream(make, plan, flat(stream))).output, flat(output), name, 4e-6);
  };
}

/** A layer of the user's behind a dense one and in a cycle; every value and membrane as the twin's. */
async function asItsTwin(make: Make, plan: Plan, scale: number): Promise<void> {
  const random = new Random(3);
  const input = random.floats(60 * plan.sampleSize, -scale, 2 * scale);
  const record = probesOf(plan).map(({ name }) => name);
  const reference: Make = (each, size) =>
    Promise.resolve({ executor: new ReferenceExecutor(each, size), faults: [] });
  const given = await runStream(make, plan, input, record);
  const wanted = await runStream(reference, plan, input, record);
  assert.ok(wanted.output.some((x) => x === 1), "it spikes");
  assertSameBits(given.output, wanted.output, "output");
  for (const name of record) assertSameBits(given.probes[name]!, wanted.probes[name]!, name);
}

const eye = (size: number, value: number) =>
  Array.from(
    { length: size },
    (_, i) => Array.from({ length: size }, (_, j) => i === j ? value : -0.1),
  );

export function modelCases(): ConformanceCase[] {
  return [
    {
      name: "SpikingMLP from safetensors: delays, norm, recurrence",
      run: model(
        "mlp",
        nn.SpikingMLP({ hidden: 2, recurrent: true, delays: 3, batchNorm: true }),
        [6],
      ),
    },
    {
      name: "SEWResNet from safetensors",
      run: model("resnet", nn.SEWResNet({ stages: [1, 1] }), [13, 12, 2]),
    },
    {
      name: "custom neuron: Izhikevich starts from its rest and does as its twin",
      run: async (make) => {
        const modules = [
          nn.Neuron(izhikevich, { d: [2, 8, 8], c: -60 }),
          nn.Dense({ kernel: eye(3, 150) }),
          nn.Recurrent({ neuron: nn.Neuron(izhikevich), weights: eye(3, 4) }),
        ];
        const plan = sequential(modules, { input: [3], dt: 0.5 });
        await asItsTwin(make, plan, 20);
        const alone = sequential([nn.Neuron(izhikevich)], { input: [1], dt: 0.5 });
        const silent = await runStream(make, alone, new Float32Array(30), ["izhikevich_0.v"]);
        assertClose(silent.probes["izhikevich_0.v"]!, new Float32Array(30).fill(-70), "at rest");
      },
    },
    {
      name: "custom neuron: resonate-and-fire as a NIR node does as its twin",
      run: async (make) => {
        const graph = graphOf({
          nodes: {
            input: { type: "Input", shape: [3] },
            rf: { type: resonateAndFire.nir!, omega: [0.3, 0.2, 0.4], damping: 0.05 },
            back: { type: "Linear", weight: eye(3, 0.5) },
            output: { type: "Output", shape: [3] },
          },
          edges: [["input", "rf"], ["rf", "back"], ["back", "rf"], ["rf", "output"]],
        });
        await asItsTwin(make, compilePlan(graph, { dt: 1 }), 1);
      },
    },
  ];
}
