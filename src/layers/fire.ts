/** Spikes and resets, shared by all spiking neurons: the twins of shaders/fire.wgsl. */
import { snap } from "../base/numeric.ts";
import {
  MODE_CLAMP,
  MODE_GE,
  MODE_RESET_NEXT,
  MODE_RESET_NONE,
  MODE_RESET_SUBTRACT,
} from "./define.ts";

const f = Math.fround;

/** The most spikes of one step: the largest whole number up to which f32 counts without gaps. */
export const SPIKES_MAX = 2 ** 24;

/** Whether a membrane passes the threshold. */
export function fire(v: number, threshold: number, mode: number): boolean {
  return (mode & MODE_GE) !== 0 ? v >= threshold : v > threshold;
}

/** The membrane after a spike, in the same step. */
export function afterFire(v: number, threshold: number, reset: number, mode: number): number {
  if ((mode & (MODE_RESET_NONE | MODE_RESET_NEXT)) !== 0) return v;
  if ((mode & MODE_RESET_SUBTRACT) !== 0) return snap(f(v - threshold));
  return reset;
}

/** The membrane of this step once the reset that the step before left over is done. */
export function lateReset(v: number, before: number, threshold: number, mode: number): number {
  const late = (mode & MODE_RESET_NEXT) !== 0 && fire(before, threshold, mode);
  return late ? snap(f(v - threshold)) : v;
}

/** How many whole thresholds are in `v`, at most `SPIKES_MAX`; `perThreshold` is 1/threshold. */
export function countSpikes(
  v: number,
  threshold: number,
  perThreshold: number,
  mode: number,
): number {
  if (!fire(v, threshold, mode)) return 0;
  const guess = Math.floor(f(v * perThreshold));
  const n = guess < SPIKES_MAX ? guess : SPIKES_MAX;
  if (!fire(v, f(n * threshold), mode)) return n - 1;
  if (n < SPIKES_MAX && fire(v, f((n + 1) * threshold), mode)) return n + 1;
  return n;
}

/** The membrane after `n` spikes in one step. */
export function afterCount(
  v: number,
  n: number,
  threshold: number,
  reset: number,
  mode: number,
): number {
  if (n === 0 || (mode & MODE_RESET_NONE) !== 0) return v;
  if ((mode & MODE_RESET_SUBTRACT) !== 0) return snap(f(v - f(n * threshold)));
  return reset;
}

/** With `MODE_CLAMP` the membrane stops at −threshold. */
export function clampBelow(v: number, threshold: number, mode: number): number {
  if ((mode & MODE_CLAMP) === 0) return v;
  const above = f(v + threshold);
  return snap(f((above > 0 ? above : 0) - threshold));
}
