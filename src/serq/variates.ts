/** The laws of serQ's draws, each from uniforms of one stream, in the original's order of operations. */
import type { Rng } from "./chacha12.ts";
import { ln } from "./ln.ts";
import { RunError, runErrors } from "./run_errors.ts";

export function exponential(rng: Rng, mean: number): number {
  return -mean * ln(1 - rng.uniform());
}

/** The gap between two arrivals of a Poisson process. */
export function poissonGap(rng: Rng, rate: number): number {
  return -ln(1 - rng.uniform()) / rate;
}

export function uniform(rng: Rng, low: number, high: number): number {
  return low + (high - low) * rng.uniform();
}

/** More phases than that are a mistake: each is a draw. */
const PHASES_MAX = 10_000_000;

/** The sum of ⌊max(k, 1)⌋ exponentials of mean `mean / k`. */
export function erlang(rng: Rng, k: number, mean: number): number {
  const phases = Math.floor(k > 1 ? k : 1);
  if (phases > PHASES_MAX) throw new RunError(runErrors.phases(k, PHASES_MAX));
  let sum = 0;
  for (let i = 0; i < phases; i++) sum += exponential(rng, mean / phases);
  return sum;
}

/** Two exponentials with balanced means and squared coefficient of variation max(cv2, 1). */
export function hyperexponential(rng: Rng, mean: number, cv2: number): number {
  const v = cv2 > 1 ? cv2 : 1;
  const p = 0.5 * (1 + Math.sqrt((v - 1) / (v + 1)));
  const first = rng.uniform() < p;
  return exponential(rng, mean / (2 * (first ? p : 1 - p)));
}

export function bernoulli(rng: Rng, p: number): number {
  return rng.uniform() < p ? 1 : 0;
}
