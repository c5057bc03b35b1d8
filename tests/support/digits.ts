/** The digits example as the tests see it: model, test set, and what the Python framework answered. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../bin/launch.mjs";
import { parseNpy } from "../../src/base/npy.ts";
import { compilePlan, type Plan, readNirBytes } from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";

const folder = join(ROOT, "examples/digits");
const read = (file: string) => new Uint8Array(readFileSync(join(folder, file)));

export const DIGITS_NIR: string = join(folder, "digits.nir");
export const STEPS = 25;
export const PIXELS = 64;
export const CLASSES = 10;

/** The test set's recordings, [25, 64] of 0 and 1 each. */
export function recordings(): Float32Array[] {
  const { shape, values } = parseNpy(read("test_set_bits.npy"));
  const [count, steps, bytes] = shape as [number, number, number];
  return Array.from(
    { length: count },
    (_, n) =>
      Float32Array.from({ length: steps * bytes * 8 }, (_, i) => {
        const byte = values[n * steps * bytes + (i >> 3)]!;
        return (byte >> (i & 7)) & 1;
      }),
  );
}

export const labels = (): Float32Array => parseNpy(read("test_labels.npy")).values;
export const predictions = (): Float32Array => parseNpy(read("predictions.npy")).values;
/** [450, 10]: output spikes a class. */
export const scores = (): Float32Array => parseNpy(read("scores.npy")).values;
export const accuracy = (): { n: number; correct: number } =>
  JSON.parse(readFileSync(join(folder, "accuracy.json"), "utf8")) as { n: number; correct: number };

export async function digitsPlan(): Promise<Plan> {
  return compilePlan(await readNirBytes(read("digits.nir"), { name: "digits" }));
}

/** Every recording in the reference's single pass: [25, 10] each. */
export async function onePassOutputs(): Promise<Float32Array[]> {
  const plan = await digitsPlan();
  const reference = new ReferenceExecutor(plan, { slots: 1, frame: STEPS });
  const outputs: Float32Array[] = [];
  for (const input of recordings()) {
    const [result] = await reference.step([{ slot: 0, steps: STEPS, fresh: true, input }]);
    outputs.push(result!.output);
  }
  return outputs;
}

/** Spikes a class over a recording. */
export function scoreOf(output: Float32Array): number[] {
  return Array.from(
    { length: CLASSES },
    (_, c) => output.reduce((sum, x, i) => i % CLASSES === c ? sum + x : sum, 0),
  );
}

/** The class with the highest score, the lower one of equals. */
export const classOf = (score: readonly number[]): number => score.indexOf(Math.max(...score));
