/**
 * Reading alone, without an executor: files written by the `nir` package give the dt, the cuts and the
 * shapes that an independent oracle found (tests/oracles); bad files are refused by name; the real files
 * get the verdicts of the reference cases. What the models compute is tested in conformance.test.ts.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { GanglionError } from "../../src/base/errors.ts";
import { type CompileOptions, compilePlan, type Plan, readNirBytes } from "../../src/model/mod.ts";
import { fails, sharedFile } from "../model/helpers.ts";

interface Case {
  readonly file: string;
  readonly dt: number;
  readonly dt_source: Plan["dtSource"];
  readonly cuts: readonly (readonly [string, string])[];
  readonly input: { readonly shape: readonly number[] };
  readonly expected: readonly { readonly output: { readonly shape: readonly number[] } }[];
}

interface BadCase {
  readonly file: string;
  readonly reason: string;
  readonly names: readonly string[];
}

const root = new URL("../fixtures/", import.meta.url);

function manifest<T>(folder: string): readonly T[] {
  const text = readFileSync(new URL(`${folder}/manifest.json`, root), "utf8");
  return (JSON.parse(text) as { cases: T[] }).cases;
}

async function compiled(path: string, options: CompileOptions = {}): Promise<Plan> {
  const bytes = new Uint8Array(gunzipSync(readFileSync(new URL(path, root))));
  return compilePlan(await readNirBytes(bytes), options);
}

/** Cut edges, but for those into a Delay that is the cut itself. */
function cutsOf({ nodes }: Plan): string[] {
  return nodes.filter(({ type }) => type !== "Delay").flatMap(({ name, inputs }) =>
    inputs.filter(({ previous }) => previous).map(({ from }) => `${nodes[from]!.name}:${name}`)
  ).sort();
}

describe("files of the nir package", () => {
  const cases = manifest<Case>("nir");

  test.each(cases.map((each) => [each.file, each] as const))(
    "%s",
    async (file, { dt, dt_source: source, cuts, input, expected }) => {
      const plan = await compiled(`nir/${file}`, source === "flag" ? { dt } : {});
      expect(plan.dt).toBeCloseTo(dt, 12);
      expect(plan.dtSource).toBe(source);
      expect(cutsOf(plan)).toEqual(cuts.map((pair) => pair.join(":")).sort());
      expect(plan.sampleShape).toEqual(input.shape.slice(1));
      expect(plan.outputShape).toEqual(expected[0]!.output.shape.slice(1));
    },
  );

  test("the gain of an IF is found out, with a warning where it is a guess", async () => {
    const gains: Record<string, unknown> = {};
    for (const name of ["if_unit", "if_inverse_dt", "if_other"]) {
      const plan = await compiled(`nir/${name}.nir.gz`, { dt: 1e-4 });
      gains[name] = plan.notes.find(({ code }) => code === "if_gain")!.level;
    }
    expect(gains).toEqual({ if_unit: "info", if_inverse_dt: "info", if_other: "warning" });
  });
});

describe("bad files", () => {
  /** Read with a warning instead, since there is one reading. */
  const mended = new Set(["no_output.nir.gz"]);
  const cases = manifest<BadCase>("nir_bad");

  test.each(cases.map((each) => [`${each.file}: ${each.reason}`, each] as const))(
    "%s",
    async (_, { file, names }) => {
      const failure = await compiled(`nir_bad/${file}`).then(() => null, (error: unknown) => error);
      if (mended.has(file)) return expect(failure).toBeNull();
      expect(failure).toBeInstanceOf(GanglionError);
      const { code, message } = failure as GanglionError;
      expect(code).toStartWith("model_");
      for (const name of names) expect(message).toContain(name);
    },
  );
});

const reference = sharedFile("research/snn/cases.json");

if (reference !== null) {
  interface Verdict {
    readonly file: string;
    readonly strict: "accept" | "refuse";
  }
  const { cases } = JSON.parse(new TextDecoder().decode(reference)) as {
    cases: { id: string; expected: readonly Verdict[] }[];
  };
  const verdicts = cases.find(({ id }) => id === "real_file_verdicts")!.expected;

  describe("verdicts on real files", () => {
    test.each(verdicts.map((verdict) => [verdict.file, verdict] as const))(
      "%s",
      async (file, { strict }) => {
        const graph = await readNirBytes(sharedFile(`nir/${file}`)!);
        const read = () => compilePlan(graph, { strict: true });
        if (strict === "accept") expect(read().digest).toHaveLength(64);
        else await fails(read, "model_invalid");
        // Every refused file has one reading, which is taken when strict is off.
        expect(compilePlan(graph).digest).toHaveLength(64);
      },
    );
  });
}
