/**
 * Fork and compare: what would another input have done? A session sees the first half of a handwritten
 * 7 and is forked; one of the two goes on with the 7, the other sees a 3. Both began with the same
 * state, bit for bit. Prints where their outputs part and what each spikes for in the end. Needs a server
 * of the digits: `npm start`, then `npx bun examples/fork/fork.ts [URL]`.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { Ganglion, type Output } from "../../client/mod.ts";
import { parseNpy } from "../../src/mod.ts";

const PIXELS = 64;
const HALF = 12;

function recording(digit: number): Float32Array {
  const file = new URL(`../digits/recordings/${digit}.npy`, import.meta.url);
  return parseNpy(new Uint8Array(readFileSync(file))).values;
}

/** The digit that has the most spikes. */
function answerOf({ data }: Output): number {
  const spikes = new Array<number>(10).fill(0);
  data.forEach((spike, i) => spikes[i % 10]! += spike);
  return spikes.indexOf(Math.max(...spikes));
}

const client = new Ganglion(process.argv[2] ?? "http://127.0.0.1:8787");
const [seven, three] = [recording(7), recording(3)];

const session = await client.open();
await session.run(seven.subarray(0, HALF * PIXELS));
const fork = await session.fork();
console.log(`forked at step ${fork.view.steps_done}`);

const [as7, as3] = await Promise.all([
  session.run(seven.subarray(HALF * PIXELS)),
  fork.run(three.subarray(HALF * PIXELS)),
]);
const parts = as7.data.findIndex((spike, i) => spike !== as3.data[i]);
console.log(`the outputs part at step ${as7.startStep + Math.floor(parts / 10)}`);
console.log(
  `a 7 that stays a 7 is told as ${answerOf(as7)}, one that turns into a 3 as ${answerOf(as3)}`,
);
await Promise.all([session.close(), fork.close()]);
