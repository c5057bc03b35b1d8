/**
 * Reads mutants `from … from + count − 1`, one JSON line each, in this very process: it may hang, trap or
 * grow, and whoever started it must be ready for that (mutation.ts). A mutant that reads is compiled,
 * and when it compiles and is small it runs two frames on the CPU executor and the reference.
 */
import process from "node:process";
import { GanglionError } from "../../src/base/errors.ts";
import { CpuExecutor } from "../../src/cpu/mod.ts";
import { compilePlan, type Plan, readNirBytes } from "../../src/model/mod.ts";
import { ReferenceExecutor } from "../../src/reference/mod.ts";
import type { BatchRow } from "../../src/engine/executor.ts";
import { mutantOf } from "./mutants.ts";

/** Operations a step that a mutant may ask for and still be run here. */
const WORK_MAX = 1e7;
const STEPS = 3;
/** Exit code after a trap in the library: its instance may be broken, so another process goes on. */
const TRAPPED = 3;

const [from, count] = process.argv.slice(2).map(Number) as [number, number];
for (let seed = from; seed < from + count; seed++) {
  const { bytes, what } = await mutantOf(seed);
  let outcome: string;
  let trapped = false;
  try {
    const plan = compilePlan(await readNirBytes(bytes));
    outcome = workOf(plan) > WORK_MAX ? "large" : await run(plan);
  } catch (error) {
    if (!(error instanceof GanglionError)) outcome = `crash: ${String(error)}`;
    else {
      outcome = error.message === "" ? "crash: an error without words" : error.code;
      trapped = isTrap(error.cause);
    }
  }
  await new Promise<void>((resolve) =>
    process.stdout.write(`${JSON.stringify({ seed, what, outcome, trapped })}\n`, () => resolve())
  );
  if (trapped) process.exit(TRAPPED);
}
process.exit(0);

/** HDF5's own errors are plain ones; anything else came out of the machine. */
function isTrap(cause: unknown): boolean {
  return cause instanceof WebAssembly.RuntimeError || String(cause).includes("Aborted") ||
    cause instanceof RangeError || cause instanceof TypeError;
}

function workOf({ nodes, stateWords }: Plan): number {
  const work = nodes.reduce((sum, { op, size }) => {
    if (op.op === "dense") return sum + op.weights.length;
    if (op.op === "conv") return sum + size * (op.weights.length / op.outChannels);
    if (op.op === "pool") return sum + size * op.kernel[0] * op.kernel[1];
    return sum + size * (op.op === "delay" ? op.stepsMax : 1);
  }, 0);
  return work + stateWords;
}

async function run(plan: Plan): Promise<string> {
  const size = { slots: 1, frame: STEPS };
  const both = [new CpuExecutor(plan, size), new ReferenceExecutor(plan, size)];
  for (const fresh of [true, false]) {
    const input = Float32Array.from(
      { length: STEPS * plan.sampleSize },
      (_, i) => [0, 1, 0.5, 1][i % 4]!,
    );
    const row: BatchRow = { slot: 0, steps: STEPS, fresh, input };
    const [a, b] = await Promise.all(both.map((executor) => executor.step([row])));
    const bytes = (output: Float32Array) => Buffer.from(output.buffer).toString("hex");
    // Any NaN is as good as another.
    const [left, right] = [a, b].map((result) => result![0]!.output);
    if (left!.some(Number.isNaN) || right!.some(Number.isNaN)) {
      if (left!.some((x, i) => Number.isNaN(x) !== Number.isNaN(right![i]))) return "crash: NaN";
    } else if (bytes(left!) !== bytes(right!)) return "crash: executors differ";
  }
  return "ran";
}
