/** When the server's histogram and ours tell the same story, and what is said when they do not. */
import { expect, test } from "bun:test";
import { agreementOf } from "../../src/load/agreement.ts";
import { changeBetween, type Histogram, type ServerState } from "../../src/load/server_state.ts";
import { curveOf, summarise } from "../../src/load/summary.ts";
import { Random } from "../support/plans.ts";

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, Infinity];

function stateOf(ms: readonly number[]): ServerState {
  const none: Histogram = { bounds: [], counts: [], sum: 0 };
  const counts = BOUNDS.map((bound) => ms.filter((each) => each / 1000 <= bound).length);
  const sum = ms.reduce((total, each) => total + each / 1000, 0);
  const chunkSeconds = { bounds: BOUNDS, counts, sum };
  return { chunkSeconds, stepSeconds: none, stepFill: none, frames: 0, framesLate: 0, refusals: 0 };
}

function judge(ours: readonly number[], theirs: readonly number[], unanswered = 0) {
  const server = changeBetween(stateOf([]), stateOf(theirs));
  const latencyMs = summarise(ours);
  const lagMs = summarise([0]);
  return agreementOf({
    ending: "stable",
    holds: true,
    latencyMs,
    curve: curveOf(ours),
    offeredPerSecond: 0,
    finishedPerSecond: 0,
    unanswered,
    frames: 0,
    framesLate: 0,
    client: { lagMs, cores: 0, late: false },
    server,
  }, 4);
}

const random = new Random(9);
const served = Array.from({ length: 2000 }, () => 5 + random.int(0, 4000) / 100);

test("the server's own times and a little on top agree, whatever the little is", () => {
  for (const by of [0, 0.5, 3, 12]) {
    const found = judge(served.map((ms) => ms + by), served)!;
    expect(found).toMatchObject({ agrees: true, reason: null });
    expect(found.outsideMs).toBeCloseTo(by, 6);
  }
});

test("a server that tells less than we wait, for some chunks only, does not", () => {
  const stalled = served.map((ms, i) => i % 4 === 0 ? ms + 150 : ms);
  expect(judge(stalled, served)!.reason).toMatch(/% of the server's chunks took at most \d+ ms/);
});

test("the chunks at the edges may move long means by a hundredth", () => {
  const long = served.map((ms) => 10 * ms);
  expect(judge(long, long.map((ms) => ms + 2))!.agrees).toBe(true);
  expect(judge(long, long.map((ms) => ms + 5))!.reason).toMatch(/mean is 5\.0 ms above ours/);
});

test("a server that says more than we saw, or counts others' chunks, does not", () => {
  expect(judge(served, served.map((ms) => ms + 5))!.reason).toMatch(/mean is 5\.0 ms above ours/);
  expect(judge(served, [...served, ...served])!.reason).toMatch(/4000 chunks, we 2000; others use/);
});

test("of nothing nothing is said", () => {
  expect(judge([], served)).toBeNull();
  expect(judge(served, [])).toBeNull();
});
