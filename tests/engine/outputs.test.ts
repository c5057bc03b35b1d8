/** What a step copies back from the device, counted: spikes are bits there, other values f32. */
import { expect, test } from "bun:test";
import { wordsOf } from "../../src/base/numeric.ts";
import { OUTPUT_HEADER_WORDS } from "../../src/engine/layout.ts";
import { GpuExecutor, type OpenDevice, openDevice } from "../../src/engine/mod.ts";
import type { Plan } from "../../src/model/plan.ts";
import { findGpu } from "../../src/runtime/gpu.ts";
import { spikingOutputPlans } from "../support/layer_plans.ts";
import { mlpPlan, Random } from "../support/plans.ts";

const FRAME = 20;
const SLOTS = 3;

/** Bytes of the copies that are encoded from now on. */
function countCopies({ device }: OpenDevice): number[] {
  const bytes: number[] = [];
  const create = device.createCommandEncoder.bind(device);
  device.createCommandEncoder = (descriptor) => {
    const encoder = create(descriptor);
    const copy = encoder.copyBufferToBuffer.bind(encoder) as (...args: unknown[]) => undefined;
    encoder.copyBufferToBuffer = (...args: unknown[]) => {
      bytes.push(args.at(-1) as number);
      return copy(...args);
    };
    return encoder;
  };
  return bytes;
}

async function bytesOf(
  plan: Plan,
  path: "fused" | "layers",
  record: readonly string[],
): Promise<number[]> {
  const open = await openDevice((await findGpu()).gpu);
  const options = { slots: SLOTS, frame: FRAME, readback: "awaited", numerics: "test" } as const;
  const executor = await GpuExecutor.create(plan, open, { ...options, kernels: { path } });
  try {
    const bytes = countCopies(open);
    const input = new Random(1).spikes(FRAME * plan.sampleSize);
    await executor.step(
      [0, 2].map((slot) => ({ slot, steps: FRAME, fresh: true, input, record })),
    );
    return bytes;
  } finally {
    await executor.close();
  }
}

const [wide] = spikingOutputPlans(41);

for (const path of ["fused", "layers"] as const) {
  test(`300 spiking outputs take 10 words a step [${path}]`, async () => {
    const words = OUTPUT_HEADER_WORDS + FRAME * wordsOf(300);
    expect(await bytesOf(wide!, path, [])).toEqual([2 * 4 * words]);
  });

  test(`21 membranes take 21 words a step [${path}]`, async () => {
    const words = OUTPUT_HEADER_WORDS + FRAME * 21;
    expect(await bytesOf(mlpPlan(1, "lif", 0), path, [])).toEqual([2 * 4 * words]);
  });
}

test("recorded spikes are bits, a recorded state is f32", async () => {
  const words = OUTPUT_HEADER_WORDS + FRAME * (21 + wordsOf(40) + 40);
  const bytes = await bytesOf(mlpPlan(1, "lif", 0), "fused", ["n1.s", "n1.v"]);
  expect(bytes).toEqual([2 * 4 * words]);
});
