/**
 * The golden frame: this very model, on this executor, held against the reference before anything is
 * served. It decides whether an adapter may serve, and which numerics tag it carries (NUMERICS §1).
 */
import { assert } from "./base/assert.ts";
import type { BatchRow, Executor, RowResult, RowState } from "./engine/executor.ts";
import { probesOf } from "./model/plan.ts";
import type { Plan } from "./model/plan.ts";
import { ReferenceExecutor } from "./reference/mod.ts";

/** `exact`: every bit agrees. `close`: another rounding. `wrong`: not this model's outputs. */
export type Verdict = "exact" | "close" | "wrong";

/** The reference is slow: it is given at most so many multiplications a frame, but 2 steps at least. */
const PRODUCTS_MAX = 1e8;
/** Share of values that may differ by more than rounding: a flipped spike changes its followers. */
const OUTLIERS_MAX = 0.02;

/**
 * Runs two frames in the first and the last slot: one begins with everything on at once and goes on
 * with mixed values, the other the other way round. All values are recorded first; then nothing is, as in
 * service, once in every one of `ways`, each of which makes the executor run in another way.
 */
export async function goldenFrame(
  executor: Executor,
  ways: readonly (() => void)[] = [() => {}],
): Promise<Verdict> {
  const { plan, slots } = executor;
  const steps = goldenSteps(plan, executor.frame);
  const reference = new ReferenceExecutor(plan, { slots, frame: executor.frame });
  const ones = new Float32Array(steps * plan.sampleSize).fill(1);
  const mixed = mixedInput(steps * plan.sampleSize);
  const record = probesOf(plan).map(({ name }) => name);
  const used = slots === 1 ? [0] : [0, slots - 1];
  const rounds = [0, 1].map((round) =>
    used.map((slot, i): BatchRow => {
      const input = round === i ? ones : mixed;
      return { slot, steps, fresh: round === 0, input, record };
    })
  );
  const wanted: RowResult[][] = [];
  for (const batch of rounds) wanted.push(await reference.step(batch));
  const states = await reference.readStates(used);
  const verdicts: Verdict[] = [];
  for (const [k, way] of [ways[0]!, ...ways].entries()) {
    way();
    for (const [round, batch] of rounds.entries()) {
      const given = await executor.step(k === 0 ? batch : batch.map(withoutRecord));
      assert(wanted[round]!.length === given.length, "one result a row");
      verdicts.push(...wanted[round]!.map((result, i) => compareRows(result, given[i]!, k === 0)));
    }
    const given = await executor.readStates(used);
    verdicts.push(...states.map((state, i) => compareStates(state, given[i]!)));
  }
  return verdicts.reduce(worse);
}

function withoutRecord({ slot, steps, fresh, input }: BatchRow): BatchRow {
  return { slot, steps, fresh, input };
}

function compareRows(wanted: RowResult, given: RowResult, recorded: boolean): Verdict {
  const probes = Object.keys(recorded ? wanted.probes : {}).map((name) =>
    compare(wanted.probes[name]!, given.probes[name])
  );
  return [compare(wanted.output, given.output), ...probes].reduce(worse);
}

function compareStates(wanted: RowState, given: RowState): Verdict {
  return Object.entries(wanted.tensors)
    .map(([name, tensor]) => compare(tensor, given.tensors[name]))
    .reduce(worse, "exact");
}

/** How well `given` agrees with `wanted`. */
export function compare(wanted: Float32Array, given: Float32Array | undefined): Verdict {
  if (given === undefined || given.length !== wanted.length) return "wrong";
  let different = 0, far = 0;
  for (let i = 0; i < wanted.length; i++) {
    const a = wanted[i]!, b = given[i]!;
    if (Object.is(a, b)) continue;
    different++;
    if (!(Math.abs(a - b) <= 1e-6 + 1e-4 * Math.abs(a))) far++;
  }
  if (different === 0) return "exact";
  return far <= OUTLIERS_MAX * wanted.length ? "close" : "wrong";
}

function worse(a: Verdict, b: Verdict): Verdict {
  if (a === "wrong" || b === "wrong") return "wrong";
  return a === "close" || b === "close" ? "close" : "exact";
}

/** The whole frame, where the reference can run it in a second or so. */
function goldenSteps(plan: Plan, frame: number): number {
  const products = plan.nodes.reduce((sum, { op, size }) => {
    if (op.op === "dense") return sum + op.weights.length;
    if (op.op === "conv") return sum + size * op.weights.length / op.outChannels;
    if (op.op === "pool") return sum + size * op.kernel[0] * op.kernel[1];
    if (op.op === "max_pool") return sum + size * op.kernel[0] * op.kernel[1];
    if (op.op === "taps" || op.op === "plastic") return sum + op.weights.length;
    return sum + size;
  }, 0);
  return Math.min(frame, Math.max(2, Math.floor(PRODUCTS_MAX / products)));
}

/** A fixed stream of zeros, ones and other values, some negative. */
function mixedInput(count: number): Float32Array {
  let state = 1;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const chance = state / 2 ** 32;
    if (chance < 0.6) return 0;
    return chance < 0.8 ? 1 : (chance - 0.85) * 10;
  });
}
