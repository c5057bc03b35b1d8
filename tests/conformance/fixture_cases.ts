/**
 * The models of tests/fixtures/nir, written by the official `nir` package, against outputs computed in
 * float64 by tests/oracles. Every executor must give them, under every reading that the case lists.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { type CompileOptions, compilePlan, readNirBytes } from "../../src/model/mod.ts";
import { assertClose, type ConformanceCase, readJson, runStream } from "./run.ts";

interface Tensor {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

interface Reading {
  readonly discretization?: "euler" | "exact";
  readonly cuba_current?: "new" | "old";
  readonly if_gain?: "r" | "r_dt";
}

interface Fixture {
  readonly file: string;
  readonly holds: string;
  readonly dt: number;
  readonly dt_source: "flag" | "metadata" | "inferred" | "default";
  readonly cuts: readonly (readonly [string, string])[];
  readonly input: Tensor;
  readonly expected: readonly { reading: Reading; output: Tensor }[];
}

const FOLDER = new URL("../fixtures/nir/", import.meta.url);

export function fixtureCases(): ConformanceCase[] {
  const { cases } = readJson<{ cases: Fixture[] }>(
    fileURLToPath(new URL("manifest.json", FOLDER)),
  );
  return cases.flatMap((fixture) =>
    fixture.expected.map(({ reading, output }) => ({
      name: [fixture.file.replace(".nir.gz", ""), ...Object.values(reading)].join(" "),
      run: async (make) => {
        const bytes = gunzipSync(readFileSync(new URL(fixture.file, FOLDER)));
        const graph = await readNirBytes(new Uint8Array(bytes), { name: fixture.file });
        const options: CompileOptions = {
          ...(fixture.dt_source === "flag" ? { dt: fixture.dt } : {}),
          ...(reading.discretization ? { discretization: reading.discretization } : {}),
          ...(reading.cuba_current ? { cubaOrder: reading.cuba_current } : {}),
          ...(reading.if_gain ? { ifGain: reading.if_gain } : {}),
        };
        const plan = compilePlan(graph, options);
        assert.equal(plan.dtSource, fixture.dt_source);
        assert.ok(Math.abs(plan.dt / fixture.dt - 1) < 1e-6, `dt is ${plan.dt}`);
        const cuts = plan.nodes.flatMap(({ inputs }) => inputs.filter((edge) => edge.previous));
        if (!fixture.file.includes("delay")) {
          assert.equal(cuts.length, fixture.cuts.length, "number of cut edges");
        }
        const ran = await runStream(make, plan, fixture.input.data);
        assert.deepEqual([output.shape[0], ...plan.outputShape], output.shape);
        assertClose(ran.output, output.data, "output", 2e-6);
      },
    }))
  );
}
