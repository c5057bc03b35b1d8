/**
 * Files written by the `nir` package itself, and what an independent oracle in Python makes of them
 * (tests/oracles): reading, dt, cuts and outputs must agree. Bad files are refused by name.
 */
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { type CompileOptions, compilePlan, type Plan, readNirBytes } from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import { GanglionError } from "../../src/base/errors.ts";

interface Numbers {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

interface Case {
  readonly file: string;
  readonly holds: string;
  readonly dt: number;
  readonly dt_source: Plan["dtSource"];
  readonly cuts: readonly (readonly [string, string])[];
  readonly input: Numbers;
  readonly expected: readonly {
    readonly reading: {
      readonly discretization?: "euler" | "exact";
      readonly cuba_current?: "new" | "old";
      readonly if_gain?: "r" | "r_dt";
    };
    readonly output: Numbers;
  }[];
}

interface BadCase {
  readonly file: string;
  readonly reason: string;
  readonly names: readonly string[];
}

const root = new URL("../fixtures/", import.meta.url);

function manifest<T>(folder: string): readonly T[] {
  const url = new URL(`${folder}/manifest.json`, root);
  return existsSync(url) ? (JSON.parse(readFileSync(url, "utf8")) as { cases: T[] }).cases : [];
}

const bytesOf = (path: string): Uint8Array =>
  new Uint8Array(gunzipSync(readFileSync(new URL(path, root))));

/** Cut edges, but for those into a Delay that is the cut itself. */
function cutsOf({ nodes }: Plan): string[] {
  return nodes.filter(({ type }) => type !== "Delay").flatMap(({ name, inputs }) =>
    inputs.filter(({ previous }) => previous).map(({ from }) => `${nodes[from]!.name}:${name}`)
  ).sort();
}

async function outputs(plan: Plan, input: Numbers): Promise<Float32Array> {
  const steps = input.shape[0]!;
  const executor = new ReferenceExecutor(plan, { slots: 1, frame: 256 });
  const row = { slot: 0, steps, fresh: true, input: Float32Array.from(input.data) };
  return (await executor.step([row]))[0]!.output;
}

const good = manifest<Case>("nir");
if (good.length > 0) {
  const runs = good.flatMap((each) => each.expected.map((run) => ({ ...each, ...run })));
  describe("files of the nir package", () => {
    test.each(runs.map((run) => [`${run.file} ${JSON.stringify(run.reading)}`, run] as const))(
      "%s",
      async (_, { file, dt, dt_source: source, cuts, input, reading, output }) => {
        const options: CompileOptions = {
          ...(source === "flag" ? { dt } : {}),
          discretization: reading.discretization ?? "euler",
          cubaOrder: reading.cuba_current ?? "new",
          ifGain: reading.if_gain ?? "auto",
        };
        const plan = compilePlan(await readNirBytes(bytesOf(`nir/${file}`)), options);
        expect(plan.dt).toBeCloseTo(dt, 12);
        expect(plan.dtSource).toBe(source);
        expect(cutsOf(plan)).toEqual(cuts.map((pair) => pair.join(":")).sort());
        expect(plan.outputShape).toEqual(output.shape.slice(1));
        const given = await outputs(plan, input);
        const scale = Math.max(1, ...output.data.map(Math.abs));
        const off = output.data.map((value, i) => Math.abs(value - given[i]!));
        expect(given.length).toBe(output.data.length);
        expect(Math.max(...off)).toBeLessThanOrEqual(1e-6 * scale);
      },
    );

    test("the gain of an IF is found out where it can be", async () => {
      for (const { file, dt, input, expected } of good.filter((each) => /^if_/.test(each.file))) {
        const plan = compilePlan(await readNirBytes(bytesOf(`nir/${file}`)), { dt });
        const wanted = expected.at(-1)!.output.data; // r·dt where both are given
        expect(Array.from(await outputs(plan, input))).toEqual([...wanted]);
        const warns = plan.notes.some(({ code, level }) =>
          code === "if_gain" && level === "warning"
        );
        expect(warns).toBe(file === "if_other.nir.gz");
      }
    });
  });
}

const bad = manifest<BadCase>("nir_bad");
/** Files that are read with a warning, since one reading is plain. */
const MENDED = new Set(["no_output.nir.gz"]);
if (bad.length > 0) {
  describe("bad files", () => {
    test.each(bad.map((each) => [`${each.file}: ${each.reason}`, each] as const))(
      "%s",
      async (_, { file, names }) => {
        let failure: unknown = null;
        try {
          compilePlan(await readNirBytes(bytesOf(`nir_bad/${file}`)));
        } catch (error) {
          failure = error;
        }
        if (MENDED.has(file)) return expect(failure).toBeNull();
        expect(failure).toBeInstanceOf(GanglionError);
        const { code, message } = failure as GanglionError;
        expect(code).toStartWith("model_");
        for (const name of names) expect(message).toContain(name);
      },
    );
  });
}
