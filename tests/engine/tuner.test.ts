/** The tuner with a clock and kernels of its own: what it picks, when it stops, what it forgives. */
import { expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";
import { choiceName, kernelCandidates, type KernelChoice } from "../../src/engine/mod.ts";
import { type Bench, choicesOf, pick, tune } from "../../src/engine/tuner.ts";

const CANDIDATES = kernelCandidates({ name: "a GPU", software: false });
const [FIRST, SECOND, THIRD] = CANDIDATES as [KernelChoice, KernelChoice, KernelChoice];

/** Kernels that take `ms` a run; compiling takes `compileMs`. Tells which candidates ran. */
function bench(
  ms: (choice: KernelChoice, rows: number, density: number) => number,
  { compileMs = 10, refuses = [] as readonly KernelChoice[] } = {},
): Bench & { readonly ran: Set<string> } {
  let now = 0;
  const ran = new Set<string>();
  const clock: Clock = {
    now: () => now,
    wallMs: () => now,
    after: () => ({ cancel: () => undefined }),
  };
  return {
    clock,
    slots: 64,
    candidates: CANDIDATES,
    compiledInMs: compileMs,
    ran,
    compile: (choice) => {
      now += compileMs;
      if (refuses.includes(choice)) return Promise.reject(new Error("no such texture"));
      return Promise.resolve();
    },
    run: (choice, rows, density) => {
      ran.add(choiceName(choice));
      now += ms(choice, rows, density);
      return Promise.resolve();
    },
  };
}

let keys = 0;
const fresh = () => `test ${keys++}`;

test("each situation gets its fastest kernels", async () => {
  const tuning = await tune(
    fresh(),
    bench((choice, rows, density) => {
      if (choice === SECOND) return rows === 1 ? 1 : 9;
      if (choice === THIRD) return density > 0.2 ? 2 : 9;
      return 5;
    }),
  );
  expect(tuning.small.sparse).toBe(SECOND);
  expect(tuning.large.sparse).toBe(FIRST);
  expect(tuning.large.dense).toBe(THIRD);
  expect(choicesOf(tuning)).toHaveLength(3);
  expect(pick(tuning, 1, () => false)).toBe(SECOND);
  expect(pick(tuning, 64, () => true)).toBe(THIRD);
});

test("a small gain does not replace the default", async () => {
  const tuning = await tune(fresh(), bench((choice) => choice === SECOND ? 4.8 : 5));
  expect(choicesOf(tuning)).toEqual([FIRST]);
  const never = () => {
    throw new Error("the density is not looked at where nothing depends on it");
  };
  expect(pick(tuning, 8, never)).toBe(FIRST);
});

test("no candidate begins that the budget would not hold; the default always runs", async () => {
  const slow = bench(() => 1, { compileMs: 400 });
  const tuning = await tune(fresh(), slow);
  expect(slow.ran).toEqual(new Set([choiceName(FIRST)]));
  expect(choicesOf(tuning)).toEqual([FIRST]);
});

test("kernels that the device refuses are left out, but for the default", async () => {
  const tuning = await tune(fresh(), bench(() => 1, { refuses: [SECOND] }));
  expect(choicesOf(tuning)).toEqual([FIRST]);
  await expect(tune(fresh(), bench(() => 1, { refuses: [FIRST] }))).rejects.toThrow("texture");
});

test("a model is measured once a process", async () => {
  const key = fresh();
  const first = await tune(key, bench(() => 1));
  const again = bench(() => 1);
  expect(await tune(key, again)).toBe(first);
  expect(again.ran.size).toBe(0);
});
