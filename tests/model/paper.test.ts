/** The real files of the NIR paper load and compile as their README says. */
import { describe, expect, test } from "bun:test";
import { compilePlan, type Plan, printPlan, readNirBytes } from "../../src/model/mod.ts";
import { codes, PAPER, paperFile, wiring } from "./helpers.ts";

const present = PAPER.filter((name) => paperFile(name) !== null);

async function compiled(name: string, strict = false): Promise<Plan> {
  return compilePlan(await readNirBytes(paperFile(name)!, { name }), { strict });
}

if (present.length > 0) {
  describe("paper files", () => {
    test.each(present)("%s compiles and prints within 100 columns", async (name) => {
      const text = printPlan(await compiled(name));
      const tooWide = text.split("\n").filter((line) => [...line].length > 100);
      expect(tooWide).toEqual([]);
    });

    test("cnn_sinabs has its shapes, kinds and one feedforward block", async () => {
      const { nodes, blocks, sampleShape, outputShape } = await compiled("cnn_sinabs.nir");
      expect(sampleShape).toEqual([2, 34, 34]);
      expect(outputShape).toEqual([10]);
      expect(nodes.map(({ name, shape, kind }) => `${name} ${shape.join("x")} ${kind}`)).toEqual([
        "input 2x34x34 input",
        "0 16x16x16 real",
        "1 16x16x16 spike",
        "2 16x16x16 real",
        "3 16x16x16 spike",
        "4 16x8x8 count",
        "5 8x8x8 real",
        "6 8x8x8 spike",
        "7 8x4x4 count",
        "9 256 real",
        "10 256 spike",
        "11 10 real",
        "12 10 spike",
      ]);
      expect(blocks).toHaveLength(1);
    });

    test("braille: dt comes from the gains, the loop is cut behind the neuron", async () => {
      const plan = await compiled("braille_noDelay_bias_zero.nir");
      expect([plan.dt, plan.dtSource]).toEqual([1e-4, "inferred"]);
      expect(wiring(plan)).toEqual([
        "input()",
        "fc1(input)",
        "lif1.w_rec(~lif1.lif)",
        "lif1.lif(fc1 + lif1.w_rec)",
        "fc2(lif1.lif)",
        "lif2(fc2)",
      ]);
      expect(plan.blocks.map(({ kind }) => kind)).toEqual([
        "feedforward",
        "recurrent",
        "feedforward",
      ]);
    });

    test("a nested file, once repaired, computes what its flat twin does", async () => {
      for (const name of ["braille_noDelay_bias_zero", "braille_noDelay_noBias_subtract"]) {
        const flat = await compiled(`${name}.nir`);
        const nested = await compiled(`${name}_subgraph.nir`);
        expect(codes(nested)).toContain("repaired_edge");
        expect(nested.nodes.map(({ op }) => op)).toEqual(flat.nodes.map(({ op }) => op));
        expect(nested.nodes.map(({ inputs }) => inputs))
          .toEqual(flat.nodes.map(({ inputs }) => inputs));
      }
    });

    test("lif_rockpool's output is reshaped with a warning", async () => {
      const plan = await compiled("lif_rockpool.nir");
      expect(plan.outputShape).toEqual([1, 1, 1]);
      expect(codes(plan)).toContain("reshaped_output");
    });
  });
}
