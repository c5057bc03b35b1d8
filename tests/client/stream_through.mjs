/**
 * What each host of the client does in tests/client/hosts.test.ts: it streams until it is told to stop,
 * reads every output, and says what it got. Plain JavaScript, so that Node 20 and browsers run it as it
 * is; it also makes the inputs of the reference.
 */

export const CHUNK_STEPS = 10;
const SAMPLE = 64;
const PAUSE_MS = 15;

/**
 * Chunk `index` of a stream: spikes.
 * @param {number} seed
 * @param {number} index
 */
export function chunkAt(seed, index) {
  let state = (seed * 7919 + index * 104729) >>> 0;
  return Float32Array.from({ length: CHUNK_STEPS * SAMPLE }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state < 2 ** 32 * 0.2 ? 1 : 0;
  });
}

/**
 * @param {import("../../client/mod.ts")} sdk
 * @param {{ url: string, control: string, seed: number }} settings `control` answers `go` or `stop`
 */
export async function streamThrough({ Ganglion }, { url, control, seed }) {
  const notices = { reconnecting: 0, rolled_back: 0, reopened: 0, notice: 0 };
  const client = new Ganglion(url, { timeoutMs: 1500, idleMs: 1500, backoffMsMax: 500 });
  const session = await client.open({ ttl_s: 60 }, {
    encoding: "bits",
    onNotice: ({ kind }) => notices[kind]++,
  });
  const leave = new AbortController();
  /** @type {number[]} */
  const values = [];
  let [steps, sent] = [0, Infinity];
  const reading = (async () => {
    for await (const output of session.outputs({ signal: leave.signal })) {
      if (output.startStep !== steps) throw new Error(`step ${output.startStep} after ${steps}`);
      if (steps === 0) console.log("streaming");
      steps += output.steps;
      values.push(...output.data);
      if (steps >= sent) break;
    }
  })();
  let index = 0;
  for (; index % 10 !== 0 || await (await fetch(control)).text() === "go"; index++) {
    await session.send(chunkAt(seed, index));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  sent = index * CHUNK_STEPS;
  // One more chunk, so that a reader which had all already sees the end.
  await session.send(chunkAt(seed, index));
  await reading;
  await session.close();
  return { steps, notices, spikes: values.join("") };
}
