/**
 * Picks kernels for one device and model by running them. It cannot change a result: every choice gives
 * the same bits, and tests force each one. Takes well under a second; what was found is kept for the
 * life of the process, so that the same model does not pay twice.
 */
import type { Clock } from "../base/clock.ts";
import { choiceName, type KernelChoice } from "./choice.ts";

/** No candidate begins once so much time is used; the default has run by then. */
const BUDGET_MS = 500;
/** Timed runs of a candidate in each situation, of which the fastest counts: short ones more often. */
const RUNS = { min: 2, max: 8, untilMs: 4 } as const;
/** Share of inputs on in the stand-in frames: as sparse as spikes are, and dense. */
const DENSITIES = [0.05, 0.4] as const;
/** Rows of the larger stand-in batch at most. */
const ROWS_MAX = 16;
/** A batch of up to so many rows counts as small: it does not fill the device. */
const SMALL_ROWS = 3;
/** From this share of inputs on a batch counts as dense. */
export const DENSE = 0.3;
/** The default keeps its place unless another choice is faster by so much. */
const GAIN_MIN = 1.08;

/** By situation: what to run. */
export interface Tuning {
  readonly small: { readonly sparse: KernelChoice; readonly dense: KernelChoice };
  readonly large: { readonly sparse: KernelChoice; readonly dense: KernelChoice };
}

/** The same kernels whatever comes. */
export function untuned(choice: KernelChoice): Tuning {
  const both = { sparse: choice, dense: choice };
  return { small: both, large: both };
}

export function choicesOf({ small, large }: Tuning): KernelChoice[] {
  const all = [small.sparse, small.dense, large.sparse, large.dense];
  return [...new Map(all.map((choice) => [choiceName(choice), choice])).values()];
}

/** `isDense` is asked only where it matters. */
export function pick({ small, large }: Tuning, rows: number, isDense: () => boolean): KernelChoice {
  const { sparse, dense } = rows <= SMALL_ROWS ? small : large;
  return dense === sparse || !isDense() ? sparse : dense;
}

/** What the tuner needs of an executor. */
export interface Bench {
  readonly clock: Clock;
  readonly slots: number;
  /** Choices to try, the default first; those after it may fail to compile. */
  readonly candidates: readonly KernelChoice[];
  /** How long the default took to compile, which says what another would take. */
  readonly compiledInMs: number;
  readonly compile: (choice: KernelChoice) => Promise<void>;
  /** One step of `rows` fresh rows with a share of inputs on. */
  readonly run: (choice: KernelChoice, rows: number, density: number) => Promise<void>;
}

const KNOWN = new Map<string, Tuning>();

/** `key` names device, model and size. */
export async function tune(key: string, bench: Bench): Promise<Tuning> {
  const known = KNOWN.get(key);
  if (known !== undefined) return known;
  const tuning = await measure(bench);
  KNOWN.set(key, tuning);
  return tuning;
}

interface Timing {
  readonly choice: KernelChoice;
  /** Milliseconds by situation: rows, then density. */
  readonly times: readonly (readonly number[])[];
}

async function measure(bench: Bench): Promise<Tuning> {
  const { clock, candidates } = bench;
  const begin = clock.now();
  const timings: Timing[] = [];
  let slowest = bench.compiledInMs;
  for (const choice of candidates) {
    const started = clock.now();
    if (timings.length > 0 && started - begin + slowest > BUDGET_MS) break;
    const timing = await timeOne(bench, choice, timings.length === 0);
    if (timing !== null) timings.push(timing);
    slowest = Math.max(slowest, clock.now() - started);
  }
  const best = (rows: number, density: number): KernelChoice => {
    const taken = ({ times }: Timing) => times[rows]![density]!;
    const fastest = timings.reduce((a, b) => taken(b) < taken(a) ? b : a);
    return taken(timings[0]!) < GAIN_MIN * taken(fastest) ? timings[0]!.choice : fastest.choice;
  };
  return {
    small: { sparse: best(0, 0), dense: best(0, 1) },
    large: { sparse: best(1, 0), dense: best(1, 1) },
  };
}

/** Null where the device does not take these kernels; the default must run. */
async function timeOne(
  bench: Bench,
  choice: KernelChoice,
  isDefault: boolean,
): Promise<Timing | null> {
  try {
    await bench.compile(choice);
    const rows = [1, Math.min(bench.slots, ROWS_MAX)];
    const times: number[][] = [];
    for (const count of rows) {
      times.push([]);
      for (const density of DENSITIES) {
        times.at(-1)!.push(await time(bench, choice, count, density));
      }
    }
    return { choice, times };
  } catch (error) {
    if (isDefault) throw error;
    return null;
  }
}

/** Milliseconds of the fastest of a few runs; one before them warms up. */
async function time(
  { clock, run }: Bench,
  choice: KernelChoice,
  rows: number,
  density: number,
): Promise<number> {
  await run(choice, rows, density);
  let fastest = Infinity;
  let spent = 0;
  for (let k = 0; k < RUNS.max && (k < RUNS.min || spent < RUNS.untilMs); k++) {
    const begin = clock.now();
    await run(choice, rows, density);
    const taken = clock.now() - begin;
    fastest = Math.min(fastest, taken);
    spent += taken;
  }
  return fastest;
}
