/** Serves the whole digits test set to concurrent clients of a real server and compares every byte. */
import { assertSameBits } from "../contract/cases.ts";
import {
  classOf,
  labels,
  PIXELS,
  predictions,
  recordings,
  scoreOf,
  scores,
  STEPS,
} from "../support/digits.ts";
import { Random } from "../support/plans.ts";
import { closeSession, openSession, postChunk, readOutputs } from "../support/stream_client.ts";

const CLIENTS = 8;

/** Where servers run: runtime and --device. */
export const PLACES = {
  "deno, webgpu": ["deno", "webgpu"],
  "bun, webgpu": ["bun", "webgpu"],
  "deno, cpu": ["deno", "cpu"],
} as const;

export interface DigitsResult {
  readonly correct: number;
  readonly samePredictions: number;
  readonly sameScores: number;
}

/**
 * 8 concurrent clients share the recordings; each is a session of its own, sent in chunks of random
 * lengths. Every other one waits for its answers, the others read the event stream.
 */
export async function serveDigits(
  url: string,
  wanted: readonly Float32Array[],
  seed: number,
): Promise<DigitsResult> {
  const inputs = recordings();
  const outputs = new Array<Float32Array>(inputs.length);
  let next = 0;
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    const random = new Random(seed * 100 + client);
    for (let n = next++; n < inputs.length; n = next++) {
      const id = await openSession(url);
      outputs[n] = n % 2 === 0
        ? await waiting(url, id, inputs[n]!, random)
        : await streaming(url, id, inputs[n]!, random);
      await closeSession(url, id);
    }
  }));
  const [truth, theirs, theirScores] = [labels(), predictions(), scores()];
  let [correct, samePredictions, sameScores] = [0, 0, 0];
  outputs.forEach((output, n) => {
    assertSameBits(output, wanted[n]!, `recording ${n}`);
    const score = scoreOf(output);
    if (classOf(score) === truth[n]) correct++;
    if (classOf(score) === theirs[n]) samePredictions++;
    if (score.every((x, c) => x === theirScores[n * score.length + c])) sameScores++;
  });
  return { correct, samePredictions, sameScores };
}

/** Cuts a recording into chunks of random lengths, some longer than a frame. */
function* chunks(input: Float32Array, random: Random): Generator<Float32Array> {
  for (let t = 0; t < STEPS;) {
    const steps = Math.min(STEPS - t, random.int(1, 13));
    yield input.subarray(t * PIXELS, (t + steps) * PIXELS);
    t += steps;
  }
}

async function waiting(
  url: string,
  id: string,
  input: Float32Array,
  random: Random,
): Promise<Float32Array> {
  const parts: Float32Array[] = [];
  for (const chunk of chunks(input, random)) {
    const response = await postChunk(url, id, chunk, "?wait=true");
    if (response.status !== 200) throw new Error(await response.text());
    parts.push(new Float32Array(await response.arrayBuffer()));
  }
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

async function streaming(
  url: string,
  id: string,
  input: Float32Array,
  random: Random,
): Promise<Float32Array> {
  const reading = readOutputs(url, id, STEPS);
  for (const chunk of chunks(input, random)) {
    const response = await postChunk(url, id, chunk);
    if (response.status !== 202) throw new Error(await response.text());
    await response.body?.cancel();
  }
  return await reading;
}
