/**
 * `check`: what a lowered program must satisfy as a whole, read from the IR and from where each piece
 * of it came. The first fault found is thrown. A program that passes may still fail while it runs,
 * where a computed amount, guard or index is wrong.
 */
import { checkCosts } from "./check_costs.ts";
import { checkFlow } from "./check_flow.ts";
import { checkHidden } from "./check_hidden.ts";
import { checkHolds } from "./check_holds.ts";
import { checkRuns } from "./check_runs.ts";
import { checkTypes } from "./check_types.ts";
import type { Lowered } from "./lower.ts";
import { linkError } from "./messages.ts";

export function check(lowered: Lowered): void {
  checkRuns(lowered);
  checkHolds(lowered);
  checkFlow(lowered);
  checkTypes(lowered);
  checkCosts(lowered);
  checkHidden(lowered);
}

/** What a run needs besides a program. */
export function checkSettings({ program }: Lowered): void {
  const { horizon, warmup, arrivals, arrival } = program;
  if (!(horizon > 0)) throw linkError("no_horizon", null);
  if (warmup >= horizon) throw linkError("warmup_horizon", null);
  const open = typeof arrival === "object" && ("Poisson" in arrival || "Renewal" in arrival);
  if (arrivals !== null && arrivals !== undefined && !open) throw linkError("arrivals_open", null);
}
