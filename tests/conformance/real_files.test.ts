/** Real files of the NIR paper against spikes computed in f64 by a script (reference cases). */
import { expect, test } from "bun:test";
import { type CompileOptions, compilePlan, readNirBytes } from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { sharedFile } from "../model/helpers.ts";

type Json = ReturnType<typeof JSON.parse>;

const bytes = sharedFile("research/snn/cases.json");
const cases: Json[] = bytes === null ? [] : JSON.parse(new TextDecoder().decode(bytes)).cases;
const find = (id: string): Json => cases.find((each) => each.id === id);

/** Spikes of the output and of the recorded names, as [steps][values]. */
async function run(
  file: string,
  options: CompileOptions,
  steps: number,
  input: (step: number, at: number) => number,
  record: readonly string[] = [],
): Promise<Record<string, number[][]>> {
  const plan = compilePlan(await readNirBytes(sharedFile(`nir/${file}`)!), options);
  const size = plan.sampleSize;
  const data = Float32Array.from(
    { length: steps * size },
    (_, i) => input(Math.floor(i / size), i % size),
  );
  const executor = new ReferenceExecutor(plan, { slots: 1, frame: steps });
  const [row] = await executor.step([{ slot: 0, steps, fresh: true, input: data, record }]);
  const rows = (values: Float32Array): number[][] => {
    const width = values.length / steps;
    return Array.from(
      { length: steps },
      (_, t) => [...values.subarray(t * width, (t + 1) * width)],
    );
  };
  const named = Object.entries(row!.probes).map(([name, values]) => [name, rows(values)]);
  return { output: rows(row!.output), ...Object.fromEntries(named) };
}

const perStep = (rows: readonly number[][]): number[] =>
  rows.map((row) => row.reduce((sum, value) => sum + value, 0));
const reset = (name: string) => ({ reset: name as "zero" | "subtract" });

if (bytes !== null) {
  test.each(["euler", "exact"] as const)("lif_norse, %s", async (discretization) => {
    const { params, expected } = find("real_lif_norse");
    const pulses = new Set<number>(params.input_steps);
    const { output, "1.v": v } = await run(
      params.file,
      { dt: params.dt, discretization },
      params.steps,
      (t) => pulses.has(t) ? 1 : 0,
      ["1.v"],
    );
    const spikes = output!.flatMap(([spike], t) => spike === 1 ? [t] : []);
    expect(spikes).toEqual(expected[discretization].spike_steps);
    for (const [step, value] of Object.entries(expected[discretization].v_at)) {
      expect(v![Number(step)]![0]).toBeCloseTo(value as number, 6);
    }
  });

  test.each(["zero", "subtract"])("cnn_sinabs, reset %s", async (how) => {
    const { params, expected } = find("real_cnn_sinabs");
    const wanted = expected[`per_step_${how}`];
    const names = Object.keys(wanted.spikes_per_step_by_IF_node);
    const result = await run(
      params.file,
      { ...reset(how), compare: "ge" },
      params.steps,
      (t, at) => {
        const [c, y, x] = [Math.floor(at / 1156), Math.floor(at / 34) % 34, at % 34];
        const ring = Math.abs((y - 17) ** 2 + (x - 17) ** 2 - 60) <= 45;
        return ring && (2 * y + 5 * x + 7 * t + 2 * c) % 6 === 0 ? 1 : 0;
      },
      names.map((name) => `${name}.s`),
    );
    expect(result["output"]).toEqual(wanted.output_spikes);
    for (const name of names) {
      expect(perStep(result[`${name}.s`]!)).toEqual(wanted.spikes_per_step_by_IF_node[name]);
    }
  });

  const braille = [
    ["braille_noDelay_bias_zero", "lif1.lif"],
    ["braille_noDelay_bias_zero_subgraph", "lif1.lif1"],
    ["braille_noDelay_noBias_subtract", "lif1.lif"],
    ["braille_noDelay_noBias_subtract_subgraph", "lif1.lif1"],
  ] as const;

  test.each(braille)("%s", async (file, hidden) => {
    const { params, expected } = find(`real_${file.replace("_subgraph", "")}`);
    // dt is left to be inferred, as it would be for a user.
    const result = await run(
      `paper/${file}.nir`,
      reset(params.reset),
      params.steps,
      (t, k) => (8 * t + 3 * k) % 40 === 0 ? 1 : 0,
      [`${hidden}.s`],
    );
    expect(result["output"]).toEqual(expected.output_spikes);
    expect(perStep(result[`${hidden}.s`]!)).toEqual(expected.hidden_spikes_per_step);
  });
}
