/** Reports 1 to 27 about reading NIR, each as a file with its right value. */
import assert from "node:assert/strict";
import { text } from "../../model/h5_write.ts";
import {
  all,
  between,
  DT,
  gives,
  lif,
  linear,
  nirFile,
  type PeerCase,
  planOf,
  refuses,
  wholes,
} from "./support.ts";

const ramp = (size: number): number[] => Array.from({ length: size }, (_, i) => i);
const conv = { type: "Conv2d", stride: wholes(1, 1), padding: wholes(0, 0) };
const ones = [[[[1, 1], [1, 1]]]];
const cuba = {
  type: "CubaLIF",
  tau_syn: [2 * DT],
  tau_mem: [2 * DT],
  r: [2],
  v_leak: [0],
  v_threshold: [10],
  w_in: [2],
};

export const IMPORT_CASES: readonly PeerCase[] = [
  {
    report: 1,
    source: "jeshraghian/snntorch#304",
    what: "Conv2d and AvgPool2d load and give the right numbers",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 4, 4], {
            conv: { ...conv, input_shape: wholes(4, 4), weight: ones, bias: [0] },
            pool: {
              type: "AvgPool2d",
              kernel_size: wholes(2, 2),
              stride: wholes(1, 1),
              padding: wholes(0, 0),
            },
          }, [1, 2, 2]),
          "input>conv conv>pool pool>output",
        ),
        { input: ramp(16), output: [20, 24, 36, 40] },
      ),
  },
  {
    report: 2,
    source: "jeshraghian/snntorch#367",
    what: "float64 arrays and 0-d parameters load",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([2], {
            fc: linear({ data: Float64Array.of(1, 0, 0, 2), shape: [2, 2] } as never),
            lif: { ...lif(), tau: 2 * DT, r: 2, v_leak: 0, v_threshold: 1, v_reset: 0 },
          }, [2]),
          "input>fc fc>lif lif>output",
        ),
        {
          input: [0.6, 0.6, 0, 0],
          output: [0, 1, 0, 0],
          probes: { "lif.v": [0.6, 0, 0.3, 0] },
          notes: ["broadcast"],
        },
      ),
  },
  {
    report: 3,
    source: "jeshraghian/snntorch#384",
    what: "a LIF without v_reset resets to 0",
    run: (make) => {
      const { v_reset: _, ...rest } = lif();
      return gives(make, nirFile(between([1], { lif: rest }, [1]), "input>lif lif>output"), {
        input: [3, 0],
        output: [1, 0],
        probes: { "lif.v": [0, 0] },
      });
    },
  },
  {
    report: 4,
    source: "jeshraghian/snntorch#334",
    what: "a CubaLIF of 0-d parameters takes its size from the Affine before it",
    run: async (make) => {
      const scalars = Object.fromEntries(
        Object.entries(cuba).map(([key, value]) => [key, Array.isArray(value) ? value[0]! : value]),
      );
      const file = nirFile(
        between([1], {
          fc: { type: "Affine", weight: [[1], [2], [3]], bias: all(3, 0) },
          lif: scalars,
        }, [3]),
        "input>fc fc>lif lif>output",
      );
      assert.deepEqual((await planOf(await file)).nodes[2]!.shape, [3]);
      await gives(make, file, {
        input: [1],
        output: [0, 0, 0],
        probes: { "lif.v": [1, 2, 3] },
        notes: ["broadcast"],
      });
    },
  },
  {
    report: 5,
    source: "jeshraghian/snntorch#290, PR#380",
    what: "a recurrent LIF gives the same flat and nested",
    run: async (make) => {
      const nodes = { lif: lif(1, { v_threshold: [0.9] }), w_rec: linear([[0.8]]) };
      const wanted = { input: [1, 0, 0, 0], output: [1, 0, 0, 0] };
      await gives(
        make,
        nirFile(between([1], nodes, [1]), "input>lif lif>w_rec w_rec>lif lif>output"),
        { ...wanted, probes: { "lif.v": [0, 0.8, 0.4, 0.2] }, notes: ["cut_edge"] },
      );
      const inner = {
        nodes: between([1], nodes, [1]),
        edges: "input>lif lif>w_rec w_rec>lif lif>output",
      };
      await gives(
        make,
        nirFile(between([1], { rleaky: inner as never }, [1]), "input>rleaky rleaky>output"),
        { ...wanted, probes: { "rleaky.lif.v": [0, 0.8, 0.4, 0.2] }, notes: ["cut_edge"] },
      );
    },
  },
  {
    report: 6,
    source: "jeshraghian/snntorch PR#435",
    what: "w_in scales the current of a CubaLIF, not its threshold",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1], { lif: { ...cuba, w_in: [4], r: [1], v_threshold: [0.9] } }, [1]),
          "input>lif lif>output",
        ),
        {
          input: [1, 0],
          output: [1, 0],
          probes: { "lif.i": [2, 1], "lif.v": [0, 0.5] },
        },
      ),
  },
  {
    report: 7,
    source: "jeshraghian/snntorch PR#385",
    what: "an IF with r = 1 adds its input each step and does not leak",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1], { if: { type: "IF", r: [1], v_threshold: [1], v_reset: [0] } }, [1]),
          "input>if if>output",
        ),
        {
          input: [0.6, 0, 0.6, 0.6],
          output: [0, 0, 1, 0],
          probes: { "if.v": [0.6, 0.6, 0, 0.6] },
          notes: ["if_gain"],
        },
      ),
  },
  {
    report: 8,
    source: "jeshraghian/snntorch PR#382",
    what: "a Conv2d without input_shape takes what comes in",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 2, 3], { conv: { ...conv, weight: ones, bias: [1] } }, [1, 1, 2]),
          "input>conv conv>output",
        ),
        { input: ramp(6), output: [9, 13] },
      ),
  },
  {
    report: 9,
    source: "jeshraghian/snntorch PR#246",
    what: "a LIF is reset in the step in which it fires",
    run: (make) =>
      gives(make, nirFile(between([1], { lif: lif() }, [1]), "input>lif lif>output"), {
        input: [1.5, 0.5, 0.9],
        output: [1, 0, 1],
        probes: { "lif.v": [0, 0.5, 0] },
      }),
  },
  {
    report: 10,
    source: "norse/norse#411",
    what: "one file at two dt: tau is in seconds, whatever the step",
    run: async (make) => {
      const nodes = between([1], { li: { type: "LI", tau: [0.01], r: [1], v_leak: [0] } }, [1]);
      for (const [dt, value] of [[1e-3, 0.1], [5e-4, 0.05]] as const) {
        const file = nirFile(nodes, "input>li li>output");
        const output = [value, value * (1 - value)];
        await gives(make, file, { input: [1, 0], output, options: { dt } });
      }
    },
  },
  {
    report: 11,
    source: "norse/norse#412",
    what: "parameters of one element take the size of their neighbours",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([2], { fc: linear([[1, 0], [0, 1], [1, 1]]), lif: lif(1) }, [3]),
          "input>fc fc>lif lif>output",
        ),
        { input: [1.5, 0.25], output: [1, 0, 1], notes: ["broadcast"] },
      ),
  },
  {
    report: 12,
    source: "norse/norse#418",
    what: "MaxPool2d and BatchNorm are refused by name; Flatten loads",
    run: async (make) => {
      for (const type of ["MaxPool2d", "BatchNorm2d"]) {
        await refuses(
          nirFile(
            between([1, 2, 2], { odd: { type, kernel_size: wholes(2, 2) } }, [4]),
            "input>odd odd>output",
          ),
          "model_unsupported",
          ['"odd"', type, "AvgPool2d"],
        );
      }
      const flat = { type: "Flatten", start_dim: 0, end_dim: -1, input_type: wholes(1, 2, 2) };
      await gives(make, nirFile(between([1, 2, 2], { flat }, [4]), "input>flat flat>output"), {
        input: ramp(4),
        output: ramp(4),
      });
    },
  },
  {
    report: 13,
    source: "norse/norse#427, NIRTorch PR#48",
    what: "the paper's recurrent form, whose inner edges name the wrong node, has one reading",
    run: async (make) => {
      // As in the paper's subgraph files: edges say "lif1", the node is called "lif".
      const inner = {
        nodes: between([1], { lif: lif(1, { v_threshold: [0.9] }), w_rec: linear([[0.8]]) }, [1]),
        edges: "input>lif1 lif1>w_rec w_rec>lif1 lif1>output",
      };
      const nodes = between([1], {
        fc1: linear([[1]]),
        lif1: inner as never,
        fc2: linear([[2]]),
        lif2: lif(),
      }, [1]);
      const list = "input>fc1 fc1>lif1 lif1>fc2 fc2>lif2 lif2>output";
      await gives(make, nirFile(nodes, list), {
        input: [1, 0, 0],
        output: [1, 0, 0],
        probes: { "lif1.lif.v": [0, 0.8, 0.4] },
        notes: ["repaired_edge", "cut_edge"],
      });
      await refuses(nirFile(nodes, list), "model_invalid", ['"lif1"', '"lif1.lif"', "strict"], {
        strict: true,
      });
    },
  },
  {
    report: 14,
    source: "norse/norse PR#438",
    what: "Flatten from axis 0, and a Conv2d without bias",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([2, 2, 2], {
            conv: { ...conv, weight: [[ones[0]![0]!, ones[0]![0]!]] },
            flat: { type: "Flatten", start_dim: 0, end_dim: -1 },
            fc: linear([[1], [-1]]),
          }, [2]),
          "input>conv conv>flat flat>fc fc>output",
        ),
        { input: ramp(8), output: [28, -28] },
      ),
  },
  {
    report: 15,
    source: "norse/norse PR#422",
    what: "v_reset that is not 0 is where the membrane goes",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1], { lif: lif(1, { v_reset: [-0.5] }) }, [1]),
          "input>lif lif>output",
        ),
        { input: [2, 0], output: [1, 0], probes: { "lif.v": [-0.5, -0.25] } },
      ),
  },
  {
    report: 16,
    source: "neuromorphs/NIR#56",
    what: "shapes are [C,H,W] everywhere: parameters by place",
    run: (make) => {
      const threshold = { type: "Threshold", threshold: [[[0, 1, 2]], [[3, 4, 5]]] };
      return gives(
        make,
        nirFile(
          between([2, 1, 3], { t: threshold }, [2, 1, 3]),
          "input>t t>output",
        ),
        { input: all(6, 2.5), output: [1, 1, 1, 0, 0, 0] },
      );
    },
  },
  {
    report: 17,
    source: "neuromorphs/NIR#64",
    what: "a Conv1d without input_shape",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 4], {
            conv: { type: "Conv1d", weight: [[[1, 2]]], stride: 1, padding: 0, dilation: 1 },
          }, [1, 3]),
          "input>conv conv>output",
        ),
        { input: [1, 2, 3, 4], output: [5, 8, 11] },
      ),
  },
  {
    report: 18,
    source: "neuromorphs/NIR#66",
    what: "a chain without Input and Output gets both",
    run: (make) =>
      gives(make, nirFile({ fc: linear([[2, 1]]), lif: lif() }, "fc>lif"), {
        input: [0.25, 1],
        output: [1],
        notes: ["added_input", "added_output"],
      }),
  },
  {
    report: 19,
    source: "neuromorphs/NIR#69",
    what: "an Input with a batch axis is refused, saying so",
    run: () =>
      refuses(
        nirFile(
          between(
            [1, 2, 4, 4],
            { conv: { ...conv, weight: [[ones[0]![0]!, ones[0]![0]!]] } },
            [1, 3, 3],
          ),
          "input>conv conv>output",
        ),
        "model_invalid",
        ['"conv"', "[1,2,4,4]", "[2,height,width]", "batch"],
      ),
  },
  {
    report: 20,
    source: "neuromorphs/NIR#96",
    what: "stride, padding and dilation as single integers",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 3, 3], {
            conv: { type: "Conv2d", weight: ones, stride: 2, padding: 1, dilation: 1, groups: 1 },
          }, [1, 2, 2]),
          "input>conv conv>output",
        ),
        { input: ramp(9), output: [0, 3, 9, 24] },
      ),
  },
  {
    report: 21,
    source: "neuromorphs/NIR PR#59",
    what: "a kernel of 2 by 3: each axis has its own size",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 3, 4], {
            conv: { ...conv, weight: [[[[1, 0, 0], [0, 0, 1]]]] },
          }, [1, 2, 2]),
          "input>conv conv>output",
        ),
        { input: ramp(12), output: [6, 8, 14, 16] },
      ),
  },
  {
    report: 22,
    source: "neuromorphs/NIR#70",
    what: "metadata is read for dt and changes nothing else",
    run: async (make) => {
      const metadata = {
        reset: text("subtract"),
        dt: { data: DT, dtype: "<d", shape: [] },
      };
      const nodes = between([1], { lif: lif() }, [1]);
      const file = nirFile(nodes, "input>lif lif>output", { metadata });
      await gives(make, file, { input: [1.5, 0], output: [1, 0], probes: { "lif.v": [0, 0] } });
      const { dtSource, dt } = await planOf(await file, { dt: undefined } as never);
      assert.deepEqual([dtSource, dt], ["metadata", DT]);
    },
  },
  {
    report: 23,
    source: "neuromorphs/NIR#63, PR#129",
    what: "the file cannot say that a reset subtracts; the option does",
    run: (make) =>
      gives(make, nirFile(between([1], { lif: lif() }, [1]), "input>lif lif>output"), {
        input: [1.5, 0],
        output: [1, 0],
        probes: { "lif.v": [0.5, 0.25] },
        options: { reset: "subtract" },
      }),
  },
  {
    report: 24,
    source: "neuromorphs/NIR#142, PR#143",
    what: "files that say 0.1.1 and 0.2.0 and lack the fields added since",
    run: async (make) => {
      const { v_reset: _, ...old } = lif();
      const { w_in: __, ...oldCuba } = cuba;
      for (const version of ["0.1.1", "0.2.0"]) {
        const nodes = between([1], { lif: old, w: linear([[4]]), cuba: oldCuba }, [1]);
        await gives(make, nirFile(nodes, "input>lif lif>w w>cuba cuba>output", { version }), {
          input: [1.5],
          output: [0],
          probes: { "cuba.i": [2], "cuba.v": [2] },
        });
      }
    },
  },
  {
    report: 25,
    source: "neuromorphs/NIR#146",
    what: "a cycle without neuron and a graph without input are refused by name",
    run: async () => {
      const scale = { type: "Scale", scale: [0.5] };
      await refuses(
        nirFile(between([1], { a: scale, b: scale }, [1]), "input>a a>b b>a b>output"),
        "model_invalid",
        ['"a"', '"b"', "Delay"],
      );
      await refuses(nirFile({ a: lif(), b: lif() }, "a>b b>a"), "model_invalid", ["Input"]);
    },
  },
  {
    report: 26,
    source: "neuromorphs/NIR#137, #138",
    what: "a field that no LIF has is refused by name",
    run: () =>
      refuses(
        nirFile(
          between([1], { lif: lif(1, { t_refractory: [0.002] }) }, [1]),
          "input>lif lif>output",
        ),
        "model_unsupported",
        ['"lif"', '"t_refractory"', "v_threshold"],
      ),
  },
  {
    report: 27,
    source: "neuromorphs/NIR#141",
    what: 'the type "Spike" is refused, Threshold is served',
    run: async (make) => {
      const file = (type: string) =>
        nirFile(between([1], { s: { type, threshold: [0.5] } }, [1]), "input>s s>output");
      await refuses(file("Spike"), "model_unsupported", ['"s"', '"Spike"', "Threshold"]);
      await gives(make, file("Threshold"), { input: [0.4, 0.5, 0.6], output: [0, 0, 1] });
    },
  },
];
