/** The load against a real server whose steps have a known length. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { runLoad } from "../../src/load/mod.ts";
import { startSleepingServer } from "../support/sleeping_server.ts";
import type { ServerProcess } from "../support/server_process.ts";

const STEP_MS = 40;
let server: ServerProcess;
beforeAll(async () => {
  server = await startSleepingServer("deno", { stepMs: STEP_MS, slots: 8 });
});
afterAll(() => server.kill());

const sessionsOpen = async (): Promise<number> => {
  const response = await fetch(`${server.url}/v1/sessions`);
  return ((await response.json()) as { sessions: unknown[] }).sessions.length;
};

test("latency is what the server says, and a step's length at least", async () => {
  const result = await runLoad({ url: server.url, sessions: 4, periodMs: 250, seconds: 3 });
  const { latencyMs, server: theirs } = result;
  expect(result.offeredPerSecond).toBeCloseTo(16, 5);
  expect(latencyMs.count).toBe(result.windows.filter(({ counted }) => counted).length * 16);
  expect(latencyMs.p50).toBeGreaterThanOrEqual(STEP_MS - 1);
  // From taking a chunk to its event is a part of the time from its due time to the event.
  expect(theirs!.chunkMs.mean).toBeLessThan(latencyMs.mean);
  expect(theirs!.chunkMs.mean).toBeGreaterThan(STEP_MS - 1);
  expect(Math.abs(theirs!.chunks - latencyMs.count)).toBeLessThanOrEqual(4);
  expect(theirs!.stepMs).toBeGreaterThan(STEP_MS - 1);
  expect(await sessionsOpen()).toBe(0);
}, 30_000);

test("what does not fit is refused, and no session stays open", async () => {
  for (const sessions of [9, 32, 100]) {
    const asked = runLoad({ url: server.url, sessions }).catch((error: Error) => error.message);
    expect(await asked).toContain(
      `${sessions} sessions do not fit: "digits" has 8 slots, 8 were free`,
    );
    expect(await sessionsOpen()).toBe(0);
  }
});
