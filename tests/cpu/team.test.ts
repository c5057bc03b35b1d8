/** The CPU executor's threads: same bits as one alone, and a step that fails leaves nothing behind. */
import { expect, test } from "bun:test";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import { LAYERS } from "../../src/layers/mod.ts";
import { PLANS } from "../contract/cases.ts";
import { Random } from "../support/plans.ts";
import { runDeno } from "../support/processes.ts";
import { assertSameResults, compareTeam, helper, randomBatch } from "./team_rows.ts";

const FAILING = new URL("./failing_thread.ts", import.meta.url);
const PLAN = PLANS.find(({ name }) => name === "mlp-alif-0")!;
const SIZE = { slots: 12, frame: 9 };

test("threads give the same bits as one", () => compareTeam(60), 60_000);

test("on Deno too", async () => {
  const { stdout, stderr, code } = await runDeno("tests/cpu/team_on_deno.ts", []);
  expect({ stdout, stderr, code }).toEqual({ stdout: "", stderr: "", code: 0 });
}, 60_000);

/** Runs batches until `enough` says so of the share of neurons that this thread computed; it. */
async function ownShare(program: URL | undefined, enough: (share: number, k: number) => boolean) {
  const alone = new CpuExecutor(PLAN, SIZE);
  const team = new CpuExecutor(PLAN, { ...SIZE, helpers: [helper(program)] });
  const random = new Random(1);
  const neurons = PLAN.nodes.find(({ op }) => op.op === "pointwise")!.size;
  const { step } = LAYERS.alif;
  let calls = 0;
  const counted: typeof step = (...args) => {
    calls++;
    return step(...args);
  };
  try {
    for (let k = 0;; k++) {
      const batch = randomBatch(random, PLAN, k === 0);
      const wanted = await alone.step(batch);
      calls = 0;
      Object.assign(LAYERS.alif, { step: counted });
      const given = await team.step(batch).finally(() => Object.assign(LAYERS.alif, { step }));
      assertSameResults(given, wanted, `step ${k}`);
      const share = calls / batch.reduce((sum, { steps }) => sum + steps * neurons, 0);
      if (enough(share, k)) return share;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  } finally {
    await team.close();
  }
}

test("helpers take rows", async () => {
  expect(await ownShare(undefined, (share) => share < 1)).toBeLessThan(1);
}, 60_000);

test("what fails in a helper runs again on the executor's own thread", async () => {
  expect(await ownShare(FAILING, (share, k) => share !== 1 || k === 500)).toBe(1);
}, 60_000);

test("a step that fails everywhere changes no state", async () => {
  const team = new CpuExecutor(PLAN, { ...SIZE, helpers: [helper(FAILING), helper(FAILING)] });
  const alone = new CpuExecutor(PLAN, SIZE);
  const random = new Random(2);
  const { step } = LAYERS.alif;
  try {
    for (let k = 0; k < 50; k++) {
      const batch = randomBatch(random, PLAN, k === 0);
      Object.assign(LAYERS.alif, {
        step() {
          throw new Error("no luck here either");
        },
      });
      const failed = team.step(batch).finally(() => Object.assign(LAYERS.alif, { step }));
      await expect(failed).rejects.toThrow("no luck here either");
      assertSameResults(await team.step(batch), await alone.step(batch), `step ${k}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  } finally {
    await team.close();
  }
}, 60_000);
