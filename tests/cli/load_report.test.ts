/** What `load` says of a measurement that is to be trusted, and of one that is not. */
import { describe, expect, test } from "bun:test";
import { loadPage } from "../../src/cli/load_page.ts";
import {
  capacityText,
  loadText,
  secondsText,
  trialHead,
  trialLine,
} from "../../src/cli/load_report.ts";
import type { CapacityResult, LoadResult } from "../../src/load/mod.ts";

const LATENCY = { count: 4000, mean: 8, p50: 8, p90: 9, p95: 9, p99: 12, max: 14 };
const SETTING = {
  url: "http://127.0.0.1:8787",
  model: {
    id: "digits",
    sampleShape: [64],
    sampleSize: 64,
    frame: 10,
    dt: 1e-4,
    slots: 64,
    executor: { kind: "cpu", device: "cpu" },
  },
  periodMs: 20,
  chunkFrames: 1,
  targetMs: 20,
  seed: 1,
};

function result(sessions: number, holds: boolean, isClientLate: boolean): LoadResult {
  return {
    setting: SETTING,
    sessions,
    ending: holds ? "stable" : "overloaded",
    holds,
    latencyMs: LATENCY,
    curve: [[0, 1], [1, 14]],
    offeredPerSecond: 400,
    finishedPerSecond: holds ? 400 : 10,
    unanswered: holds ? 0 : 900,
    frames: 4000,
    framesLate: holds ? 0 : 900,
    windows: [],
    client: {
      lagMs: { ...LATENCY, p99: isClientLate ? 90 : 0.2 },
      cores: 0.5,
      late: isClientLate,
    },
    server: null,
    agreement: { outsideMs: 2, agrees: true, reason: null },
  };
}

/** 8 held; 16 failed twice. */
function search(isClientLate: boolean, most = 8): CapacityResult {
  const trial = (sessions: number, holds: boolean) => ({
    sessions,
    holds,
    result: result(sessions, holds, !holds && isClientLate),
  });
  const trials = [trial(4, true), trial(8, true), trial(16, false), trial(16, false)];
  return {
    setting: SETTING,
    capacity: {
      sessions: most,
      atLimit: false,
      interrupted: false,
      trials: most === 0 ? trials.slice(2) : trials,
    },
  };
}

describe("where this client was late", () => {
  test("NOT VALID stands in place of a verdict on the server", () => {
    const text = loadText(result(16, false, true));
    expect(text.trim().split("\n").at(-1)).toStartWith("NOT VALID: this client was late itself");
    expect(text).not.toMatch(/overloaded|fell behind/);
    expect(loadText(result(16, true, true))).toMatch(/NOT VALID.*\n16 sessions are in time: .*\n$/);
    expect(loadText(result(16, false, false))).toContain("16 sessions are overloaded: 10 of 400");
  });

  test("a capacity comes after it, and is no more than a lower bound", () => {
    const lines = capacityText(search(true)).trim().split("\n");
    expect(lines.slice(-2)).toEqual([
      expect.stringMatching(/^NOT VALID: .* may hold more than 8/),
      expect.stringMatching(/^capacity {4}at least 8 sessions/),
    ]);
    expect(capacityText(search(true, 0))).toEndWith("capacity    not known\n");
    expect(capacityText(search(false))).toContain("capacity    8 sessions with p99");
  });

  test("nothing on the page looks good or agrees", () => {
    for (const found of [search(true), search(true, 0), result(16, false, true)]) {
      const page = loadPage(found);
      expect(page).toContain("NOT VALID");
      expect(page).not.toMatch(/class="card good"|>agrees</);
    }
    for (const found of [search(false), result(8, true, false)]) {
      expect(loadPage(found)).toMatch(/class="card good"[^]*>agrees</);
    }
  });

  test("a trial is not sure", () => {
    expect(trialLine(result(16, false, true), 0)).toEndWith("not sure");
  });
});

test("the rows that decide a search stand out", () => {
  const rows = loadPage(search(false)).match(/<tr class="deciding">.*?<\/tr>/g)!;
  expect(rows.map((row) => row.match(/<td>([^<]*)<\/td><\/tr>$/)?.[1]))
    .toEqual(["most that held", "fewest that failed", "fewest that failed"]);
});

test("a trial says how much of the search is left", () => {
  expect(trialHead()).toEndWith("left");
  expect(trialLine(result(8, true, false), 42.3)).toEndWith("~43 s");
  expect(trialLine(result(8, true, false), 0)).toEndWith("yes");
  expect([99, 100, 600].map(secondsText)).toEqual(["99 s", "2 min", "10 min"]);
});
