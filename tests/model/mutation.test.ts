/** Damaged files: an error of ours or a right answer, in time and in bounds, and nothing left behind. */
import { expect, test } from "bun:test";
import { childrenNow, isDangerous, isolatedVerdict, tryMutants } from "./mutation.ts";

const COUNT = 300;
const SAMPLE_EVERY = 30;
const DANGEROUS_MAX = 6;
const LIMIT_MS = 180_000;

test(`${COUNT} mutated files`, async () => {
  const before = childrenNow();
  const verdicts = await tryMutants({ from: 1, count: COUNT, patienceMs: 5_000 });
  expect(verdicts.map(({ seed }) => seed)).toEqual(Array.from({ length: COUNT }, (_, i) => i + 1));
  const crashed = verdicts.filter(({ outcome }) => outcome.startsWith("crash"));
  expect(crashed).toEqual([]);
  // The damage is worth something: many mutants still run, many are refused, for every reason.
  const outcomes = new Set(verdicts.map(({ outcome }) => outcome));
  for (const each of ["ran", "model_unreadable", "model_invalid", "model_unsupported"]) {
    expect(outcomes).toContain(each);
  }
  const dangerous = verdicts.filter(isDangerous).slice(0, DANGEROUS_MAX);
  // One that only seemed dangerous, on a busy machine or behind another's mess, may also read.
  for (const { seed } of dangerous) {
    const verdict = await isolatedVerdict(seed, 3);
    expect([seed, verdict]).toEqual([seed, expect.stringMatching(/^(read|model_\w+)$/)]);
  }
  for (const { seed, outcome } of verdicts.filter((each) => !isDangerous(each))) {
    if (seed % SAMPLE_EVERY !== 0) continue;
    const wanted = ["ran", "large"].includes(outcome) ? "read" : outcome;
    expect([seed, await isolatedVerdict(seed, 30)]).toEqual([seed, wanted]);
  }
  expect([...childrenNow()].filter((pid) => !before.has(pid))).toEqual([]);
}, LIMIT_MS);
