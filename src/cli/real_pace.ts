/** The machine's own clock and dice, for the commands that measure. */
import type { Pace } from "../calibrate/mod.ts";

export const realPace: Pace = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
};
