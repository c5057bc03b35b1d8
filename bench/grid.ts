/** What the benches of the engine share: which cells of the grid run, batches, executors. */
import process from "node:process";
import { parseArgs } from "node:util";
import type { BatchRow } from "../src/engine/executor.ts";
import { type EngineOptions, GpuExecutor, openDevice } from "../src/engine/mod.ts";
import type { Plan } from "../src/model/mod.ts";
import { findGpu, readbackVerdict, runtime } from "../src/runtime/mod.ts";
import { MODELS, type Random, spikes } from "./models.ts";

/** Time steps a frame. */
export const FRAME = 10;
export const REPEATS = 15;

export interface Grid {
  readonly models: readonly string[];
  readonly slots: readonly number[];
  /** Share of inputs on. */
  readonly densities: readonly number[];
  /** Every cell of each model was asked for. */
  readonly isWhole: boolean;
}

/** `--model mlp,conv --slots 1,64 --density 5,20` (per cent); what is left out runs whole. */
export function gridOf(slots: readonly number[]): Grid {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      model: { type: "string" },
      slots: { type: "string" },
      density: { type: "string" },
    },
  });
  const numbers = (text: string) => text.split(",").map(Number);
  const models = values.model?.split(",") ?? Object.keys(MODELS);
  const unknown = models.find((name) => !(name in MODELS));
  if (unknown !== undefined) {
    throw new Error(`no model "${unknown}": there are ${Object.keys(MODELS).join(", ")}`);
  }
  return {
    models,
    slots: values.slots === undefined ? slots : numbers(values.slots),
    densities: (values.density === undefined ? [1, 5, 20] : numbers(values.density))
      .map((percent) => percent / 100),
    isWhole: values.slots === undefined && values.density === undefined,
  };
}

/** A full frame for every slot, each another one. */
export function batchOf(plan: Plan, slots: number, density: number, random: Random): BatchRow[] {
  return Array.from({ length: slots }, (_, slot) => ({
    slot,
    steps: FRAME,
    fresh: false,
    input: spikes(random, FRAME * plan.sampleSize, density),
  }));
}

/** The engine on this runtime's adapter, tuned where no kernels are named. */
export async function openEngine(
  plan: Plan,
  slots: number,
  kernels?: EngineOptions["kernels"],
): Promise<GpuExecutor> {
  const open = await openDevice((await findGpu()).gpu);
  const { name, version } = runtime;
  const readback = await readbackVerdict({ runtime: name, version, adapter: open.name });
  return await GpuExecutor.create(plan, open, {
    slots,
    frame: FRAME,
    readback,
    numerics: "bench",
    ...(kernels === undefined ? { tune: true } : { kernels }),
  });
}
