/** Reports 47 to 70 about state, reset and streaming, those of them that a file can show. */
import assert from "node:assert/strict";
import { applyVariables, compilePlan, readNirBytes } from "../../../src/model/mod.ts";
import { assertSameBits, type Make } from "../../contract/cases.ts";
import { assertClose } from "../run.ts";
import { all, between, DT, gives, lif, linear, nirFile, type PeerCase, planOf } from "./support.ts";

const recurrent = (): Promise<Uint8Array> =>
  nirFile(
    between([1], { lif: lif(1, { v_threshold: [0.9] }), w_rec: linear([[0.8]]) }, [1]),
    "input>lif lif>w_rec w_rec>lif lif>output",
  );
/** Recurrence, a delay line and a current: every form of state that NIR has. */
const everyState = (): Promise<Uint8Array> =>
  nirFile(
    between([2], {
      delay: { type: "Delay", delay: [2 * DT, 5 * DT] },
      cell: {
        type: "CubaLIF",
        tau_syn: all(2, 3 * DT),
        tau_mem: all(2, 4 * DT),
        r: all(2, 4),
        v_leak: all(2, 0.01),
        v_threshold: all(2, 0.7),
        w_in: all(2, 2),
      },
      back: linear([[0.5, -0.25], [0.25, 0.5]]),
    }, [2]),
    "input>delay input>cell delay>cell cell>back back>cell cell>output",
  );
const STEPS = 24;
const stream = Float32Array.from({ length: 2 * STEPS }, (_, i) => (i * 7 % 11) / 6 - 0.3);

interface Played {
  readonly output: Float32Array;
  readonly state: Readonly<Record<string, Float32Array>>;
}

/** The stream in frames of `frame`, in the given slot of `slots`. */
async function play(make: Make, slots: number, slot: number, frame: number): Promise<Played> {
  const plan = await planOf(await everyState());
  const { executor } = await make(plan, { slots, frame });
  try {
    const outputs: number[] = [];
    for (let t = 0; t < STEPS; t += frame) {
      const steps = Math.min(frame, STEPS - t);
      const input = stream.slice(2 * t, 2 * (t + steps));
      const [result] = await executor.step([{ slot, steps, fresh: t === 0, input }]);
      outputs.push(...result!.output);
    }
    const { tensors } = (await executor.readStates([slot]))[0]!;
    return { output: Float32Array.from(outputs), state: tensors };
  } finally {
    await executor.close();
  }
}

async function samePlay(make: Make, plays: readonly (readonly [number, number, number])[]) {
  const wanted = await play(make, 1, 0, STEPS);
  assert.ok(wanted.output.some((spike) => spike === 1), "something fires");
  for (const [slots, slot, frame] of plays) {
    const given = await play(make, slots, slot, frame);
    assertSameBits(given.output, wanted.output, `slot ${slot} of ${slots}, frame ${frame}`);
    for (const [name, tensor] of Object.entries(wanted.state)) {
      assertSameBits(given.state[name]!, tensor, name);
    }
  }
}

export const STATE_CASES: readonly PeerCase[] = [
  {
    report: 47,
    source: "NIRTorch#9",
    what: "a graph run frame by frame equals one pass, however it is cut",
    run: (make) => samePlay(make, [[1, 0, 1], [1, 0, 5], [1, 0, 7]]),
  },
  {
    report: 48,
    source: "lava-dl#168, PR#169",
    what: "frames of one step with delays",
    run: (make) => samePlay(make, [[2, 1, 1]]),
  },
  {
    report: 49,
    source: "lava-dl#159",
    what: "delays are kept when a file is loaded",
    run: (make) => {
      const nodes = between([1], { d: { type: "Delay", delay: [3 * DT] } }, [1]);
      return gives(make, nirFile(nodes, "input>d d>output"), {
        input: [1, 2, 3, 4, 5],
        output: [0, 0, 0, 1, 2],
      });
    },
  },
  {
    report: 53,
    source: "spikingjelly#594",
    what: "opening starts from rest, in a used slot too",
    run: async (make) => {
      const plan = await planOf(await everyState());
      const { executor } = await make(plan, { slots: 1, frame: STEPS });
      try {
        const row = { slot: 0, steps: STEPS, fresh: true, input: stream };
        const [[first], [second]] = [await executor.step([row]), await executor.step([row])];
        assertSameBits(second!.output, first!.output, "the next session");
      } finally {
        await executor.close();
      }
    },
  },
  {
    report: 54,
    source: "spikingjelly#611",
    what: "1, 2, 3 and 64 slots give the same",
    run: (make) => samePlay(make, [[1, 0, 9], [2, 1, 9], [3, 2, 9], [64, 63, 9]]),
  },
  {
    report: 55,
    source: "spikingjelly#586, #219, #236",
    what: "one step at a time equals many at once",
    run: (make) => samePlay(make, [[1, 0, 1], [1, 0, STEPS - 1]]),
  },
  {
    report: 57,
    source: "spikingjelly PR#747",
    what: "potentials can be recorded in every step",
    run: (make) =>
      gives(make, nirFile(between([1], { lif: lif() }, [1]), "input>lif lif>output"), {
        input: [0.5, 0, 0, 0, 0, 0, 0, 0.5],
        output: all(8, 0),
        probes: {
          "lif.v": [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.50390625],
        },
      }),
  },
  {
    report: 59,
    source: "sinabs#26",
    what: "the recorded membrane is that after the reset",
    run: (make) =>
      gives(
        make,
        nirFile(between([1], { lif: lif(1, { v_reset: [0.25] }) }, [1]), "input>lif lif>output"),
        { input: [3], output: [1], probes: { "lif.v": [0.25] } },
      ),
  },
  {
    report: 60,
    source: "jeshraghian/snntorch#341",
    what: "a subtracting reset takes the whole threshold, once",
    run: (make) =>
      gives(make, nirFile(between([1], { lif: lif() }, [1]), "input>lif lif>output"), {
        input: [2.5, 0, 0],
        output: [1, 0, 0],
        probes: { "lif.v": [1.5, 0.75, 0.375] },
        options: { reset: "subtract" },
      }),
  },
  {
    report: 61,
    source: "jeshraghian/snntorch#364, PR#426, #379",
    what: "reset in the same step under every rule",
    run: async (make) => {
      const file = nirFile(
        between([1], { lif: lif(1, { v_reset: [0.5] }) }, [1]),
        "input>lif lif>output",
      );
      const rules = { v_reset: 0.5, zero: 0, subtract: 0.25, none: 1.25 } as const;
      for (const [reset, v] of Object.entries(rules)) {
        await gives(make, file, {
          input: [1.25],
          output: [1],
          probes: { "lif.v": [v] },
          options: { reset: reset as keyof typeof rules },
        });
      }
    },
  },
  {
    report: 62,
    source: "jeshraghian/snntorch#159, PR#108",
    what: "feedback is 0 in the first step and a step late in the others",
    run: async (make) => {
      await gives(make, recurrent(), {
        input: [1, 0.2, 0],
        output: [1, 1, 0],
        probes: { "lif.v": [0, 0, 0.8] },
      });
      const biased = nirFile(
        between([1], {
          lif: lif(),
          w_rec: { type: "Affine", weight: [[0]], bias: [0.5] },
        }, [1]),
        "input>lif lif>w_rec w_rec>lif lif>output",
      );
      // The bias of the feedback acts in the first step too.
      await gives(make, biased, { input: [0], output: [0], probes: { "lif.v": [0.5] } });
    },
  },
  {
    report: 63,
    source: "jeshraghian/snntorch#234",
    what: "the membrane of a CubaLIF sees the new current; the old one as an option",
    run: async (make) => {
      const cell = {
        type: "CubaLI",
        tau_syn: [2 * DT],
        tau_mem: [2 * DT],
        r: [2],
        v_leak: [0],
        w_in: [2],
      };
      const file = nirFile(between([1], { cell }, [1]), "input>cell cell>output");
      await gives(make, file, { input: [1, 0], output: [1, 1] });
      await gives(make, file, {
        input: [1, 0, 0],
        output: [0, 1, 1],
        options: { cubaOrder: "old" },
      });
    },
  },
  {
    report: 64,
    source: "jeshraghian/snntorch#314",
    what: "state is never part of the weights: it is left out of variables",
    run: async () => {
      const graph = await readNirBytes(await recurrent());
      const stateful = applyVariables(graph, { state: { "lif.v": [3] } });
      assert.equal(
        compilePlan(stateful, { dt: DT }).digest,
        compilePlan(graph, { dt: DT }).digest,
      );
    },
  },
  {
    report: 66,
    source: "jeshraghian/snntorch#60",
    what: "a Delay of its own for every neuron",
    run: (make) => {
      const nodes = between([3], { d: { type: "Delay", delay: [0, DT, 2 * DT] } }, [3]);
      return gives(make, nirFile(nodes, "input>d d>output"), {
        input: [1, 2, 3, 4, 5, 6, 7, 8, 9],
        output: [1, 0, 0, 4, 2, 0, 7, 5, 3],
      });
    },
  },
  {
    report: 67,
    source: "norse/norse#200",
    what: "state goes out and in again, and the stream goes on as if nothing happened",
    run: (make) => moved(make),
  },
  {
    report: 68,
    source: "spyx PR#48",
    what: "one step at a time with the loop outside",
    run: (make) => samePlay(make, [[1, 0, 1]]),
  },
  {
    report: 69,
    source: "Spike-Element-Wise-ResNet#23",
    what: "a residual block that adds spikes, one step at a time",
    run: async (make) => {
      const file = nirFile(
        between([2], { a: lif(2), w: linear([[1.5, 0], [0, 0.5]]), b: lif(2) }, [2]),
        "input>a a>w w>b b>output a>output",
      );
      const plan = await planOf(await file);
      assert.equal(plan.nodes[plan.output]!.kind, "count");
      const { executor } = await make(plan, { slots: 1, frame: 1 });
      try {
        const outputs: number[] = [];
        for (const [t, input] of [[1.5, 1.5], [0, 0], [1.5, 1.5]].entries()) {
          const row = { slot: 0, steps: 1, fresh: t === 0, input: Float32Array.from(input) };
          outputs.push(...(await executor.step([row]))[0]!.output);
        }
        assertClose(outputs, [2, 1, 0, 0, 2, 1], "output");
      } finally {
        await executor.close();
      }
    },
  },
  {
    report: 70,
    source: "slayerPytorch#92, EVSNN#6, ncps#74",
    what: "a session's state is saved and put back in another slot",
    run: (make) => moved(make),
  },
];

/** Half the stream in one executor, its state into another slot of a new one, the rest there. */
async function moved(make: Make): Promise<void> {
  const wanted = await play(make, 1, 0, STEPS);
  const plan = await planOf(await everyState());
  const half = STEPS / 2;
  const [a, b] = [
    await make(plan, { slots: 1, frame: half }),
    await make(plan, { slots: 3, frame: half }),
  ];
  try {
    const row = { slot: 0, steps: half, fresh: true, input: stream.slice(0, 2 * half) };
    const [first] = await a.executor.step([row]);
    await b.executor.writeState(2, (await a.executor.readStates([0]))[0]!);
    const rest = { slot: 2, steps: half, fresh: false, input: stream.slice(2 * half) };
    const [second] = await b.executor.step([rest]);
    const output = Float32Array.from([...first!.output, ...second!.output]);
    assertSameBits(output, wanted.output, "moved");
  } finally {
    await a.executor.close();
    await b.executor.close();
  }
}
