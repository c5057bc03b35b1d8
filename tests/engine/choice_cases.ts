/**
 * Every choice that the tuner may make, forced, on every model of the benches: outputs and state equal
 * the reference's, byte for byte, for sparse bits, dense bits and real values.
 */
import assert from "node:assert/strict";
import { MODELS, Random, spikes } from "../../bench/models.ts";
import type { BatchRow, RowResult, RowState } from "../../src/engine/executor.ts";
import {
  choiceName,
  kernelCandidates,
  type KernelChoice,
  openDevice,
} from "../../src/engine/mod.ts";
import type { Plan } from "../../src/model/plan.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { findGpu } from "../../src/runtime/gpu.ts";
import { assertSameBits, type ContractCase } from "../contract/cases.ts";
import { makeGpu } from "../support/gpu.ts";
import { spikingOutputPlans, windowsPlan } from "../support/layer_plans.ts";

const SLOTS = 3;
const FRAME = 8;

/** What the tuner tries on this device; on llvmpipe, which compiles faster, also what it tries on a GPU. */
async function choicesHere(): Promise<KernelChoice[]> {
  const open = await openDevice((await findGpu()).gpu);
  open.device.destroy();
  const here = kernelCandidates(open);
  return /llvmpipe/.test(open.name)
    ? [...here, ...kernelCandidates({ name: "a GPU", software: false })]
    : here;
}

interface Round {
  readonly batch: readonly BatchRow[];
  readonly wanted: readonly RowResult[];
  readonly states: readonly RowState[];
}

async function roundsOf(plan: Plan): Promise<Round[]> {
  const random = new Random(7);
  const reference = new ReferenceExecutor(plan, { slots: SLOTS, frame: FRAME });
  const rounds: Round[] = [];
  for (const [steps, density] of [[FRAME, 0.05], [5, 0.5], [2, 0.2]] as const) {
    const batch = [2, 0].map((slot, k): BatchRow => {
      const input = spikes(random, (steps - k) * plan.sampleSize, density);
      // The last round is of real values: every second input is scaled.
      if (rounds.length === 2) input.forEach((x, i) => input[i] = i % 2 === 0 ? x : x * 0.75);
      return { slot, steps: steps - k, fresh: rounds.length === 0, input };
    });
    const wanted = await reference.step(batch);
    const states = await reference.readStates(batch.map(({ slot }) => slot));
    rounds.push({ batch, wanted, states });
  }
  return rounds;
}

/** Null where the plan has no such kernel, which only the fused path may say. */
async function open(plan: Plan, choice: KernelChoice) {
  try {
    const { executor } = await makeGpu("awaited", choice)(plan, { slots: SLOTS, frame: FRAME });
    return executor;
  } catch (error) {
    if (choice.path === "fused" && /no fused kernel/.test(String(error))) return null;
    throw error;
  }
}

async function holds(plan: Plan, choice: KernelChoice, rounds: readonly Round[]): Promise<boolean> {
  const executor = await open(plan, choice);
  if (executor === null) return false;
  try {
    for (const [k, { batch, wanted, states }] of rounds.entries()) {
      const given = await executor.step(batch);
      const read = await executor.readStates(batch.map(({ slot }) => slot));
      for (const [i, { slot }] of batch.entries()) {
        const what = `${choiceName(choice)}, round ${k}, slot ${slot}`;
        assertSameBits(given[i]!.output, wanted[i]!.output, what);
        for (const [name, tensor] of Object.entries(states[i]!.tensors)) {
          assertSameBits(read[i]!.tensors[name]!, tensor, `${what}: ${name}`);
        }
      }
    }
  } finally {
    await executor.close();
  }
  return true;
}

/** One case a model; each runs this device's WebGPU, whatever executor the suite is given. */
export function choiceCases(): ContractCase[] {
  const spiking = spikingOutputPlans(37).map((plan) => [plan.name, () => plan] as const);
  const models = { ...MODELS, windows: () => windowsPlan(31), ...Object.fromEntries(spiking) };
  return Object.entries(models).map(([name, model]) => ({
    name: `every choice of kernels gives the same bits [${name}]`,
    run: async () => {
      const plan = await model();
      const rounds = await roundsOf(plan);
      const ran: KernelChoice[] = [];
      const choices = await choicesHere();
      for (const choice of choices) {
        if (await holds(plan, choice, rounds)) ran.push(choice);
      }
      assert.ok(ran.some(({ path }) => path === "layers"), "a kernel a layer always runs");
      const has = (...ops: string[]) => plan.nodes.some(({ op }) => ops.includes(op.op));
      const fuses = choices.some(({ windows }) => windows || !has("conv", "pool")) && !has("delay");
      assert.equal(ran.some(({ path }) => path === "fused"), fuses, "what can be fused was");
    },
  }));
}
