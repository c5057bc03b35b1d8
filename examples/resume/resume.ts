/**
 * Resume after a cut. The client of client/mod.ts over a network that is made bad here: every stream of
 * outputs is cut after 3000 bytes, and every third answer to a chunk is lost on its way. Each chunk is
 * counted once all the same, and each step comes once and in order, with the bytes of a session that was
 * left in peace. Needs a server of the digits: `npm start`, then
 * `npx bun examples/resume/resume.ts [URL]`.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { Ganglion } from "../../client/mod.ts";
import { parseNpy } from "../../src/mod.ts";

const url = process.argv[2] ?? "http://127.0.0.1:8787";
const CUT_BYTES = 3000;
const STEPS = 250;
const done = { cuts: 0, lost: 0, posts: 0 };

/** `fetch`, as it would be on a bad day. */
async function badFetch(address: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(address, init);
  if (address.includes("/outputs")) return cutAfter(answer, CUT_BYTES);
  if (!address.includes("/chunks") || ++done.posts % 3 !== 0) return answer;
  await answer.body?.cancel();
  done.lost++;
  throw new TypeError("the connection was lost (made up here)");
}

function cutAfter(answer: Response, bytesMax: number): Response {
  let left = bytesMax;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      controller.enqueue(bytes.subarray(0, left));
      left -= bytes.length;
      if (left > 0) return;
      done.cuts++;
      controller.terminate();
    },
  });
  return new Response(answer.body!.pipeThrough(cut), answer);
}

const recordings = Array.from({ length: 10 }, (_, digit) => {
  const file = new URL(`../digits/recordings/${digit}.npy`, import.meta.url);
  return parseNpy(new Uint8Array(readFileSync(file))).values;
});

/** Sends the ten recordings and reads what they give. */
async function stream(client: Ganglion): Promise<number[]> {
  const session = await client.open();
  const values: number[] = [];
  const sending = (async () => {
    for (const recording of recordings) await session.send(recording);
  })();
  let next = 0;
  for await (const { startStep, steps, data } of session.outputs()) {
    if (startStep !== next) throw new Error(`step ${startStep} came after step ${next - 1}`);
    values.push(...data);
    next += steps;
    if (next === STEPS) break;
  }
  await sending;
  await session.close();
  return values;
}

const [bad, good] = [
  await stream(new Ganglion(url, { fetch: badFetch })),
  await stream(new Ganglion(url)),
];
console.log(
  `${done.cuts} cuts, ${done.lost} answers lost; ${bad.length / 10} steps came, once each`,
);
console.log(bad.join() === good.join() ? "the same bytes as without" : "DIFFERENT");
