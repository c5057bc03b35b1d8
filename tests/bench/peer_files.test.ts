/**
 * The files that the Python peers of `bench/peers.bench.ts` read hold what their scripts ask of them: the
 * model by the node names in `snntorch_loop.py`, its gain of 1, its dt, and the frames by session.
 */
import { expect, test } from "bun:test";
import {
  peerFiles,
  peerFrames,
  peerPlan,
  READING,
  ROUNDS,
  SESSIONS_MAX,
} from "../../bench/peers/export.ts";
import { FRAME } from "../../bench/grid.ts";
import { compilePlan, parseNpy, readNirBytes } from "../../src/mod.ts";
import { tensorOf } from "../../src/model/nir_schema.ts";

const frames = peerFrames();
const files = await peerFiles(frames);

test("the model file is the model that we serve", async () => {
  const graph = await readNirBytes(files["model.nir"]!);
  expect(compilePlan(graph, READING).digest).toBe(peerPlan().digest);
  expect(tensorOf({ type: "", fields: graph.metadata }, "dt").data[0]).toBe(READING.dt!);
  const types = ["Linear", "LIF", "Linear", "LIF", "Linear", "LI"];
  for (const [k, name] of ["fc1", "n1", "fc2", "n2", "fc3", "n3"].entries()) {
    const node = graph.nodes.get(name)!;
    expect(node.type).toBe(types[k]!);
    if (node.type === "Linear") continue;
    const [tau, r] = [tensorOf(node, "tau"), tensorOf(node, "r")];
    expect(new Set(tau.data).size).toBe(1);
    expect((r.data[0]! * READING.dt!) / tau.data[0]!).toBeCloseTo(1, 12);
  }
});

test("the frames are spikes of as many sessions and rounds as are played", () => {
  const { dtype, shape, values } = parseNpy(files["frames.npy"]!);
  expect(dtype).toBe("<f4");
  expect(shape).toEqual([ROUNDS, SESSIONS_MAX, FRAME, peerPlan().sampleSize]);
  expect(Buffer.compare(Buffer.from(values.buffer), Buffer.from(frames.buffer))).toBe(0);
  const on = values.reduce((sum, value) => sum + value, 0);
  expect(on / values.length).toBeCloseTo(0.05, 2);
});
