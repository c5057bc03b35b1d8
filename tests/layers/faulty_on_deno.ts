/** Puts a layer whose shader does not compile on Deno's WebGPU; prints the error. */
import process from "node:process";
import { defineLayer } from "../../src/layers/mod.ts";
import { nn, sequential } from "../../src/model/nn/mod.ts";
import { makeGpu } from "../support/gpu.ts";

const layer = defineLayer({ ...JSON.parse(process.argv[2]!), step: (x: number) => x });
try {
  await makeGpu("awaited")(sequential([nn.Neuron(layer)], { input: [2] }), { slots: 1, frame: 1 });
} catch (error) {
  console.log((error as Error).message);
}
process.exit(0);
