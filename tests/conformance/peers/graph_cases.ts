/** Reports 28 to 46 about reading NIR: graphs, names, pools, gains. */
import assert from "node:assert/strict";
import { readNirBytes, writeNirBytes } from "../../../src/model/mod.ts";
import {
  all,
  between,
  DT,
  type Fields,
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
const recurrent = { lif: lif(1, { v_threshold: [0.9] }), w_rec: linear([[0.8]]) };
const RECURRENT_EDGES = "input>lif lif>w_rec w_rec>lif lif>output";
const sumPool = (kernel: Fields[string], padding: number): Fields => ({
  type: "SumPool2d",
  kernel_size: kernel,
  stride: wholes(2, 2),
  padding: wholes(padding, padding),
});

export const GRAPH_CASES: readonly PeerCase[] = [
  {
    report: 28,
    source: "neuromorphs/NIR#120",
    what: "an empty graph is refused; one of two ports and no edge too",
    run: async () => {
      await refuses(nirFile({}, ""), "model_invalid", ["no node", "needs"]);
      await refuses(nirFile(between([1], {}, [1]), ""), "model_invalid", [
        '"input"',
        '"output"',
        "join",
      ]);
    },
  },
  {
    report: 29,
    source: "neuromorphs/NIR#135",
    what: "tensors with an axis too many are refused with both shapes",
    run: () =>
      refuses(
        nirFile(
          between([2], {
            fc: linear([[1, 0], [0, 1]]),
            scale: { type: "Scale", scale: [[1, 2]] },
          }, [2]),
          "input>fc fc>scale scale>output",
        ),
        "model_invalid",
        ['"scale"', "[1,2]", "[2]", "Flatten"],
      ),
  },
  {
    report: 30,
    source: "neuromorphs/NIR PR#54",
    what: "a SumPool2d whose stride is not its kernel",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 3, 5], {
            pool: {
              type: "SumPool2d",
              kernel_size: wholes(2, 3),
              stride: wholes(1, 2),
              padding: wholes(0, 0),
            },
          }, [1, 2, 2]),
          "input>pool pool>output",
        ),
        { input: ramp(15), output: [21, 33, 51, 63] },
      ),
  },
  {
    report: 31,
    source: "neuromorphs/NIR PR#18",
    what: "Flatten from axis 0, from axis 1, and to an axis counted from the end",
    run: async (make) => {
      const shapes: [number, number, number[]][] = [
        [0, 1, [6, 4]],
        [1, 2, [2, 12]],
        [0, -2, [6, 4]],
        [-2, -1, [2, 12]],
      ];
      for (const [start_dim, end_dim, shape] of shapes) {
        const flat = { type: "Flatten", start_dim, end_dim, input_type: wholes(2, 3, 4) };
        const file = nirFile(between([2, 3, 4], { flat }, shape), "input>flat flat>output");
        assert.deepEqual((await planOf(await file)).outputShape, shape);
        await gives(make, file, { input: ramp(24), output: ramp(24) });
      }
    },
  },
  {
    report: 32,
    source: "neuromorphs/NIR PR#177",
    what: "compressed arrays",
    run: (make) => {
      const weight = { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2], gzip: true };
      const nodes = between([2], { fc: { type: "Linear", weight } }, [2]);
      return gives(make, nirFile(nodes, "input>fc fc>output"), { input: [1, 1], output: [3, 7] });
    },
  },
  {
    report: 33,
    source: "neuromorphs/NIR PR#164",
    what: "a dt that is not the usual one",
    run: (make) =>
      gives(make, nirFile(between([1], { lif: lif() }, [1]), "input>lif lif>output"), {
        input: [0.5, 0.5, 0.5],
        output: [0, 0, 0],
        probes: { "lif.v": [0.25, 0.4375, 0.578125] },
        options: { dt: DT / 2 },
      }),
  },
  {
    report: 34,
    source: "NIRTorch#3, PR#26, PR#51",
    what: "two levels of nesting, ports and all",
    run: (make) => {
      const inner = { nodes: between([1], recurrent, [1]), edges: RECURRENT_EDGES };
      const outer = {
        nodes: between([1], { fc: linear([[1]]), cell: inner as never }, [1]),
        edges: "input>fc fc>cell.input cell>output",
      };
      const nodes = between([1], { block: outer as never }, [1]);
      return gives(make, nirFile(nodes, "input>block block>output"), {
        input: [1, 0, 0],
        output: [1, 0, 0],
        probes: { "block.cell.lif.v": [0, 0.8, 0.4] },
      });
    },
  },
  {
    report: 35,
    source: "NIRTorch#16",
    what: "import and export again keep the set of edges",
    run: async () => {
      const graph = await readNirBytes(
        await nirFile(between([1], recurrent, [1]), RECURRENT_EDGES),
      );
      const again = await readNirBytes(await writeNirBytes(graph));
      for (const { edges } of [graph, again]) {
        const list = edges.map((edge) => edge.join(">"));
        assert.deepEqual(list.toSorted(), RECURRENT_EDGES.split(" ").toSorted());
      }
    },
  },
  {
    report: 36,
    source: "NIRTorch#30",
    what: "two Inputs are refused by name",
    run: () => {
      const second = { type: "Input", shape: wholes(1) };
      return refuses(
        nirFile(
          between([1], { second, lif: lif() }, [1]),
          "input>lif second>lif lif>output",
        ),
        "model_unsupported",
        ['"input"', '"second"', "one is served"],
      );
    },
  },
  {
    report: 37,
    source: "NIRTorch#35",
    what: "names that are numbers, hold dots, or differ only by dot and underscore",
    run: (make) => {
      const nodes = between([1], {
        "10": linear([[2]]),
        "2": linear([[3]]),
        "a.b": linear([[5]]),
        a_b: linear([[7]]),
      }, [1]);
      return gives(make, nirFile(nodes, "input>10 10>2 2>a.b a.b>a_b a_b>output"), {
        input: [1],
        output: [210],
      });
    },
  },
  {
    report: 38,
    source: "NIRTorch#44",
    what: "the padding of a SumPool2d counts",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1, 2, 2], { pool: sumPool(wholes(2, 2), 1) }, [1, 2, 2]),
          "input>pool pool>output",
        ),
        { input: [1, 2, 3, 4], output: [1, 2, 3, 4] },
      ),
  },
  {
    report: 39,
    source: "NIRTorch PR#43",
    what: "kernel_size as one number and as a pair",
    run: async (make) => {
      for (const kernel of [2, wholes(2), wholes(2, 2)]) {
        const nodes = between([1, 2, 4], { pool: sumPool(kernel, 0) }, [1, 1, 2]);
        const file = nirFile(nodes, "input>pool pool>output");
        await gives(make, file, { input: ramp(8), output: [10, 18] });
      }
    },
  },
  {
    report: 40,
    source: "NIRTorch PR#13",
    what: "two recurrent layers in a chain both keep their state over frames",
    run: (make) => {
      const cell = { nodes: between([1], recurrent, [1]), edges: RECURRENT_EDGES };
      const nodes = between([1], { a: cell as never, b: cell as never }, [1]);
      // Nine steps are two frames; the membranes halve and hear themselves one step later.
      return gives(make, nirFile(nodes, "input>a a>b b>output"), {
        input: [1, 0, 0, 0, 0, 0, 0, 0, 0.9],
        output: [1, 0, 0, 0, 0, 0, 0, 0, 1],
        probes: {
          "a.lif.v": [0, 0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0],
          "b.lif.v": [0, 0.8, 0.4, 0.2, 0.1, 0.05, 0.025, 0.0125, 0],
        },
      });
    },
  },
  {
    report: 41,
    source: "NIRTorch PR#36",
    what: "an Output that declares [1,1,1] behind a LIF of [1]: served so, refused in strict",
    run: async (make) => {
      const file = nirFile(between([1], { lif: lif() }, [1, 1, 1]), "input>lif lif>output");
      assert.deepEqual((await planOf(await file)).outputShape, [1, 1, 1]);
      await gives(make, file, { input: [2], output: [1], notes: ["reshaped_output"] });
      await refuses(file, "model_invalid", ['"output"', "[1,1,1]", "[1]", "strict"], {
        strict: true,
      });
    },
  },
  {
    report: 42,
    source: "spyx PR#16",
    what: "the order of the edges in the file means nothing",
    run: async (make) => {
      const list = "input>a a>b b>c c>output";
      const nodes = between([1], { a: linear([[2]]), b: lif(), c: linear([[5]]) }, [1]);
      const digests = new Set<string>();
      for (const order of [list, list.split(" ").reverse().join(" ")]) {
        const file = nirFile(nodes, order);
        digests.add((await planOf(await file)).digest);
        await gives(make, file, { input: [1], output: [5] });
      }
      assert.equal(digests.size, 1);
    },
  },
  {
    report: 43,
    source: "spyx PR#40",
    what: "with r = 1 an input is scaled by dt/tau",
    run: (make) =>
      gives(
        make,
        nirFile(
          between([1], { lif: lif(1, { tau: [10 * DT], r: [1] }) }, [1]),
          "input>lif lif>output",
        ),
        { input: [1, 1], output: [0, 0], probes: { "lif.v": [0.1, 0.19] } },
      ),
  },
  {
    report: 44,
    source: "sinabs#102",
    what: "the form of the Sinabs CNN: Conv2d, IF, SumPool2d, Flatten, Affine",
    run: (make) => {
      const fire = (...shape: number[]): Fields => {
        const size = shape.reduce((a, b) => a * b, 1);
        const field = (value: number) => ({ data: new Float32Array(size).fill(value), shape });
        return { type: "IF", r: field(1), v_threshold: field(1), v_reset: field(0) };
      };
      const nodes = between([1, 4, 4], {
        "0": {
          type: "Conv2d",
          input_shape: wholes(4, 4),
          weight: [[[[0.6]]], [[[2]]]],
          stride: wholes(1, 1),
          padding: wholes(0, 0),
          dilation: wholes(1, 1),
          groups: 1,
          bias: [0, 0],
        },
        "1": fire(2, 4, 4),
        "2": sumPool(wholes(2, 2), 0),
        "3": { type: "Flatten", start_dim: 0, end_dim: -1, input_type: wholes(2, 2, 2) },
        "4": { type: "Affine", weight: [all(8, 0.25)], bias: [0] },
        "5": fire(1),
      }, [1]);
      // Step 1: only the second map fires, 16 times: 4. Step 2: both, 8.
      return gives(make, nirFile(nodes, "input>0 0>1 1>2 2>3 3>4 4>5 5>output"), {
        input: all(32, 1),
        output: [1, 1],
        probes: { "2.y": [...all(4, 0), ...all(4, 4), ...all(8, 4)], "4.y": [4, 8] },
        notes: ["if_gain"],
      });
    },
  },
  {
    report: 46,
    source: "spikingjelly PR#728",
    what: "a grouped convolution, and the subtracting reset as an option",
    run: async (make) => {
      const nodes = between([2, 1, 2], {
        conv: { type: "Conv2d", weight: [[[[1]]], [[[10]]]], groups: 2, stride: 1, padding: 0 },
        if: {
          type: "IF",
          r: [[[1, 1]], [[1, 1]]],
          v_threshold: [[[1, 1]], [[1, 1]]],
          v_reset: [[[0, 0]], [[0, 0]]],
        },
      }, [2, 1, 2]);
      await gives(make, nirFile(nodes, "input>conv conv>if if>output"), {
        input: [0.5, 1.5, 0.1, 0.5],
        output: [0, 1, 0, 1],
        probes: { "conv.y": [0.5, 1.5, 1, 5], "if.v": [0.5, 0.5, 1, 4] },
        options: { reset: "subtract" },
      });
    },
  },
];
